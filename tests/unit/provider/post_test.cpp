// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The verbs of the data path, and the making of queues, on the fake kernel.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "verbs/cq.hpp"
#include "verbs/srq.hpp"
#include "verbs_fixture.hpp"

namespace softrnic::provider {
namespace {

class Post : public test::qp_test {};

TEST_F(Post, SendsShowUpInTheRing) {
    ASSERT_EQ(send(2), 0);
    EXPECT_EQ(kernel.qp_control().sq_prod, 2U);
    EXPECT_EQ(kernel.send_wqe(0).wr_id, 0U);
    EXPECT_EQ(kernel.send_wqe(1).wr_id, 1U);
    EXPECT_EQ(kernel.send_wqe(1).flags, SRN_WR_SIGNALED);
    EXPECT_TRUE(kernel.doorbells.empty());
}

TEST_F(Post, SendToAnIdleQpIsRefused) {
    kernel.qp_control().state = SRN_QP_IDLE;
    EXPECT_EQ(send(2), EINVAL);
    EXPECT_EQ(bad_send, &sends[0]);
    EXPECT_EQ(kernel.qp_control().sq_prod, 0U);
}

TEST_F(Post, SendToAQpInErrorIsTaken) {
    kernel.qp_control().state = SRN_QP_ERROR;
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(kernel.qp_control().sq_prod, 1U);
}

TEST_F(Post, GrantedNumberOfSendsMayBeOutstanding) {
    EXPECT_EQ(send(5), ENOMEM);
    EXPECT_EQ(bad_send, &sends[3]);
    EXPECT_EQ(kernel.qp_control().sq_prod, 3U);
    kernel.qp_control().sq_silent = 2;
    EXPECT_EQ(send(2), 0);
    EXPECT_EQ(send(1), ENOMEM);
    EXPECT_EQ(bad_send, &sends[0]);
}

TEST_F(Post, WhatIsInFrontOfABadSendIsPostedAndKicked) {
    kernel.qp_control().sq_kick = 1;
    chain(3);
    sends[2].opcode = IBV_WR_TSO;
    EXPECT_EQ(post_send(qp, sends, &bad_send), EINVAL);
    EXPECT_EQ(bad_send, &sends[2]);
    EXPECT_EQ(kernel.qp_control().sq_prod, 2U);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

TEST_F(Post, ReceivesMayBePostedAnyTime) {
    kernel.qp_control().state = SRN_QP_IDLE;
    EXPECT_EQ(receive(4), ENOMEM);
    EXPECT_EQ(bad_receive, &receives[3]);
    EXPECT_EQ(kernel.qp_control().rq_prod, 3U);
    EXPECT_EQ(kernel.recv_wqe(2).wr_id, 2U);
}

TEST_F(Post, ReceiveWithTooManyEntriesIsRefused) {
    ibv_sge sges[3] = {};
    chain(2);
    receives[1].sg_list = sges;
    receives[1].num_sge = 3;
    EXPECT_EQ(post_recv(qp, receives, &bad_receive), EINVAL);
    EXPECT_EQ(bad_receive, &receives[1]);
    EXPECT_EQ(kernel.qp_control().rq_prod, 1U);
}

TEST_F(Post, QueuesThatWereNotAskedForAreFull) {
    kernel.qp.sq_depth = 0;
    kernel.qp.rq_depth = 0;
    ibv_qp_init_attr none{};
    ibv_qp* empty = create_qp(pd, &none);
    ASSERT_NE(empty, nullptr);
    chain(1);
    EXPECT_EQ(post_send(empty, sends, &bad_send), ENOMEM);
    EXPECT_EQ(post_recv(empty, receives, &bad_receive), ENOMEM);
    EXPECT_EQ(destroy_qp(empty), 0);
}

TEST_F(Post, SharedReceivesNeedNoDoorbell) {
    ibv_srq_init_attr srq_attr{};
    srq_attr.attr.max_wr = 5;
    ibv_srq* srq = create_srq(pd, &srq_attr);
    ASSERT_NE(srq, nullptr);
    chain(6);
    EXPECT_EQ(post_srq_recv(srq, receives, &bad_receive), ENOMEM);
    EXPECT_EQ(bad_receive, &receives[5]);
    EXPECT_EQ(kernel.srq_control().prod, 5U);
    EXPECT_EQ(kernel.srq_wqe(4).wr_id, 4U);
    EXPECT_TRUE(kernel.doorbells.empty());
    EXPECT_EQ(destroy_srq(srq), 0);
}

TEST_F(Post, ReceivesOfAQpWithASharedQueueAreRefused) {
    ibv_srq_init_attr srq_attr{};
    srq_attr.attr.max_wr = 5;
    qp->srq = create_srq(pd, &srq_attr);
    ASSERT_NE(qp->srq, nullptr);
    EXPECT_EQ(receive(2), EINVAL);
    EXPECT_EQ(bad_receive, &receives[0]);
    EXPECT_EQ(kernel.qp_control().rq_prod, 0U);
    EXPECT_EQ(destroy_srq(qp->srq), 0);
}

// A kernel module whose answer makes no sense: an error, no access, and nothing left behind.
TEST_F(Post, NonsenseFromTheKernelIsRefused) {
    const srn_uresp_create_qp good = kernel.qp;
    const auto refused = [this] {
        ibv_qp_init_attr wanted = attr;
        return create_qp(pd, &wanted) == nullptr && errno == EPROTO;
    };
    kernel.qp.sq_depth = 3;
    EXPECT_TRUE(refused());
    kernel.qp = good;
    kernel.qp.rq_offset = 0;
    EXPECT_TRUE(refused());
    kernel.qp = good;
    kernel.qp.sq_stride = 64;  // too small for the granted entries
    EXPECT_TRUE(refused());
    kernel.qp = good;
    kernel.qp.sq_max_inline = 81;
    EXPECT_TRUE(refused());
    kernel.qp = good;
    kernel.qp.rq_depth = 2;  // less than granted
    EXPECT_TRUE(refused());
    kernel.qp = good;
    kernel.qp.map.size = 64;
    EXPECT_TRUE(refused());
    kernel.qp = good;
    kernel.qp.ctrl_size = sizeof(srn_qp_ctrl) - SRN_LINE;
    EXPECT_TRUE(refused());
    kernel.qp.ctrl_size = good.sq_offset + SRN_LINE;
    EXPECT_TRUE(refused());
    kernel.qp = good;

    kernel.srq.max_sge = 4;
    ibv_srq_init_attr srq_attr{};
    EXPECT_EQ(create_srq(pd, &srq_attr), nullptr);
    EXPECT_EQ(errno, EPROTO);
    kernel.srq.max_sge = 2;
    kernel.srq.ctrl_size = sizeof(srn_srq_ctrl) - SRN_LINE;
    EXPECT_EQ(create_srq(pd, &srq_attr), nullptr);
    EXPECT_EQ(errno, EPROTO);

    const srn_uresp_create_cq good_cq = kernel.cq;
    const auto cq_refused = [this] {
        return create_cq(kernel.context(), 1, nullptr, 0) == nullptr && errno == EPROTO;
    };
    kernel.cq.depth = 15;
    EXPECT_TRUE(cq_refused());
    kernel.cq = good_cq;
    kernel.cq.ctrl_size = sizeof(srn_cq_ctrl) - SRN_LINE;
    EXPECT_TRUE(cq_refused());
    kernel.cq = good_cq;
    kernel.cq.cqe_stride = sizeof(srn_cqe) - 8;
    EXPECT_TRUE(cq_refused());
    kernel.cq.cqe_stride = 20 * 1024;  // beyond the end
    EXPECT_TRUE(cq_refused());
}

// A later kernel module may have more in its structures than this provider knows.
TEST_F(Post, LargerStructuresOfTheKernelAreUsed) {
    kernel.qp.ctrl_size = sizeof(srn_qp_ctrl) + SRN_LINE;
    kernel.qp.sq_offset += SRN_LINE;
    kernel.qp.rq_offset += SRN_LINE;
    ibv_qp_init_attr wanted = attr;
    ibv_qp* larger = create_qp(pd, &wanted);
    ASSERT_NE(larger, nullptr);
    EXPECT_EQ(destroy_qp(larger), 0);
    kernel.srq.ctrl_size = sizeof(srn_srq_ctrl) + SRN_LINE;
    kernel.srq.rq_offset += SRN_LINE;
    ibv_srq_init_attr srq_attr{};
    ibv_srq* srq = create_srq(pd, &srq_attr);
    ASSERT_NE(srq, nullptr);
    EXPECT_EQ(destroy_srq(srq), 0);
}

TEST(Poll, LargerCompletionsOfTheKernelAreUnderstood) {
    test::fake_kernel kernel;
    kernel.cq.ctrl_size = sizeof(srn_cq_ctrl) + SRN_LINE;
    kernel.cq.cqe_offset = kernel.cq.ctrl_size;
    kernel.cq.cqe_stride = 2 * sizeof(srn_cqe);
    ibv_cq* cq = create_cq(kernel.context(), 10, nullptr, 0);
    ASSERT_NE(cq, nullptr);
    for (std::uint64_t id = 1; id <= 3; ++id) {
        srn_cqe cqe{};
        cqe.wr_id = id;
        kernel.complete(cqe);
    }
    ibv_wc wc[4];
    ASSERT_EQ(poll_cq(cq, 4, wc), 3);
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(wc[i].wr_id, i + 1);
    EXPECT_EQ(destroy_cq(cq), 0);
}

TEST(Poll, CompletionsBecomeWorkCompletions) {
    test::fake_kernel kernel;
    ibv_cq* cq = create_cq(kernel.context(), 10, nullptr, 0);
    ASSERT_NE(cq, nullptr);
    EXPECT_EQ(cq->handle, 77U);
    EXPECT_EQ(cq->cqe, 16);
    EXPECT_EQ(cq->context, kernel.context());

    ibv_wc wc[4];
    EXPECT_EQ(poll_cq(cq, 4, wc), 0);
    EXPECT_EQ(poll_cq(cq, 0, wc), 0);
    EXPECT_EQ(poll_cq(cq, -1, wc), 0);
    kernel.complete({.wr_id = 1,
                     .timestamp = 0,
                     .byte_len = 100,
                     .qp_num = 9,
                     .ex = 55,
                     .status = IBV_WC_SUCCESS,
                     .opcode = IBV_WC_RECV,
                     .flags = SRN_CQE_WITH_INV});
    kernel.complete({.wr_id = 2,
                     .timestamp = 0,
                     .byte_len = 0,
                     .qp_num = 9,
                     .ex = 0,
                     .status = IBV_WC_WR_FLUSH_ERR,
                     .opcode = IBV_WC_SEND,
                     .flags = 0});
    ASSERT_EQ(poll_cq(cq, 4, wc), 2);
    EXPECT_EQ(wc[0].wr_id, 1U);
    EXPECT_EQ(wc[0].status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc[0].opcode, IBV_WC_RECV);
    EXPECT_EQ(wc[0].byte_len, 100U);
    EXPECT_EQ(wc[0].qp_num, 9U);
    EXPECT_EQ(wc[0].wc_flags, unsigned{IBV_WC_WITH_INV});
    EXPECT_EQ(wc[0].invalidated_rkey, 55U);
    EXPECT_EQ(wc[0].vendor_err, 0U);
    EXPECT_EQ(wc[1].wr_id, 2U);
    EXPECT_EQ(wc[1].status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(wc[1].wc_flags, 0U);

    EXPECT_EQ(req_notify_cq(cq, 1), 0);
    EXPECT_EQ(kernel.cq_control().arm, std::uint32_t{SRN_CQ_ARM_SOLICITED});
    EXPECT_EQ(req_notify_cq(cq, 0), 0);
    EXPECT_EQ(kernel.cq_control().arm, std::uint32_t{SRN_CQ_ARM_ANY});

    kernel.cq_control().error = 1;
    EXPECT_LT(poll_cq(cq, 4, wc), 0);
    EXPECT_EQ(destroy_cq(cq), 0);
}

class SharedCompletions : public test::qp_test {
protected:
    void SetUp() override {
        cq = create_cq(kernel.context(), 10, nullptr, 0);
        ASSERT_NE(cq, nullptr);
        attr.send_cq = attr.recv_cq = cq;
        qp_test::SetUp();
        qp->send_cq = qp->recv_cq = cq;
    }
    void TearDown() override {
        qp_test::TearDown();
        EXPECT_EQ(destroy_cq(cq), 0);
    }
    void complete(const ibv_qp* of, std::uint64_t wr_id, ibv_wc_opcode opcode = IBV_WC_SEND) {
        kernel.complete({.wr_id = wr_id,
                         .timestamp = 0,
                         .byte_len = 0,
                         .qp_num = of->qp_num,
                         .ex = 0,
                         .status = IBV_WC_SUCCESS,
                         .opcode = static_cast<std::uint8_t>(opcode),
                         .flags = 0});
    }
    std::vector<std::uint64_t> poll_all() {
        std::vector<std::uint64_t> ids;
        for (ibv_wc wc{}; poll_cq(cq, 1, &wc) == 1;) ids.push_back(wc.wr_id);
        return ids;
    }

    ibv_cq* cq = nullptr;
};

/// The fourth would not fit into a completion queue as deep as the send queue.
TEST_F(SharedCompletions, HoldTheirPlaceUntilTheyArePolled) {
    EXPECT_EQ(send(3), 0);
    kernel.qp_control().sq_cons = 3;
    for (std::uint64_t id = 0; id < 3; ++id) complete(qp, id);
    complete(qp, 10, IBV_WC_RECV);
    EXPECT_EQ(send(1), ENOMEM);
    ibv_wc wc[2];
    EXPECT_EQ(poll_cq(cq, 2, wc), 2);
    EXPECT_EQ(send(3), ENOMEM);
    EXPECT_EQ(bad_send, &sends[2]);
    // A receive gives nothing back.
    EXPECT_EQ(poll_cq(cq, 2, wc), 2);
    EXPECT_EQ(send(2), ENOMEM);
    EXPECT_EQ(bad_send, &sends[1]);
}

TEST_F(SharedCompletions, OfAResetQpHoldNoPlace) {
    EXPECT_EQ(send(3), 0);
    for (std::uint64_t id = 0; id < 2; ++id) complete(qp, id);
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_RESET;
    kernel.qp_control().sq_silent = 1;  // the third was not executed
    EXPECT_EQ(modify_qp(qp, &to, IBV_QP_STATE), 0);
    EXPECT_EQ(send(3), 0);
    EXPECT_EQ(send(1), ENOMEM);
}

TEST_F(SharedCompletions, OfAKernelThatDoesNotCountHoldNoPlace) {
    context_of(kernel.context())->features = 0;
    ibv_qp* const older = create_qp(pd, &attr);
    ASSERT_NE(older, nullptr);
    older->send_cq = older->recv_cq = cq;
    kernel.qp_control().state = SRN_QP_CONNECTED;
    chain(3);
    EXPECT_EQ(post_send(older, sends, &bad_send), 0);
    kernel.qp_control().sq_cons = 3;
    EXPECT_EQ(post_send(older, sends, &bad_send), 0);
    EXPECT_EQ(destroy_qp(older), 0);
}

/// Each gets back what was polled of it, however many share the queue, and after some have gone.
TEST_F(SharedCompletions, AreCountedForTheirOwnQp) {
    constexpr std::size_t count = 100;
    std::vector<ibv_qp*> others;
    for (std::size_t i = 0; i < count; ++i) {
        ++kernel.next_qp_number;
        others.push_back(create_qp(pd, &attr));
        ASSERT_NE(others.back(), nullptr);
        others.back()->send_cq = others.back()->recv_cq = cq;
    }
    const auto polled_of = [](ibv_qp* other) { return qp_of(other)->polled.count; };
    for (std::size_t i = 0; i < count; i += 3) EXPECT_EQ(destroy_qp(others[i]), 0);
    for (std::size_t i = 0; i < count; ++i) {
        if (i % 3 == 0) continue;
        complete(others[i], 1);
        if (i % 3 == 1) complete(others[i], 2);
        (void)poll_all();
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (i % 3 == 0) continue;
        EXPECT_EQ(polled_of(others[i]), i % 3 == 1 ? 2U : 1U);
        EXPECT_EQ(destroy_qp(others[i]), 0);
    }
    EXPECT_EQ(polled_of(qp), 0U);
}

TEST_F(SharedCompletions, OfADestroyedQpAreForgotten) {
    ++kernel.next_qp_number;
    ibv_qp* const other = create_qp(pd, &attr);
    ASSERT_NE(other, nullptr);
    other->send_cq = other->recv_cq = cq;
    complete(other, 1);
    complete(qp, 2);
    complete(other, 3, IBV_WC_RECV);
    complete(qp, 4, IBV_WC_RECV);
    EXPECT_EQ(destroy_qp(other), 0);
    EXPECT_EQ(poll_all(), (std::vector<std::uint64_t>{2, 4}));
}

TEST_F(SharedCompletions, OfAResetQpAreForgotten) {
    complete(qp, 1);
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_ERR;
    EXPECT_EQ(modify_qp(qp, &to, IBV_QP_STATE), 0);
    complete(qp, 2);
    to.qp_state = IBV_QPS_RESET;
    EXPECT_EQ(modify_qp(qp, &to, IBV_QP_ACCESS_FLAGS), 0);
    EXPECT_EQ(kernel.cq_control().cons, 0U);
    EXPECT_EQ(modify_qp(qp, &to, IBV_QP_STATE), 0);
    EXPECT_TRUE(poll_all().empty());
    complete(qp, 3);
    EXPECT_EQ(poll_all(), std::vector<std::uint64_t>{3});
}

TEST(CreateCq, RefusesSenselessArguments) {
    test::fake_kernel kernel;
    EXPECT_EQ(create_cq(kernel.context(), 0, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(create_cq(kernel.context(), 1, nullptr, -1), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

/// Requests without payload: nobody has to fill in their scatter list.
TEST_F(Post, DoesNotLookAtAListThatMeansNothing) {
    chain(1);
    sends[0].opcode = IBV_WR_LOCAL_INV;
    sends[0].sg_list = nullptr;
    sends[0].num_sge = 1000;
    EXPECT_EQ(post_send(qp, sends, &bad_send), 0);
}

}  // namespace
}  // namespace softrnic::provider
