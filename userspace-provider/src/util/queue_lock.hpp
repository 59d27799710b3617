// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The lock of one queue.
#pragma once

#include <sched.h>

#include <atomic>

namespace softrnic::provider {

/// For std::lock_guard. Held for the time of writing or reading a few ring entries, not across a
/// system call where others would wait for that. It spins, and gives the processor away when the
/// holder seems to have lost its own.
class queue_lock {
public:
    /// For a queue that one thread uses at a time, as a thread domain promises. Before first use.
    void disable() noexcept { enabled_ = false; }

    void lock() noexcept {
        if (!enabled_) return;
        while (held_.exchange(true, std::memory_order_acquire)) wait();
    }

    [[nodiscard]] bool try_lock() noexcept {
        return !enabled_ || !held_.exchange(true, std::memory_order_acquire);
    }

    void unlock() noexcept {
        if (enabled_) held_.store(false, std::memory_order_release);
    }

private:
    void wait() noexcept {
        constexpr int spins = 100;
        for (int i = 0; i < spins; ++i) {
            if (!held_.load(std::memory_order_relaxed)) return;
            relax();
        }
        ::sched_yield();
    }

    static void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    std::atomic<bool> held_ = false;
    bool enabled_ = true;
};

}  // namespace softrnic::provider
