// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <gtest/gtest.h>
#include <rdma/ib_user_verbs.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "verbs_fixture.hpp"

namespace softrnic::provider {
namespace {

using namespace std::chrono_literals;

class Doorbell : public test::qp_test {
protected:
    void SetUp() override {
        qp_test::SetUp();
        kernel.qp_control().sq_kick = 1;
    }
};

TEST_F(Doorbell, IsRungOnlyIfAskedForAndOncePerCall) {
    EXPECT_EQ(send(2), 0);
    ASSERT_EQ(kernel.doorbells.size(), 1U);
    EXPECT_EQ(kernel.doorbells[0].command, std::uint32_t{IB_USER_VERBS_CMD_POST_SEND});
    EXPECT_EQ(kernel.doorbells[0].qp_handle, qp->handle);
    EXPECT_FALSE(kernel.doorbells[0].by_ioctl);
    kernel.qp_control().sq_kick = 0;
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

TEST_F(Doorbell, ReceivesHaveTheirOwn) {
    EXPECT_EQ(receive(1), 0);
    EXPECT_TRUE(kernel.doorbells.empty());
    kernel.qp_control().rq_kick = 1;
    EXPECT_EQ(receive(1), 0);
    ASSERT_EQ(kernel.doorbells.size(), 1U);
    EXPECT_EQ(kernel.doorbells[0].command, std::uint32_t{IB_USER_VERBS_CMD_POST_RECV});
}

TEST_F(Doorbell, NothingPostedNothingRung) {
    EXPECT_EQ(post_send(qp, nullptr, &bad_send), 0);
    EXPECT_TRUE(kernel.doorbells.empty());
}

TEST_F(Doorbell, IsRungAgainAfterAnInterruption) {
    kernel.doorbell_errors = {EINTR, EAGAIN, EBUSY, 0};
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(kernel.doorbells.size(), 4U);
}

TEST_F(Doorbell, WorkCountsAsPostedIfTheKernelStaysBusy) {
    kernel.doorbell_errors.assign(100000, ENOMEM);
    EXPECT_EQ(send(1), 0);
    EXPECT_EQ(kernel.qp_control().sq_prod, 1U);
}

TEST_F(Doorbell, ADeviceThatIsGoneIsAnErrorOfTheWholeCallWithAnOlderModule) {
    context_of(kernel.context())->features &= ~std::uint64_t{SRN_FEATURE_QP_GONE};
    kernel.doorbell_errors = {EIO};
    EXPECT_EQ(send(2), EIO);
    EXPECT_EQ(bad_send, &sends[0]);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

/// The device has gone, and so has the queue pair in the kernel.
class GoneDevice : public Doorbell {
protected:
    void SetUp() override {
        Doorbell::SetUp();
        control().state = SRN_QP_GONE;
        kernel.doorbell_errors = {EIO, EIO};
    }

    srn_qp_ctrl& control() { return kernel.qp_control(); }
};

TEST_F(GoneDevice, WhatWasFlushedWasPosted) {
    control().state = SRN_QP_CONNECTED;
    std::thread destroys([this] {
        std::this_thread::sleep_for(50ms);
        control().sq_cons = control().sq_prod;
        std::atomic_ref(control().state).store(SRN_QP_GONE);
    });
    EXPECT_EQ(send(2), 0);
    destroys.join();
    EXPECT_EQ(control().sq_prod, 2U);
}

TEST_F(GoneDevice, WhatWasNotFlushedWasNotPosted) {
    control().state = SRN_QP_ERROR;
    std::thread destroys([this] {
        std::this_thread::sleep_for(50ms);
        std::atomic_ref(control().state).store(SRN_QP_GONE);
    });
    EXPECT_EQ(send(2), EIO);
    EXPECT_EQ(bad_send, &sends[0]);
    destroys.join();
}

TEST_F(GoneDevice, NothingIsPostedAnyMore) {
    EXPECT_EQ(send(1), EIO);
    EXPECT_EQ(bad_send, &sends[0]);
    EXPECT_EQ(control().sq_prod, 0U);
    EXPECT_TRUE(kernel.doorbells.empty());
}

TEST_F(GoneDevice, ReceivesAreFlushedOrRefused) {
    control().rq_kick = SRN_KICK_NOW;
    control().rq_cons = 1;
    EXPECT_EQ(receive(1), 0);
    EXPECT_EQ(receive(1), EIO);
    kernel.doorbell_errors.clear();
    control().rq_kick = SRN_KICK_NOT;
    // The queue of four has no more room than for these, and there will be none.
    EXPECT_EQ(receive(1), 0);
    EXPECT_EQ(receive(1), 0);
    control().rq_cons = 0;
    EXPECT_EQ(receive(1), EIO);
}

TEST_F(Doorbell, GoesThroughIoctlOnceWriteIsRefused) {
    kernel.doorbell_errors = {EACCES};
    EXPECT_EQ(send(1), 0);
    ASSERT_EQ(kernel.doorbells.size(), 2U);
    EXPECT_TRUE(kernel.doorbells[1].by_ioctl);
    EXPECT_EQ(kernel.doorbells[1].command, std::uint32_t{IB_USER_VERBS_CMD_POST_SEND});
    EXPECT_EQ(kernel.doorbells[1].qp_handle, qp->handle);
    EXPECT_EQ(send(1), 0);
    ASSERT_EQ(kernel.doorbells.size(), 3U);
    EXPECT_TRUE(kernel.doorbells[2].by_ioctl);
}

}  // namespace
}  // namespace softrnic::provider
