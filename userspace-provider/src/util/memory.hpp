// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Owners of memory. The provider does without libstdc++'s shared library and so without operator
/// new: objects live in memory from aligned_alloc.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace softrnic::provider {

struct destroy_and_free {
    template <class T>
    void operator()(T* object) const noexcept {
        object->~T();
        std::free(object);
    }
};

template <class T>
using owner = std::unique_ptr<T, destroy_and_free>;

/// A value-initialised T, or null if there is no memory.
template <class T>
owner<T> make() noexcept {
    constexpr std::size_t alignment = std::max(alignof(T), sizeof(void*));
    constexpr std::size_t size = (sizeof(T) + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, size);
    // Not T{}: of a union in rdma-core's structures that zeroes the first member only.
    return owner<T>(memory == nullptr ? nullptr : ::new (memory) T());
}

/// Takes back an object that release() had handed to libibverbs.
template <class T>
owner<T> reclaim(T* object) noexcept {
    return owner<T>(object);
}

/// How verbs that return a pointer fail.
inline std::nullptr_t fail(int error) noexcept {
    errno = error;
    return nullptr;
}

}  // namespace softrnic::provider
