// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "util/queue_lock.hpp"

#include <gtest/gtest.h>

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

TEST(QueueLock, DisabledNeverWaits) {
    queue_lock lock;
    lock.disable();
    lock.lock();
    lock.lock();  // would hang
    lock.unlock();
}

}  // namespace
}  // namespace softrnic::provider
