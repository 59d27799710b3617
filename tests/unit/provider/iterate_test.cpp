// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// ibv_cq_ex, on the fake kernel. A test calls what applications call: the inline functions of
// verbs.h.
#include <gtest/gtest.h>
#include <rdma/ib_user_verbs.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <thread>
#include <vector>

#include "verbs/cq.hpp"
#include "verbs_fixture.hpp"

namespace softrnic::provider {
namespace {

constexpr std::uint64_t both_times = std::uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP} |
                                     IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

ibv_cq_init_attr_ex wanted() {
    ibv_cq_init_attr_ex attr{};
    attr.cqe = 10;
    attr.wc_flags = IBV_WC_STANDARD_FLAGS;
    return attr;
}

/// What it is refused with, or 0.
int refusal(ibv_context* context, ibv_cq_init_attr_ex attr) {
    errno = 0;
    ibv_cq_ex* made = create_cq_ex(context, &attr);
    if (made == nullptr) return errno;
    EXPECT_EQ(destroy_cq(ibv_cq_ex_to_cq(made)), 0);
    return 0;
}

TEST(CreateCqEx, GrantsWhatTheDeviceHas) {
    test::fake_kernel kernel;
    ibv_cq_init_attr_ex attr = wanted();
    EXPECT_EQ(refusal(kernel.context(), attr), 0);
    EXPECT_EQ(kernel.cq_flags, 0U);
    attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
    attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
    EXPECT_EQ(refusal(kernel.context(), attr), 0);
    for (const std::uint64_t time :
         {std::uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP},
          std::uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK}}) {
        attr.wc_flags = time;
        EXPECT_EQ(refusal(kernel.context(), attr), 0);
        EXPECT_EQ(kernel.cq_flags, unsigned{IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION});
    }
}

TEST(CreateCqEx, RefusesTheRest) {
    test::fake_kernel kernel;
    ibv_cq_init_attr_ex attr{};
    for (const std::uint64_t flag :
         {std::uint64_t{IBV_WC_EX_WITH_CVLAN}, std::uint64_t{IBV_WC_EX_WITH_FLOW_TAG},
          std::uint64_t{IBV_WC_EX_WITH_TM_INFO}, std::uint64_t{1} << 40}) {
        attr = wanted();
        attr.wc_flags |= flag;
        EXPECT_EQ(refusal(kernel.context(), attr), EOPNOTSUPP);
    }
    attr = wanted();
    attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    EXPECT_EQ(refusal(kernel.context(), attr), 0) << "flags that the mask does not name";
    attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
    EXPECT_EQ(refusal(kernel.context(), attr), EOPNOTSUPP);
    attr = wanted();
    attr.comp_mask = 1U << 2;
    EXPECT_EQ(refusal(kernel.context(), attr), EOPNOTSUPP);
    attr = wanted();
    attr.cqe = 0;
    EXPECT_EQ(refusal(kernel.context(), attr), EINVAL);
    attr = wanted();
    attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
    EXPECT_EQ(refusal(kernel.context(), attr), EINVAL);
    ibv_pd* pd = alloc_pd(kernel.context());
    attr.parent_domain = pd;
    EXPECT_EQ(refusal(kernel.context(), attr), EINVAL) << "no parent domain";
    ibv_parent_domain_init_attr parent_attr{};
    parent_attr.pd = pd;
    attr.parent_domain = alloc_parent_domain(kernel.context(), &parent_attr);
    EXPECT_EQ(refusal(kernel.context(), attr), 0);
    EXPECT_EQ(dealloc_pd(attr.parent_domain), 0);
    EXPECT_EQ(dealloc_pd(pd), 0);
}

class Iterate : public test::qp_test {
protected:
    void SetUp() override {
        ibv_cq_init_attr_ex cq_attr = wanted();
        cq_attr.wc_flags |= both_times;
        ex = create_cq_ex(kernel.context(), &cq_attr);
        ASSERT_NE(ex, nullptr);
        attr.send_cq = attr.recv_cq = ibv_cq_ex_to_cq(ex);
        qp_test::SetUp();
        qp->send_cq = qp->recv_cq = attr.send_cq;
    }
    void TearDown() override {
        qp_test::TearDown();
        EXPECT_EQ(destroy_cq(attr.send_cq), 0);
    }
    int start() {
        ibv_poll_cq_attr none{};
        return ibv_start_poll(ex, &none);
    }

    ibv_cq_ex* ex = nullptr;
};

TEST_F(Iterate, AnEmptyQueueStaysUnlocked) {
    EXPECT_EQ(start(), ENOENT);
    EXPECT_EQ(start(), ENOENT);
    ibv_poll_cq_attr unknown{};
    unknown.comp_mask = 1;
    EXPECT_EQ(ibv_start_poll(ex, &unknown), EINVAL);
}

TEST_F(Iterate, ReadsWhatThereIs) {
    kernel.complete({.wr_id = 1,
                     .timestamp = 1'700'000'000'123'456'789,
                     .byte_len = 100,
                     .qp_num = 9,
                     .ex = 55,
                     .status = IBV_WC_SUCCESS,
                     .opcode = IBV_WC_RECV,
                     .flags = SRN_CQE_WITH_INV});
    srn_cqe second = test::a_send(2);
    second.status = IBV_WC_WR_FLUSH_ERR;
    kernel.complete(second);
    ASSERT_EQ(start(), 0);
    EXPECT_EQ(ex->wr_id, 1U);
    EXPECT_EQ(ex->status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_wc_read_opcode(ex), IBV_WC_RECV);
    EXPECT_EQ(ibv_wc_read_byte_len(ex), 100U);
    EXPECT_EQ(ibv_wc_read_qp_num(ex), 9U);
    EXPECT_EQ(ibv_wc_read_wc_flags(ex), unsigned{IBV_WC_WITH_INV});
    EXPECT_EQ(ibv_wc_read_invalidated_rkey(ex), 55U);
    EXPECT_EQ(ibv_wc_read_imm_data(ex), 55U);
    EXPECT_EQ(ibv_wc_read_completion_ts(ex), 1'700'000'000'123'456'789U);
    EXPECT_EQ(ibv_wc_read_completion_wallclock_ns(ex), 1'700'000'000'123'456'789U);
    EXPECT_EQ(ibv_wc_read_vendor_err(ex), 0U);
    EXPECT_EQ(ibv_wc_read_src_qp(ex), 0U);
    EXPECT_EQ(ibv_wc_read_slid(ex), 0U);
    EXPECT_EQ(ibv_wc_read_sl(ex), 0U);
    EXPECT_EQ(ibv_wc_read_dlid_path_bits(ex), 0U);
    ASSERT_EQ(ibv_next_poll(ex), 0);
    EXPECT_EQ(ex->wr_id, 2U);
    EXPECT_EQ(ex->status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(ibv_wc_read_wc_flags(ex), 0U);
    EXPECT_EQ(ibv_next_poll(ex), ENOENT);
    ibv_end_poll(ex);
}

TEST_F(Iterate, MixesWithPollCq) {
    for (std::uint64_t id = 0; id < 4; ++id) kernel.complete(test::a_send(id));
    ibv_wc wc{};
    EXPECT_EQ(poll_cq(attr.send_cq, 1, &wc), 1);
    EXPECT_EQ(wc.wr_id, 0U);
    ASSERT_EQ(start(), 0);
    EXPECT_EQ(ex->wr_id, 1U);
    ibv_end_poll(ex);
    EXPECT_EQ(poll_cq(attr.send_cq, 1, &wc), 1);
    EXPECT_EQ(wc.wr_id, 2U);
    ASSERT_EQ(start(), 0);
    EXPECT_EQ(ex->wr_id, 3U);
    ibv_end_poll(ex);
}

/// What is read may be written again at once, and what it held may be posted.
TEST_F(Iterate, EachGivesItsPlaceBack) {
    EXPECT_EQ(send(3), 0);
    for (std::uint64_t id = 0; id < 3; ++id) kernel.complete(test::a_send(id, qp->qp_num));
    EXPECT_EQ(send(1), ENOMEM);
    ASSERT_EQ(start(), 0);
    EXPECT_EQ(kernel.cq_control().cons, 1U);
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(send(1), ENOMEM);
    ASSERT_EQ(ibv_next_poll(ex), 0);
    EXPECT_EQ(send(1), 0);
    ibv_end_poll(ex);
}

/// A server creates one for the connection that a message has asked for.
TEST_F(Iterate, CreatesAQueuePairFromWithin) {
    kernel.complete(test::a_send(1));
    ASSERT_EQ(start(), 0);
    ++kernel.next_qp_number;
    ibv_qp* const other = create_qp(pd, &attr);
    ASSERT_NE(other, nullptr);
    other->send_cq = other->recv_cq = attr.send_cq;
    kernel.complete(test::a_send(2, other->qp_num));
    ASSERT_EQ(ibv_next_poll(ex), 0);
    EXPECT_EQ(qp_of(other)->polled.count, 1U);
    ibv_end_poll(ex);
    EXPECT_EQ(destroy_qp(other), 0);
}

TEST_F(Iterate, AnOverflowIsToldWhenAllIsRead) {
    kernel.complete(test::a_send(1));
    kernel.cq_control().error = 1;
    ASSERT_EQ(start(), 0);
    EXPECT_EQ(ibv_next_poll(ex), EIO);
    ibv_end_poll(ex);
    EXPECT_EQ(start(), EIO);
    EXPECT_EQ(start(), EIO);
}

/// A lazy kernel is told when there is nothing to read, and what that completes is there at once.
TEST_F(Iterate, RingsWhenThereIsNothing) {
    kernel.qp_control().sq_kick = SRN_KICK_LAZY;
    EXPECT_EQ(send(1), 0);
    EXPECT_TRUE(kernel.doorbells.empty());
    kernel.completed_by_doorbells = {test::a_send(7, qp->qp_num)};
    ASSERT_EQ(start(), 0);
    EXPECT_EQ(ex->wr_id, 7U);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
    ibv_end_poll(ex);
}

/// From start to end the queue is one thread's.
TEST_F(Iterate, OneThreadAtATime) {
    constexpr std::uint64_t count = 3000;
    std::atomic<int> inside = 0;
    std::atomic<std::uint64_t> sum = 0;
    std::atomic<std::uint64_t> taken = 0;
    const auto iterate = [&] {
        while (taken < count) {
            if (start() != 0) continue;
            EXPECT_EQ(inside.fetch_add(1), 0);
            do {
                sum += ex->wr_id;
                ++taken;
            } while (ibv_next_poll(ex) == 0);
            inside.fetch_sub(1);
            ibv_end_poll(ex);
        }
    };
    std::thread one(iterate);
    std::thread other(iterate);
    std::atomic_ref prod(kernel.cq_control().prod);
    std::atomic_ref cons(kernel.cq_control().cons);
    for (std::uint64_t id = 1; id <= count; ++id) {
        const auto index = static_cast<std::uint32_t>(id - 1);
        while (index - cons.load(std::memory_order_acquire) >= kernel.cq.depth)
            std::this_thread::yield();
        kernel.cqe(index) = test::a_send(id);
        prod.store(index + 1, std::memory_order_release);
    }
    one.join();
    other.join();
    EXPECT_EQ(sum.load(), count * (count + 1) / 2);
}

}  // namespace
}  // namespace softrnic::provider
