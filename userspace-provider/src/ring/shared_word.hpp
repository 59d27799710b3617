// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Words of memory that the kernel reads or writes at the same time. The rules of who writes which,
/// and with which barrier, are in softrnic-abi.h.
#pragma once

#include <atomic>
#include <cstdint>

namespace softrnic::provider {

inline std::uint32_t load_acquire(std::uint32_t* word) noexcept {
    return std::atomic_ref(*word).load(std::memory_order_acquire);
}

inline std::uint32_t load_relaxed(std::uint32_t* word) noexcept {
    return std::atomic_ref(*word).load(std::memory_order_relaxed);
}

inline void store_release(std::uint32_t* word, std::uint32_t value) noexcept {
    std::atomic_ref(*word).store(value, std::memory_order_release);
}

inline void store_relaxed(std::uint32_t* word, std::uint32_t value) noexcept {
    std::atomic_ref(*word).store(value, std::memory_order_relaxed);
}

/// Orders all that was stored before against all that is loaded after.
inline void full_fence() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace softrnic::provider
