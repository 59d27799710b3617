// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <gtest/gtest.h>
#include <rdma/ib_user_verbs.h>

#include <array>
#include <cerrno>
#include <thread>

#include "verbs/cq.hpp"
#include "verbs_fixture.hpp"

namespace softrnic::provider {
namespace {

class LazyDoorbell : public test::qp_test {
protected:
    void SetUp() override {
        cq = create_cq(kernel.context(), 8, nullptr, 0);
        ASSERT_NE(cq, nullptr);
        attr.send_cq = cq;
        qp_test::SetUp();
        qp->send_cq = cq;
        kernel.qp_control().sq_kick = SRN_KICK_LAZY;
    }
    void TearDown() override {
        qp_test::TearDown();
        EXPECT_EQ(destroy_cq(cq), 0);
    }
    int poll() {
        ibv_wc wc{};
        return poll_cq(cq, 1, &wc);
    }
    /// The kernel's view is of this one then. Prepares one request.
    ibv_qp* another_qp() {
        ibv_qp_init_attr other_attr = attr;
        ibv_qp* const other = create_qp(pd, &other_attr);
        other->send_cq = cq;
        kernel.qp_control().state = SRN_QP_CONNECTED;
        kernel.qp_control().sq_kick = SRN_KICK_LAZY;
        chain(1);
        return other;
    }

    ibv_cq* cq = nullptr;
};

TEST_F(LazyDoorbell, WaitsForAnEmptyCompletionQueue) {
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(send(1), 0);
    EXPECT_TRUE(kernel.doorbells.empty());
    EXPECT_EQ(poll(), 0);
    ASSERT_EQ(kernel.doorbells.size(), 1U);
    EXPECT_EQ(kernel.doorbells[0].command, std::uint32_t{IB_USER_VERBS_CMD_POST_SEND});
    EXPECT_EQ(kernel.doorbells[0].qp_handle, qp->handle);
}

TEST_F(LazyDoorbell, CompletesWhatThePollThatRangReturns) {
    srn_cqe cqe{};
    cqe.wr_id = 7;
    kernel.completed_by_doorbells.push_back(cqe);
    EXPECT_EQ(send(1), 0);
    ibv_wc wc{};
    ASSERT_EQ(poll_cq(cq, 1, &wc), 1);
    EXPECT_EQ(wc.wr_id, 7U);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

TEST_F(LazyDoorbell, IsRungByWhoArmsTheCompletionQueue) {
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(req_notify_cq(cq, 0), 0);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

TEST_F(LazyDoorbell, IsRungOnceForWhatWasPosted) {
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(poll(), 0);
    EXPECT_EQ(poll(), 0);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(poll(), 0);
    EXPECT_EQ(kernel.doorbells.size(), 2U);
}

TEST_F(LazyDoorbell, IsNotRungForWhatTheKernelHasSeen) {
    EXPECT_EQ(send(2), 0);
    kernel.qp_control().sq_taken = 2;
    EXPECT_EQ(poll(), 0);
    EXPECT_TRUE(kernel.doorbells.empty());
}

TEST_F(LazyDoorbell, IsNotRungForAKernelThatHasAwoken) {
    EXPECT_EQ(send(1), 0);
    kernel.qp_control().sq_kick = SRN_KICK_NOT;
    EXPECT_EQ(poll(), 0);
    EXPECT_TRUE(kernel.doorbells.empty());
}

TEST_F(LazyDoorbell, DoesNotWaitOnceThereIsABatch) {
    kernel.qp_control().sq_taken = 2U - 128U;  // there were some before
    EXPECT_EQ(send(1), 0);
    EXPECT_TRUE(kernel.doorbells.empty());
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

TEST_F(LazyDoorbell, DoesNotWaitWithLargeMessages) {
    ibv_sge half{.addr = 0, .length = 256U << 10U, .lkey = 1};
    chain(1);
    sends[0].sg_list = &half;
    sends[0].num_sge = 1;
    EXPECT_EQ(post_send(qp, sends, &bad_send), 0);
    EXPECT_TRUE(kernel.doorbells.empty());
    EXPECT_EQ(post_send(qp, sends, &bad_send), 0);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
    // What the kernel has seen waits no more.
    kernel.qp_control().sq_silent = kernel.qp_control().sq_taken = 2;
    EXPECT_EQ(post_send(qp, sends, &bad_send), 0);
    kernel.qp_control().sq_taken = 3;
    EXPECT_EQ(post_send(qp, sends, &bad_send), 0);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

TEST_F(LazyDoorbell, DoesNotWaitOnceTheQueueIsFull) {
    EXPECT_EQ(send(3), 0);
    EXPECT_TRUE(kernel.doorbells.empty());
    EXPECT_EQ(send(1), ENOMEM);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

/// Who goes from one queue pair to the next leaves a batch behind, or a few.
TEST_F(LazyDoorbell, IsRungForAQueuePairThatWasLeftWithMuch) {
    kernel.qp_control().sq_taken = 1U - 32U;
    EXPECT_EQ(send(1), 0);
    EXPECT_TRUE(kernel.doorbells.empty());
    ibv_qp* const other = another_qp();
    EXPECT_EQ(post_send(other, sends, &bad_send), 0);
    ASSERT_EQ(kernel.doorbells.size(), 1U);
    EXPECT_EQ(kernel.doorbells[0].qp_handle, qp->handle);
    EXPECT_EQ(destroy_qp(other), 0);
}

TEST_F(LazyDoorbell, IsNotRungForAQueuePairThatWasLeftWithLittle) {
    kernel.qp_control().sq_taken = 1U - 31U;
    EXPECT_EQ(send(1), 0);
    ibv_qp* const other = another_qp();
    EXPECT_EQ(post_send(other, sends, &bad_send), 0);
    EXPECT_TRUE(kernel.doorbells.empty());
    EXPECT_EQ(destroy_qp(other), 0);
}

TEST_F(LazyDoorbell, IsForgottenWithItsQueuePair) {
    ibv_qp* const other = another_qp();
    EXPECT_EQ(post_send(other, sends, &bad_send), 0);
    EXPECT_EQ(destroy_qp(other), 0);
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(post_send(qp, sends, &bad_send), 0);
    kernel.qp_control().sq_kick = SRN_KICK_NOT;
    EXPECT_EQ(poll(), 0);
    EXPECT_TRUE(kernel.doorbells.empty());
}

TEST_F(LazyDoorbell, DoesNotWaitWithASolicitedMessage) {
    EXPECT_EQ(send(1), 0);
    EXPECT_TRUE(kernel.doorbells.empty());
    chain(1);
    sends[0].send_flags |= IBV_SEND_SOLICITED;
    EXPECT_EQ(post_send(qp, sends, &bad_send), 0);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

TEST_F(LazyDoorbell, DoesNotWaitIfTheUserWantsNoneTo) {
    context_of(kernel.context())->never_lazy = true;
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

/// Two queue pairs with a post each, and a completion to poll.
class LazyDoorbellOfTwo : public LazyDoorbell {
protected:
    void SetUp() override {
        LazyDoorbell::SetUp();
        kernel.complete({});
        other = another_qp();
    }
    void TearDown() override {
        EXPECT_EQ(destroy_qp(other), 0);
        LazyDoorbell::TearDown();
    }
    void post_to_each() {
        EXPECT_EQ(post_send(qp, sends, &bad_send), 0);
        EXPECT_EQ(post_send(other, sends, &bad_send), 0);
        EXPECT_TRUE(kernel.doorbells.empty());
    }

    ibv_qp* other = nullptr;
};

/// Else one of them stays behind for as long as the other one completes something.
TEST_F(LazyDoorbellOfTwo, AreRungByWhoPollsTheLastCompletion) {
    post_to_each();
    EXPECT_EQ(poll(), 1);
    EXPECT_EQ(kernel.doorbells.size(), 2U);
}

TEST_F(LazyDoorbellOfTwo, WaitWhileThereAreCompletions) {
    kernel.complete({});
    post_to_each();
    EXPECT_EQ(poll(), 1);
    EXPECT_TRUE(kernel.doorbells.empty());
}

/// What the next one posts on account of the first completion is behind it then.
TEST_F(LazyDoorbellOfTwo, CompleteWhatThePollThatRangReturns) {
    srn_cqe cqe{};
    cqe.wr_id = 7;
    kernel.completed_by_doorbells.push_back(cqe);
    post_to_each();
    std::array<ibv_wc, 4> wc{};
    ASSERT_EQ(poll_cq(cq, 4, wc.data()), 2);
    EXPECT_EQ(wc[1].wr_id, 7U);
}

TEST_F(LazyDoorbellOfTwo, AreRungInTheOrderOfPosts) {
    other->handle = qp->handle + 1;
    post_to_each();
    EXPECT_EQ(poll(), 1);
    ASSERT_EQ(kernel.doorbells.size(), 2U);
    EXPECT_EQ(kernel.doorbells[0].qp_handle, qp->handle);
    EXPECT_EQ(kernel.doorbells[1].qp_handle, other->handle);
}

TEST_F(LazyDoorbellOfTwo, GetTheirTurnTogetherIfMuchWasLeft) {
    kernel.complete({});
    kernel.qp_control().sq_taken = 1U - 32U;
    post_to_each();
    EXPECT_EQ(poll(), 1);
    EXPECT_EQ(kernel.doorbells.size(), 2U);
}

/// Any doorbell does what the kernel's worker has left for later.
TEST_F(LazyDoorbellOfTwo, AreRungByAPollWhileAWorkerIsAwaited) {
    kernel.complete({});
    post_to_each();
    kernel.cq_control().deferred = 1;
    EXPECT_EQ(poll(), 1);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

TEST_F(LazyDoorbell, IsNotRungAloneWhileAWorkerIsAwaited) {
    EXPECT_EQ(send(1), 0);
    kernel.complete({});
    kernel.cq_control().deferred = 1;
    EXPECT_EQ(poll(), 1);
    EXPECT_TRUE(kernel.doorbells.empty());
}

TEST_F(LazyDoorbell, WaitsAloneThoughTheLastCompletionIsPolled) {
    kernel.complete({});
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(poll(), 1);
    EXPECT_TRUE(kernel.doorbells.empty());
    EXPECT_EQ(poll(), 0);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

/// Receives complete elsewhere.
class LazyDoorbellOfAReceiver : public LazyDoorbell {
protected:
    void SetUp() override {
        LazyDoorbell::SetUp();
        receives_cq = create_cq(kernel.context(), 8, nullptr, 0);
        ASSERT_NE(receives_cq, nullptr);
        // As if it had been made with it.
        hold(*receives_cq);
        qp->recv_cq = receives_cq;
    }
    void TearDown() override {
        LazyDoorbell::TearDown();
        EXPECT_EQ(destroy_cq(receives_cq), 0);
    }
    int poll_receives() {
        ibv_wc wc{};
        return poll_cq(receives_cq, 1, &wc);
    }

    ibv_cq* receives_cq = nullptr;
};

TEST_F(LazyDoorbellOfAReceiver, IsRungByWhoWaitsForAnAnswer) {
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(poll_receives(), 0);
    EXPECT_EQ(poll_receives(), 0);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(req_notify_cq(receives_cq, 0), 0);
    EXPECT_EQ(kernel.doorbells.size(), 2U);
    kernel.qp_control().sq_taken = 2;
    EXPECT_EQ(poll(), 0);
    EXPECT_EQ(kernel.doorbells.size(), 2U);
}

TEST_F(LazyDoorbellOfAReceiver, IsNotRungByAnotherThread) {
    EXPECT_EQ(send(1), 0);
    std::thread([this] { EXPECT_EQ(poll_receives(), 0); }).join();
    EXPECT_TRUE(kernel.doorbells.empty());
    EXPECT_EQ(poll_receives(), 0);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

TEST_F(LazyDoorbellOfAReceiver, IsRungByAnyThreadIfSeveralPost) {
    EXPECT_EQ(send(1), 0);
    std::thread([this] { EXPECT_EQ(send(1), 0); }).join();
    std::thread([this] { EXPECT_EQ(poll_receives(), 0); }).join();
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

}  // namespace
}  // namespace softrnic::provider
