// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// ibv_cq_ex: completions one after the other, with the time when they were made.
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <thread>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

constexpr std::uint64_t both_times = std::uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP} |
                                     IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

softrnic::cq create(std::uint64_t wc_flags, std::uint32_t flags = 0) {
    ibv_cq_init_attr_ex attr{};
    attr.cqe = 64;
    attr.wc_flags = wc_flags;
    attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
    attr.flags = flags;
    ibv_cq_ex* made = ibv_create_cq_ex(device().native(), &attr);
    return made != nullptr ? softrnic::cq::adopt(ibv_cq_ex_to_cq(made)) : softrnic::cq();
}

/// Nanoseconds of the device's clock.
std::uint64_t clock_now() {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    EXPECT_EQ(ibv_query_rt_values_ex(device().native(), &values), 0);
    EXPECT_EQ(values.comp_mask, unsigned{IBV_VALUES_MASK_RAW_CLOCK});
    EXPECT_EQ(values.raw_clock.tv_sec, 0);
    return static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
}

class Iterate : public ::testing::TestWithParam<std::uint32_t> {
protected:
    void SetUp() override {
        ASSERT_TRUE(queue);
        softrnic::queue_config server = wide;
        server.send_cq = &queue;
        ends = connect_pair({.server = server});
    }
    /// start_poll() that waits.
    [[nodiscard]] int start() {
        const softrnic::deadline until(patience);
        ibv_poll_cq_attr none{};
        int error = ENOENT;
        while (error == ENOENT && !until.expired()) error = ibv_start_poll(ex, &none);
        return error;
    }
    void expect_empty() {
        ibv_poll_cq_attr none{};
        EXPECT_EQ(ibv_start_poll(ex, &none), ENOENT);
    }

    softrnic::cq queue = create(IBV_WC_STANDARD_FLAGS | both_times, GetParam());
    ibv_cq_ex* ex = reinterpret_cast<ibv_cq_ex*>(queue.native());
    pair ends;
};

TEST_P(Iterate, ReadsWhatThePeerHasSent) {
    const std::uint64_t before = clock_now();
    for (std::uint64_t id = 1; id <= 3; ++id) must(ends.server.qp().recv(softrnic::no_slices, id));
    must(ends.client.qp().send(softrnic::no_slices, {.id = 10}));
    must(ends.client.qp().send_with_immediate(softrnic::no_slices, 0x1234, {.id = 11}));
    expect_good(next(ends.client.send_cq()), 10, IBV_WC_SEND);
    expect_good(next(ends.client.send_cq()), 11, IBV_WC_SEND);

    ASSERT_EQ(start(), 0);
    EXPECT_EQ(ex->wr_id, 1U);
    EXPECT_EQ(ex->status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_wc_read_opcode(ex), IBV_WC_RECV);
    EXPECT_EQ(ibv_wc_read_byte_len(ex), 0U);
    EXPECT_EQ(ibv_wc_read_qp_num(ex), ends.server.qp().number());
    EXPECT_EQ(ibv_wc_read_wc_flags(ex), 0U);
    EXPECT_EQ(ibv_wc_read_vendor_err(ex), 0U);
    const std::uint64_t first = ibv_wc_read_completion_ts(ex);
    EXPECT_EQ(ibv_wc_read_completion_wallclock_ns(ex), first);
    int error = ibv_next_poll(ex);
    if (error == ENOENT) {  // it is on its way
        ibv_end_poll(ex);
        error = start();
    }
    ASSERT_EQ(error, 0);
    EXPECT_EQ(ex->wr_id, 2U);
    EXPECT_EQ(ibv_wc_read_wc_flags(ex), unsigned{IBV_WC_WITH_IMM});
    EXPECT_EQ(be32toh(ibv_wc_read_imm_data(ex)), 0x1234U);
    const std::uint64_t second = ibv_wc_read_completion_ts(ex);
    EXPECT_EQ(ibv_next_poll(ex), ENOENT);
    ibv_end_poll(ex);
    expect_empty();
    EXPECT_LE(before, first);
    EXPECT_LE(first, second);
    EXPECT_LE(second, clock_now());
}

TEST_P(Iterate, PostsFromWithin) {
    constexpr std::uint64_t count = 200;
    must(ends.client.qp().write(softrnic::no_slices, {}));  // the initiator speaks first
    must(ends.server.qp().write(softrnic::no_slices, {}, {.id = 0}));
    std::uint64_t last = 0;
    for (std::uint64_t done = 0; done < count;) {
        ASSERT_EQ(start(), 0);
        do {
            ASSERT_EQ(ex->status, IBV_WC_SUCCESS);
            ASSERT_EQ(ex->wr_id, done);
            ASSERT_LE(last, ibv_wc_read_completion_ts(ex));
            last = ibv_wc_read_completion_ts(ex);
            must(ends.server.qp().write(softrnic::no_slices, {}, {.id = ++done}));
        } while (done < count && ibv_next_poll(ex) == 0);
        ibv_end_poll(ex);
    }
}

TEST_P(Iterate, AnErrorHasATimeToo) {
    must(ends.server.qp().recv(softrnic::no_slices, 4));
    must(ends.server.qp().to_error());
    ASSERT_EQ(start(), 0);
    EXPECT_EQ(ex->wr_id, 4U);
    EXPECT_EQ(ex->status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_NE(ibv_wc_read_completion_ts(ex), 0U);
    ibv_end_poll(ex);
}

INSTANTIATE_TEST_SUITE_P(Queues, Iterate,
                         ::testing::Values(0U, unsigned{IBV_CREATE_CQ_ATTR_SINGLE_THREADED}),
                         [](const auto& all) {
                             return all.param == 0 ? "Locked" : "SingleThread";
                         });

TEST(IterateQueues, WhatIwarpDoesNotHaveIsRefused) {
    for (const std::uint64_t flag :
         {std::uint64_t{IBV_WC_EX_WITH_CVLAN}, std::uint64_t{IBV_WC_EX_WITH_FLOW_TAG},
          std::uint64_t{IBV_WC_EX_WITH_TM_INFO}}) {
        EXPECT_FALSE(create(flag));
        EXPECT_EQ(errno, EOPNOTSUPP);
    }
    EXPECT_FALSE(create(0, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN));
    EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST(IterateQueues, TheDeviceSaysHowItsClockRuns) {
    ibv_device_attr_ex attr{};
    ASSERT_EQ(ibv_query_device_ex(device().native(), nullptr, &attr), 0);
    EXPECT_EQ(attr.completion_timestamp_mask, ~0ULL);
    EXPECT_EQ(attr.hca_core_clock, 1'000'000U);  // kHz
    const std::uint64_t before = clock_now();
    std::this_thread::sleep_for(10ms);
    EXPECT_GE(clock_now() - before, 10'000'000U);
}

/// Nobody pays for times that nobody wants.
TEST(IterateQueues, NoTimeIfNoneWasAskedFor) {
    softrnic::cq queue = create(IBV_WC_STANDARD_FLAGS);
    ASSERT_TRUE(queue);
    softrnic::queue_config client = wide;
    client.send_cq = &queue;
    pair ends = connect_pair({.client = client});
    must(ends.client.qp().write(softrnic::no_slices, {}, {.id = 1}));
    auto* ex = reinterpret_cast<ibv_cq_ex*>(queue.native());
    ibv_poll_cq_attr none{};
    const softrnic::deadline until(patience);
    int error = ENOENT;
    while (error == ENOENT && !until.expired()) error = ibv_start_poll(ex, &none);
    ASSERT_EQ(error, 0);
    EXPECT_EQ(ibv_wc_read_completion_ts(ex), 0U);
    ibv_end_poll(ex);
}

}  // namespace
}  // namespace verbs_test
