// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// How many completions of each send queue have been polled.
#include "verbs/polled_sends.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace softrnic::provider {
namespace {

polled_sends numbered(std::uint32_t number) {
    polled_sends queue;
    queue.qp_number = number;
    return queue;
}

TEST(PolledSends, AreFoundByNumber) {
    polled_by_number table;
    std::vector<polled_sends> queues(100);
    for (std::uint32_t i = 0; i < queues.size(); ++i) {
        queues[i] = numbered(7 * i);
        table.add(queues[i]);
    }
    for (std::uint32_t i = 0; i < queues.size(); ++i) table.count(7 * i, i);
    table.count(3, 1);  // nobody's
    for (std::uint32_t i = 0; i < queues.size(); ++i) EXPECT_EQ(queues[i].count, i);
    table.remove(queues[5]);
    table.count(35, 1);
    EXPECT_EQ(queues[5].count, 5U);
}

// One thread polls a completion queue without a lock, while another one connects. A missing lock
// shows with the thread sanitizer each time, and without it seldom.
TEST(PolledSends, AreCountedWhileQueuePairsAreCreated) {
    constexpr std::uint32_t rounds = 200;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        polled_by_number table;
        table.guard_itself();
        polled_sends first = numbered(1);
        table.add(first);
        std::vector<polled_sends> others(300);
        std::atomic<bool> polls = false;
        std::atomic<bool> created = false;
        std::uint32_t counted = 0;
        std::thread poller([&] {
            while (!created) {
                table.count(1, 1);
                table.count(2, 1);
                ++counted;
                polls = true;
            }
        });
        while (!polls) std::this_thread::yield();
        for (std::uint32_t i = 0; i < others.size(); ++i) {
            others[i] = numbered(i + 3);
            table.add(others[i]);
        }
        created = true;
        poller.join();
        ASSERT_EQ(first.count, counted);
    }
}

}  // namespace
}  // namespace softrnic::provider
