// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// ibv_resize_cq, on the fake kernel.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "fake_kernel.hpp"
#include "verbs/cq.hpp"

namespace softrnic::provider {
namespace {

class ResizeTest : public testing::Test {
protected:
    void SetUp() override {
        queue = create_cq(kernel.context(), 10, nullptr, 0);
        ASSERT_NE(queue, nullptr);
    }
    void TearDown() override { EXPECT_EQ(destroy_cq(queue), 0); }

    void complete(std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t id = first; id <= last; ++id) kernel.complete(test::a_send(id));
    }
    void expect(std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t id = first; id <= last; ++id) {
            ibv_wc wc{};
            ASSERT_EQ(poll_cq(queue, 1, &wc), 1);
            EXPECT_EQ(wc.wr_id, id);
        }
    }
    /// The kernel has moved the completions, but the provider cannot follow.
    void expect_dead() {
        std::array<ibv_wc, 4> wc{};
        EXPECT_EQ(poll_cq(queue, 1, wc.data()), -EIO);
        EXPECT_EQ(poll_cq(queue, 4, wc.data()), -EIO);
        EXPECT_EQ(resize_cq(queue, 40), EIO);
    }

    test::fake_kernel kernel;
    ibv_cq* queue = nullptr;
};

TEST_F(ResizeTest, WhatWaitsIsFoundInTheNewRing) {
    complete(1, 12);
    expect(1, 2);
    EXPECT_EQ(resize_cq(queue, 40), 0);
    EXPECT_EQ(queue->cqe, 64);
    complete(13, 50);
    expect(3, 50);
    ibv_wc wc{};
    EXPECT_EQ(poll_cq(queue, 1, &wc), 0);
}

// Several at a time have been seen before, and polled one by one.
TEST_F(ResizeTest, WhatWasSeenBeforeIsReadInTheNewRing) {
    complete(1, 12);
    std::array<ibv_wc, 5> wc{};
    EXPECT_EQ(poll_cq(queue, 5, wc.data()), 5);
    EXPECT_EQ(resize_cq(queue, 40), 0);
    complete(13, 20);
    expect(6, 20);
}

TEST_F(ResizeTest, ARefusalChangesNothing) {
    complete(1, 3);
    EXPECT_EQ(resize_cq(queue, 0), EINVAL);
    EXPECT_EQ(resize_cq(queue, 65), EINVAL);
    complete(4, 5);
    expect(1, 5);
}

TEST_F(ResizeTest, ARingThatCannotBeMappedIsTheEndOfTheQueue) {
    complete(1, 3);
    kernel.resized_cq.map.size = 0;
    EXPECT_EQ(resize_cq(queue, 40), EPROTO);
    expect_dead();
}

TEST_F(ResizeTest, ARingThatDoesNotFitIsTheEndOfTheQueue) {
    complete(1, 3);
    expect(1, 1);
    kernel.resized_cq.depth = 1024 * 1024;
    EXPECT_EQ(resize_cq(queue, 40), EPROTO);
    kernel.resized_cq.depth = 64;
    expect_dead();
}

}  // namespace
}  // namespace softrnic::provider
