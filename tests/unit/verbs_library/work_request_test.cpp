// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What reaches the driver when work is posted and completions are polled. The device here is a
// table of functions in an ibv_context, which is all that the verbs data path looks at.
#include "softrnic/work_request.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "softrnic/completion.hpp"
#include "softrnic/qp.hpp"

namespace {

using softrnic::local_slice;
using softrnic::remote_slice;
using softrnic::send_flag;

struct sent {
    ibv_send_wr wr;
    std::vector<ibv_sge> list;
};

class fake_device {
public:
    fake_device() {
        context.ops.post_send = &fake_device::post_send;
        context.ops.post_recv = &fake_device::post_recv;
        context.ops.poll_cq = &fake_device::poll_cq;
        qp.context = &context;
        qp.qp_context = this;
        cq.context = &context;
        cq.cq_context = this;
    }

    ibv_context context{};
    ibv_qp qp{};
    ibv_cq cq{};
    std::vector<sent> sends;
    std::vector<ibv_recv_wr> receives;
    std::size_t room = 100;
    int poll_answer = 0;

private:
    static int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
        auto& self = *static_cast<fake_device*>(qp->qp_context);
        for (; wr != nullptr; wr = wr->next) {
            if (self.sends.size() == self.room) {
                *bad = wr;
                return ENOMEM;
            }
            self.sends.push_back({*wr, {wr->sg_list, wr->sg_list + wr->num_sge}});
        }
        return 0;
    }
    static int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** /*bad*/) {
        auto& self = *static_cast<fake_device*>(qp->qp_context);
        for (; wr != nullptr; wr = wr->next) self.receives.push_back(*wr);
        return 0;
    }
    static int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
        auto& self = *static_cast<fake_device*>(cq->cq_context);
        for (int i = 0; i < std::min(count, self.poll_answer); ++i)
            wc[i].wr_id = static_cast<std::uint64_t>(i);
        return std::min(count, self.poll_answer);
    }
};

constexpr remote_slice peer{0xabc000, 4096, 77};

TEST(Qp, FillsInARequest) {
    fake_device device;
    const softrnic::qp_view qp(&device.qp);
    const std::array<local_slice, 2> list{local_slice{1, 2, 3}, {4, 5, 6}};
    ASSERT_TRUE(qp.write(list, peer, {.id = 9, .flags = send_flag::fence}));
    const sent& s = device.sends.at(0);
    EXPECT_EQ(s.wr.opcode, IBV_WR_RDMA_WRITE);
    EXPECT_EQ(s.wr.wr_id, 9U);
    EXPECT_EQ(s.wr.send_flags, unsigned{IBV_SEND_FENCE});
    EXPECT_EQ(s.wr.wr.rdma.remote_addr, 0xabc000U);
    EXPECT_EQ(s.wr.wr.rdma.rkey, 77U);
    EXPECT_EQ(s.wr.next, nullptr);
    ASSERT_EQ(s.list.size(), 2U);
    EXPECT_EQ(s.list[1].addr, 4U);
    EXPECT_EQ(s.list[1].length, 5U);
    EXPECT_EQ(s.list[1].lkey, 6U);
}

TEST(Qp, PostsEveryOperation) {
    fake_device device;
    const softrnic::qp_view qp(&device.qp);
    const std::array<std::byte, 3> text{};
    ASSERT_TRUE(qp.send(local_slice{}));
    ASSERT_TRUE(qp.send_inline(text));
    ASSERT_TRUE(qp.send_with_invalidate(local_slice{}, 55));
    ASSERT_TRUE(qp.write_inline(text, peer, {.flags = send_flag::none}));
    ASSERT_TRUE(qp.read(local_slice{}, peer));
    ASSERT_TRUE(qp.recv(softrnic::no_slices, 4));
    ASSERT_EQ(device.sends.size(), 5U);
    EXPECT_EQ(device.sends[0].wr.opcode, IBV_WR_SEND);
    EXPECT_EQ(device.sends[0].wr.send_flags, unsigned{IBV_SEND_SIGNALED});
    EXPECT_EQ(device.sends[1].wr.send_flags, unsigned{IBV_SEND_SIGNALED | IBV_SEND_INLINE});
    EXPECT_EQ(device.sends[1].list.at(0).length, 3U);
    EXPECT_EQ(device.sends[1].list.at(0).addr, reinterpret_cast<std::uintptr_t>(text.data()));
    EXPECT_EQ(device.sends[2].wr.opcode, IBV_WR_SEND_WITH_INV);
    EXPECT_EQ(device.sends[2].wr.invalidate_rkey, 55U);
    EXPECT_EQ(device.sends[3].wr.send_flags, unsigned{IBV_SEND_INLINE});
    EXPECT_EQ(device.sends[4].wr.opcode, IBV_WR_RDMA_READ);
    EXPECT_EQ(device.receives.at(0).num_sge, 0) << "a receive without slices is a receive";
    EXPECT_EQ(device.receives.at(0).wr_id, 4U);
}

TEST(Batch, ChainsRequestsAndTheirSlices) {
    fake_device device;
    softrnic::send_batch batch;
    for (std::uint32_t round = 0; round < 2; ++round) {
        // Enough of them that both vectors move while they grow.
        for (std::uint32_t i = 0; i < 20; ++i) {
            const std::array<local_slice, 2> list{local_slice{i, 1, 0}, {i, 2, 0}};
            batch.send(std::span(list).first(i % 3 == 0 ? 0 : i % 3), {.id = i});
        }
        ASSERT_TRUE(batch.post(&device.qp));
        EXPECT_EQ(batch.accepted(), 20U);
        batch.clear();
    }
    ASSERT_EQ(device.sends.size(), 40U);
    for (std::uint32_t i = 0; i < 40; ++i) {
        EXPECT_EQ(device.sends[i].wr.wr_id, i % 20);
        ASSERT_EQ(device.sends[i].list.size(), (i % 20) % 3);
        for (const ibv_sge& sge : device.sends[i].list) EXPECT_EQ(sge.addr, i % 20);
    }
}

TEST(Batch, SaysHowFarItCame) {
    fake_device device;
    device.room = 2;
    softrnic::send_batch batch;
    batch.send(local_slice{})
        .write(local_slice{}, peer)
        .read(local_slice{}, peer)
        .send(local_slice{});
    const softrnic::result<void> posted = batch.post(&device.qp);
    ASSERT_FALSE(posted);
    EXPECT_EQ(posted.error().code, ENOMEM);
    EXPECT_EQ(batch.accepted(), 2U);
    EXPECT_EQ(batch.size(), 4U);
}

TEST(Batch, EmptyIsNoCall) {
    fake_device device;
    device.room = 0;
    softrnic::send_batch sends;
    softrnic::recv_batch receives;
    EXPECT_TRUE(sends.post(&device.qp));
    EXPECT_TRUE(receives.post(&device.qp));
}

TEST(Cq, EmptyIsNotAnError) {
    fake_device device;
    softrnic::cq cq = softrnic::cq::adopt(&device.cq);
    std::array<ibv_wc, 4> room{};
    auto got = cq.poll(room);
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->empty());
    device.poll_answer = 3;
    got = cq.poll(room);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->size(), 3U);
    EXPECT_EQ(got->back().wr_id, 2U);
    device.poll_answer = -EINVAL;
    EXPECT_EQ(cq.poll(room).error().code, EINVAL);
    device.poll_answer = 0;
    EXPECT_EQ(cq.spin_one(std::chrono::milliseconds(1)).error().code, ETIMEDOUT);
    (void)cq.release();
}

}  // namespace
