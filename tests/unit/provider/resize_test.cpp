// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// ibv_resize_cq, and ibv_modify_srq with another size, on the fake kernel.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "fake_kernel.hpp"
#include "verbs/cq.hpp"
#include "verbs/pd.hpp"
#include "verbs/srq.hpp"

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

class SharedReceiveResizeTest : public testing::Test {
protected:
    void SetUp() override {
        pd.context = kernel.context();
        ibv_srq_init_attr attr{.srq_context = nullptr, .attr = {8, 2, 0}};
        queue = create_srq(&pd, &attr);
        ASSERT_NE(queue, nullptr);
    }
    void TearDown() override { EXPECT_EQ(destroy_srq(queue), 0); }

    int resize(std::uint32_t entries) {
        ibv_srq_attr attr{.max_wr = entries, .max_sge = 0, .srq_limit = 0};
        return modify_srq(queue, &attr, IBV_SRQ_MAX_WR);
    }
    int post(std::uint64_t id) {
        ibv_recv_wr wr{.wr_id = id, .next = nullptr, .sg_list = nullptr, .num_sge = 0};
        ibv_recv_wr* bad = nullptr;
        return post_srq_recv(queue, &wr, &bad);
    }
    void expect_posted(std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t id = first; id <= last; ++id) EXPECT_EQ(post(id), 0) << id;
    }

    test::fake_kernel kernel;
    protection_domain pd;
    ibv_srq* queue = nullptr;
};

TEST_F(SharedReceiveResizeTest, GoesOnInTheNewRing) {
    expect_posted(0, 4);
    EXPECT_EQ(resize(12), 0);
    expect_posted(5, 11);
    EXPECT_EQ(post(12), ENOMEM);
    EXPECT_EQ(kernel.srq_control().prod, 12U);
    EXPECT_EQ(kernel.moved_srq_wqe(5).wr_id, 5U);
    EXPECT_EQ(kernel.moved_srq_wqe(11).wr_id, 11U);
    kernel.srq_control().cons = 1;
    expect_posted(12, 12);
    EXPECT_EQ(kernel.moved_srq_wqe(12).wr_id, 12U);
}

TEST_F(SharedReceiveResizeTest, ARefusalChangesNothing) {
    EXPECT_EQ(resize(17), EINVAL);
    expect_posted(0, 7);
    EXPECT_EQ(kernel.srq_wqe(7).wr_id, 7U);
    EXPECT_EQ(post(8), ENOMEM);
}

TEST_F(SharedReceiveResizeTest, ARingThatCannotBeMappedTakesNoMore) {
    kernel.resized_srq.map.size = 0;
    EXPECT_EQ(resize(12), EPROTO);
    EXPECT_EQ(post(0), ENOMEM);
}

TEST_F(SharedReceiveResizeTest, ARingThatDoesNotFitTakesNoMore) {
    for (const std::uint32_t nonsense : {0U, 12U, 1024U * 1024}) {
        kernel.resized_srq.depth = nonsense;
        EXPECT_EQ(resize(0), EPROTO);
        EXPECT_EQ(post(0), ENOMEM);
    }
}

}  // namespace
}  // namespace softrnic::provider
