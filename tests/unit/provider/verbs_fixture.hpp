// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// A QP on the fake kernel.
#pragma once

#include <gtest/gtest.h>

#include "fake_kernel.hpp"
#include "verbs/pd.hpp"
#include "verbs/qp.hpp"

namespace softrnic::provider::test {

class qp_test : public testing::Test {
protected:
    qp_test() {
        attr.qp_type = IBV_QPT_RC;
        attr.cap.max_send_wr = 3;
        attr.cap.max_recv_wr = 3;
    }
    void SetUp() override {
        pd = alloc_pd(kernel.context());
        qp = create_qp(pd, &attr);
        ASSERT_NE(qp, nullptr);
        kernel.qp_control().state = SRN_QP_CONNECTED;
    }
    void TearDown() override {
        EXPECT_EQ(destroy_qp(qp), 0);
        EXPECT_EQ(dealloc_pd(pd), 0);
    }

    /// A chain of @count signalled sends; wr_id counts from 0.
    void chain(int count) {
        for (int i = 0; i < count; ++i) {
            sends[i] = {};
            sends[i].wr_id = static_cast<std::uint64_t>(i);
            sends[i].opcode = IBV_WR_SEND;
            sends[i].send_flags = IBV_SEND_SIGNALED;
            sends[i].next = i + 1 < count ? &sends[i + 1] : nullptr;
            receives[i] = {};
            receives[i].wr_id = static_cast<std::uint64_t>(i);
            receives[i].next = i + 1 < count ? &receives[i + 1] : nullptr;
        }
    }
    int send(int count) {
        chain(count);
        bad_send = nullptr;
        return post_send(qp, sends, &bad_send);
    }
    int receive(int count) {
        chain(count);
        bad_receive = nullptr;
        return post_recv(qp, receives, &bad_receive);
    }

    fake_kernel kernel;
    ibv_qp_init_attr attr{};
    ibv_pd* pd = nullptr;
    ibv_qp* qp = nullptr;
    ibv_send_wr sends[8] = {};
    ibv_recv_wr receives[8] = {};
    ibv_send_wr* bad_send = nullptr;
    ibv_recv_wr* bad_receive = nullptr;
};

}  // namespace softrnic::provider::test
