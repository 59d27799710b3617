// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The lock of one queue.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <ctime>

namespace softrnic::provider {

/// For std::lock_guard. Mostly held while a few ring entries are written or read. It is held for
/// longer by lazy_doorbells while it rings, by ibv_resize_cq() and ibv_modify_srq() during their
/// system calls, and by a program from ibv_wr_start() to its end and from ibv_start_poll() to
/// ibv_end_poll(). It spins, gives the processor away when the holder seems to have lost its own,
/// and sleeps if that does not help.
class queue_lock {
public:
    /// For a queue that one thread uses at a time, as a thread domain promises. Before first use.
    void disable() noexcept { enabled_ = false; }
    void enable() noexcept { enabled_ = true; }

    void lock() noexcept {
        if (!enabled_) return;
        for (int attempts = 0; held_.exchange(true, std::memory_order_acquire); ++attempts) {
            wait(attempts);
        }
    }

    [[nodiscard]] bool try_lock() noexcept {
        return !enabled_ || !held_.exchange(true, std::memory_order_acquire);
    }

    void unlock() noexcept {
        if (enabled_) held_.store(false, std::memory_order_release);
    }

private:
    void wait(int attempts) noexcept {
        constexpr int spins = 100;
        for (int i = 0; i < spins; ++i) {
            if (!held_.load(std::memory_order_relaxed)) return;
            relax();
        }
        // A thread with a real-time policy yields to its equals only. If it has preempted the
        // holder, that goes on only while this one sleeps.
        constexpr int yields = 8;
        constexpr timespec pause{.tv_sec = 0, .tv_nsec = 50'000};
        if (attempts < yields) {
            ::sched_yield();
        } else {
            // A thread that is cancelled goes on until it has unlocked the queue.
            int before = 0;
            ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
            ::nanosleep(&pause, nullptr);
            ::pthread_setcancelstate(before, nullptr);
        }
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
