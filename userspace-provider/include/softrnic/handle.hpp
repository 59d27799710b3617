// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The move-only owner of one C object, on which the library's own types are built.
///
/// Thread safety: one thread at a time moves, closes or destroys an owner. What the object behind
/// it allows from several threads is said where that object is wrapped.
#pragma once

#include <cassert>
#include <utility>

#include "softrnic/result.hpp"

namespace softrnic {

/// Owns a T* and ends it with Destroy, a function that returns 0 or an errno value.
template <class T, auto Destroy>
class handle {
public:
    constexpr handle() noexcept = default;
    handle(handle&& other) noexcept : object_(other.release()) {}
    /// What this owned before is destroyed at once, as by the destructor.
    handle& operator=(handle&& other) noexcept {
        handle taken(std::move(other));
        std::swap(object_, taken.object_);
        return *this;
    }
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;
    ~handle() {
        const result<void> closed = close();
        // Something made on this object outlives it: that would leak it until the process ends.
        assert(closed || closed.error().code != EBUSY);
        (void)closed;
    }

    /// The C object, for calls that this library does not wrap. It stays owned here.
    [[nodiscard]] T* native() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

    /// Gives the C object up to the caller, who must now destroy it.
    [[nodiscard]] T* release() noexcept { return std::exchange(object_, nullptr); }

    /// Destroys the object now and says whether that worked (EBUSY while something still uses it).
    /// The destructor does the same and cannot say. The object counts as gone either way.
    result<void> close() noexcept {
        if (T* object = release()) return detail::check(Destroy(object), "destroy");
        return {};
    }

protected:
    constexpr explicit handle(T* object) noexcept : object_(object) {}

private:
    T* object_ = nullptr;
};

}  // namespace softrnic
