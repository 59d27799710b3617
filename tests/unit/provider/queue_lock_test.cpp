// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "util/queue_lock.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

namespace softrnic::provider {
namespace {

TEST(QueueLock, ExcludesThreads) {
    constexpr int threads = 4;
    constexpr int rounds = 20000;
    queue_lock lock;
    int counter = 0;
    std::vector<std::thread> workers;
    workers.reserve(threads);
    for (int t = 0; t < threads; ++t) {
        workers.emplace_back([&] {
            for (int i = 0; i < rounds; ++i) {
                const std::lock_guard guard(lock);
                ++counter;
            }
        });
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(counter, threads * rounds);
}

struct real_time_waiter {
    queue_lock lock;
    std::atomic<bool> begun = false;
    timespec used{};  ///< processor time

    static void* run(void* argument) {
        auto& self = *static_cast<real_time_waiter*>(argument);
        self.begun = true;
        self.lock.lock();
        self.lock.unlock();
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &self.used);
        return nullptr;
    }
};

/// On one processor with this thread, which it preempts.
bool start_real_time(pthread_t& thread, real_time_waiter& waiter) {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &here);
    const sched_param priority{.sched_priority = 1};
    pthread_attr_t attr;
    EXPECT_EQ(::pthread_setaffinity_np(::pthread_self(), sizeof(here), &here), 0);
    EXPECT_EQ(::pthread_attr_init(&attr), 0);
    EXPECT_EQ(::pthread_attr_setaffinity_np(&attr, sizeof(here), &here), 0);
    EXPECT_EQ(::pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED), 0);
    EXPECT_EQ(::pthread_attr_setschedpolicy(&attr, SCHED_FIFO), 0);
    EXPECT_EQ(::pthread_attr_setschedparam(&attr, &priority), 0);
    const int error = ::pthread_create(&thread, &attr, real_time_waiter::run, &waiter);
    ::pthread_attr_destroy(&attr);
    return error == 0;
}

/// A real-time thread that kept the processor from the holder would wait for ever, or until the
/// kernel throttles it, after most of a second.
TEST(QueueLock, LetsTheHolderGoOn) {
    cpu_set_t before;
    ASSERT_EQ(::pthread_getaffinity_np(::pthread_self(), sizeof(before), &before), 0);
    real_time_waiter waiter;
    pthread_t thread{};
    waiter.lock.lock();
    const bool started = start_real_time(thread, waiter);
    while (started && !waiter.begun) ::sched_yield();
    waiter.lock.unlock();
    if (started) ::pthread_join(thread, nullptr);
    EXPECT_EQ(::pthread_setaffinity_np(::pthread_self(), sizeof(before), &before), 0);
    if (!started) GTEST_SKIP() << "no real-time threads for this user";
    EXPECT_EQ(waiter.used.tv_sec, 0);
    EXPECT_LT(waiter.used.tv_nsec, 200'000'000);
}

TEST(QueueLock, DisabledNeverWaits) {
    queue_lock lock;
    lock.disable();
    lock.lock();
    lock.lock();  // would hang
    lock.unlock();
}

}  // namespace
}  // namespace softrnic::provider
