// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A queue pair that is its own peer, by whichever path the link takes.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <thread>
#include <vector>

#include "end.hpp"

namespace {

using namespace by_hand;

struct Itself : testing::Test {
    device dev;
};

bool all_are(std::vector<unsigned char>::iterator from, unsigned char byte) {
    return std::all_of(from, from + end::size / 2, [byte](unsigned char c) { return c == byte; });
}

// Each works upon what the one before it has done, while somebody asks.
TEST_F(Itself, EachOperationSeesTheOneBefore) {
    end a(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a));
    const std::jthread asks([&a](const std::stop_token& over) {
        while (!over.stop_requested()) (void)a.query();
    });
    const auto first = a.memory().begin(), second = first + end::size / 2;
    for (int round = 0; round < 300; round++) {
        const auto byte = static_cast<unsigned char>(1 + round % 250);
        std::fill(second, a.memory().end(), byte);
        ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 1, &a), 0);
        ASSERT_NO_FATAL_FAILURE(expect_completion(a, 1));
        ASSERT_TRUE(all_are(first, byte)) << "in round " << round;
        std::fill(second, a.memory().end(), 0);
        ASSERT_EQ(a.post(IBV_WR_RDMA_READ, 2, &a), 0);
        ASSERT_NO_FATAL_FAILURE(expect_completion(a, 2));
        ASSERT_TRUE(all_are(second, byte)) << "in round " << round;
        std::fill(first, second, 0);
        ASSERT_EQ(a.post_receive(3), 0);
        ASSERT_EQ(a.post(IBV_WR_SEND, 3), 0);
        for (int n = 0; n < 2; n++) ASSERT_NO_FATAL_FAILURE(expect_completion(a, 3));
        ASSERT_TRUE(all_are(first, byte)) << "in round " << round;
    }
}

// There are more Reads than it may have on their way, and a Write in front of each.
TEST_F(Itself, ManyAtOnce) {
    constexpr std::uint64_t count = 240;
    end a(dev, 7, nullptr, count);
    ASSERT_NO_FATAL_FAILURE(bring_up(a));
    for (int round = 0; round < 20; round++) {
        for (std::uint64_t id = 0; id < count; id++)
            ASSERT_EQ(a.post(id % 2 != 0 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, id, &a), 0);
        for (std::uint64_t id = 0; id < count; id++)
            ASSERT_NO_FATAL_FAILURE(expect_completion(a, id));
    }
}

// It is the target of what it must not write as well as its origin.
TEST_F(Itself, AFaultEndsIt) {
    for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
        SCOPED_TRACE(opcode);
        end a(dev);
        // A queue pair does not reach what belongs to another protection domain.
        const device stranger;
        end foreign(stranger);
        ASSERT_NO_FATAL_FAILURE(bring_up(a));
        ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 1, &a), 0);
        ASSERT_NO_FATAL_FAILURE(expect_completion(a, 1));
        std::fill(a.memory().begin(), a.memory().end(), 1);
        ASSERT_EQ(a.post(opcode, 2, &foreign), 0);
        ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 3, &a), 0);
        const auto refused = a.completion(), flushed = a.completion();
        ASSERT_TRUE(refused && flushed);
        EXPECT_EQ(refused->wr_id, 2U);
        EXPECT_NE(refused->status, IBV_WC_SUCCESS);
        EXPECT_EQ(flushed->wr_id, 3U);
        EXPECT_EQ(flushed->status, IBV_WC_WR_FLUSH_ERR) << ibv_wc_status_str(flushed->status);
        EXPECT_EQ(a.query().qp_state, IBV_QPS_ERR);
        EXPECT_TRUE(all_are(foreign.memory().begin(), 0));
        EXPECT_TRUE(all_are(a.memory().begin() + end::size / 2, 1));
    }
}

TEST_F(Itself, GoesWhileItIsBusy) {
    constexpr std::uint64_t count = 240;
    for (int round = 0; round < 50; round++) {
        end a(dev, 7, nullptr, count);
        ASSERT_NO_FATAL_FAILURE(bring_up(a));
        for (std::uint64_t id = 0; id < count; id++)
            ASSERT_EQ(a.post(id % 2 != 0 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, id, &a), 0);
        // Now it is connected.
        ASSERT_NO_FATAL_FAILURE(expect_completion(a, 0));
        if (round % 2 != 0) {
            ASSERT_EQ(a.fail(), 0);
        }
    }
}

// Its host is there, whether TCP hears of it or not.
TEST_F(Itself, IsNotSilentWhileItIsBusy) {
    constexpr std::uint64_t count = 240;
    end a(dev, 7, nullptr, count);
    ASSERT_NO_FATAL_FAILURE(bring_up(a));
    std::uint64_t posted = 0, completed = 0;
    const auto until = clock_type::now() + 15s;
    while (clock_type::now() < until) {
        for (; posted - completed < count; posted++)
            ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, posted, &a), 0);
        // There is always something that waits.
        for (; posted - completed > count / 2; completed++)
            ASSERT_NO_FATAL_FAILURE(expect_completion(a, completed));
    }
}

TEST_F(Itself, MayBeginAnew) {
    end a(dev);
    for (int round = 0; round < 20; round++) {
        ASSERT_NO_FATAL_FAILURE(bring_up(a));
        ASSERT_EQ(a.post(IBV_WR_RDMA_READ, 1, &a), 0);
        ASSERT_NO_FATAL_FAILURE(expect_completion(a, 1));
        ASSERT_EQ(a.reset(), 0);
    }
}

}  // namespace
