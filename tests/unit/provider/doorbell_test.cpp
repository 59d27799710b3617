// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <gtest/gtest.h>
#include <rdma/ib_user_verbs.h>

#include <cerrno>

#include "verbs_fixture.hpp"

namespace softrnic::provider {
namespace {

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

TEST_F(Doorbell, ADeviceThatIsGoneIsAnErrorOfTheWholeCall) {
    kernel.doorbell_errors = {EIO};
    EXPECT_EQ(send(2), EIO);
    EXPECT_EQ(bad_send, &sends[0]);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
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
