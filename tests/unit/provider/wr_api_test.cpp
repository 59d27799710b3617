// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// ibv_wr_*(), on the fake kernel. A test calls what applications call: the inline functions of
// verbs.h.
#include "verbs/wr_api.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <string_view>
#include <thread>

#include "verbs_fixture.hpp"

namespace softrnic::provider {
namespace {

class WrApi : public test::qp_test {
protected:
    WrApi() {
        wanted.qp_type = IBV_QPT_RC;
        wanted.cap.max_send_wr = 3;
        wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        wanted.send_ops_flags = supported_send_ops;
    }
    void SetUp() override {
        qp_test::SetUp();
        wanted.pd = pd;
        made = create_qp_ex(kernel.context(), &wanted);
        ASSERT_NE(made, nullptr);
        kernel.qp_control() = {};
        kernel.qp_control().state = SRN_QP_CONNECTED;
        ex = &qp_of(made)->qp_ex;
    }
    void TearDown() override {
        EXPECT_EQ(destroy_qp(made), 0);
        qp_test::TearDown();
    }
    void start(std::uint64_t id = 0, unsigned flags = 0) {
        ibv_wr_start(ex);
        ex->wr_id = id;
        ex->wr_flags = flags;
    }
    [[nodiscard]] std::uint32_t published() { return kernel.qp_control().sq_prod; }

    ibv_qp_init_attr_ex wanted{};
    ibv_qp* made = nullptr;
    ibv_qp_ex* ex = nullptr;
};

TEST_F(WrApi, IsThereOnlyIfItWasAskedFor) {
    const auto mask = [](ibv_qp* of) { return qp_of(of)->comp_mask[0]; };
    EXPECT_EQ(mask(made), std::uint32_t{VERBS_QP_EX});
    EXPECT_EQ(mask(qp), 0U);
    // Wherever a later libibverbs looks for it.
    for (const std::uint32_t word : qp_of(made)->comp_mask) EXPECT_EQ(word, 2U);
}

TEST_F(WrApi, RefusesWhatTheDeviceDoesNotHave) {
    const auto refused_with = [this](ibv_qp_init_attr_ex other) {
        errno = 0;
        EXPECT_EQ(create_qp_ex(kernel.context(), &other), nullptr);
        return errno;
    };
    ibv_qp_init_attr_ex other = wanted;
    for (const std::uint64_t op :
         {std::uint64_t{IBV_QP_EX_WITH_TSO}, std::uint64_t{1} << 11,
          std::uint64_t{IBV_QP_EX_WITH_ATOMIC_WRITE}, std::uint64_t{1} << 40}) {
        other.send_ops_flags = IBV_QP_EX_WITH_SEND | op;
        EXPECT_EQ(refused_with(other), EOPNOTSUPP);
    }
    other = wanted;
    other.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
    EXPECT_EQ(refused_with(other), EOPNOTSUPP);
    other = wanted;
    other.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
    other.create_flags = IBV_QP_CREATE_SOURCE_QPN;
    EXPECT_EQ(refused_with(other), EOPNOTSUPP);
    other = wanted;
    other.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    EXPECT_EQ(refused_with(other), EINVAL);
}

TEST_F(WrApi, ShowsNothingBeforeComplete) {
    start(7, IBV_SEND_SIGNALED);
    ibv_wr_send(ex);
    ibv_wr_set_sge(ex, 5, 0x1000, 10);
    EXPECT_EQ(published(), 0U);
    EXPECT_EQ(ibv_wr_complete(ex), 0);
    ASSERT_EQ(published(), 1U);
    const srn_send_wqe& wqe = kernel.send_wqe(0);
    EXPECT_EQ(wqe.wr_id, 7U);
    EXPECT_EQ(wqe.opcode, SRN_WR_SEND);
    EXPECT_EQ(wqe.flags, SRN_WR_SIGNALED);
    EXPECT_EQ(wqe.num_sge, 1);
    EXPECT_EQ(wqe.sge[0].addr, 0x1000U);
    EXPECT_EQ(wqe.sge[0].length, 10U);
    EXPECT_EQ(wqe.sge[0].lkey, 5U);
    EXPECT_TRUE(kernel.doorbells.empty());
}

TEST_F(WrApi, RingsOnceForAll) {
    kernel.qp_control().sq_kick = SRN_KICK_NOW;
    start();
    for (int i = 0; i < 3; ++i) ibv_wr_send(ex);
    EXPECT_TRUE(kernel.doorbells.empty());
    EXPECT_EQ(ibv_wr_complete(ex), 0);
    EXPECT_EQ(published(), 3U);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

TEST_F(WrApi, ADeadDeviceIsTold) {
    kernel.qp_control().sq_kick = SRN_KICK_NOW;
    kernel.doorbell_errors = {EIO};
    start();
    ibv_wr_send(ex);
    kernel.qp_control().state = SRN_QP_GONE;
    EXPECT_EQ(ibv_wr_complete(ex), EIO);
}

TEST_F(WrApi, WhatADeadDeviceHasFlushedIsNoError) {
    kernel.qp_control().sq_kick = SRN_KICK_NOW;
    kernel.doorbell_errors = {EIO};
    start();
    ibv_wr_send(ex);
    kernel.qp_control().sq_cons = 1;
    kernel.qp_control().state = SRN_QP_GONE;
    EXPECT_EQ(ibv_wr_complete(ex), 0);
}

/// Both ways of posting fill the same entry.
class SameEntry : public WrApi {
protected:
    /// What was just built against what post_send() makes of @wr.
    void expect_same(ibv_send_wr wr) {
        ASSERT_EQ(ibv_wr_complete(ex), 0);
        wr.wr_id = ex->wr_id;
        wr.send_flags = ex->wr_flags;
        ASSERT_EQ(post_send(made, &wr, &bad_send), 0);
        EXPECT_EQ(bytes(at), bytes(at + 1));
        kernel.qp_control().sq_silent += 2;
        at = (at + 2) % 4;
    }
    [[nodiscard]] std::string_view bytes(std::uint32_t slot) {
        return {reinterpret_cast<const char*>(&kernel.send_wqe(slot)),
                SRN_SEND_WQE_HEADER + 2 * sizeof(srn_sge)};
    }
    std::uint32_t at = 0;
    ibv_sge sges[2] = {{0x1000, 8, 3}, {0x2000, 16, 4}};
};

TEST_F(SameEntry, ForEachOperation) {
    ibv_send_wr wr{};
    wr.sg_list = sges;
    wr.num_sge = 2;
    for (const auto flags :
         {0U, unsigned{IBV_SEND_SIGNALED}, unsigned{IBV_SEND_SOLICITED} | IBV_SEND_FENCE}) {
        const auto finish = [&](ibv_wr_opcode opcode) {
            ibv_wr_set_sge_list(ex, 2, sges);
            wr.opcode = opcode;
            expect_same(wr);
        };
        start(1, flags);
        ibv_wr_send(ex);
        finish(IBV_WR_SEND);

        wr.invalidate_rkey = 99;
        start(2, flags);
        ibv_wr_send_inv(ex, 99);
        finish(IBV_WR_SEND_WITH_INV);

        wr.imm_data = 0x11223344;
        start(3, flags);
        ibv_wr_send_imm(ex, 0x11223344);
        finish(IBV_WR_SEND_WITH_IMM);

        wr.wr.rdma = {.remote_addr = 0xabcdef0123, .rkey = 42};
        start(4, flags);
        ibv_wr_rdma_write(ex, 42, 0xabcdef0123);
        finish(IBV_WR_RDMA_WRITE);
        start(5, flags);
        ibv_wr_rdma_write_imm(ex, 42, 0xabcdef0123, 0x11223344);
        finish(IBV_WR_RDMA_WRITE_WITH_IMM);
        start(6, flags);
        ibv_wr_rdma_read(ex, 42, 0xabcdef0123);
        finish(IBV_WR_RDMA_READ);

        wr.wr.atomic = {.remote_addr = 64, .compare_add = 5, .swap = 6, .rkey = 7};
        start(7, flags);
        ibv_wr_atomic_fetch_add(ex, 7, 64, 5);
        finish(IBV_WR_ATOMIC_FETCH_AND_ADD);
        start(8, flags);
        ibv_wr_atomic_cmp_swp(ex, 7, 64, 5, 6);
        finish(IBV_WR_ATOMIC_CMP_AND_SWP);
    }
}

TEST_F(SameEntry, WithoutPayload) {
    ibv_send_wr wr{};
    wr.invalidate_rkey = 99;
    start(1);
    ibv_wr_local_inv(ex, 99);
    wr.opcode = IBV_WR_LOCAL_INV;
    expect_same(wr);

    ibv_mw window{};
    window.rkey = 0x1234500;
    ibv_mr region{};
    region.lkey = 77;
    const ibv_mw_bind_info info{&region, 4096, 100, IBV_ACCESS_REMOTE_READ};
    wr.bind_mw = {&window, 0x1234501, info};
    start(2);
    ibv_wr_bind_mw(ex, &window, 0x1234501, &info);
    wr.opcode = IBV_WR_BIND_MW;
    expect_same(wr);
}

TEST_F(WrApi, InlineDataIsCopiedAtOnce) {
    std::string first = "in";
    std::string second = "line";
    const ibv_data_buf pieces[] = {{first.data(), 2}, {nullptr, 0}, {second.data(), 4}};
    start(1, IBV_SEND_INLINE);
    ibv_wr_rdma_write(ex, 1, 2);
    ibv_wr_set_inline_data_list(ex, 3, pieces);
    ibv_wr_send(ex);
    ibv_wr_set_inline_data(ex, second.data(), 4);
    // Without payload there is none, whatever the slot held before.
    ibv_wr_send(ex);
    first = second = "xxxx";
    EXPECT_EQ(ibv_wr_complete(ex), 0);
    const auto text = [this](std::uint32_t i) {
        const srn_send_wqe& wqe = kernel.send_wqe(i);
        return std::string(reinterpret_cast<const char*>(&wqe) + SRN_SEND_WQE_HEADER,
                           wqe.inline_len);
    };
    EXPECT_EQ(text(0), "inline");
    EXPECT_EQ(kernel.send_wqe(0).flags, SRN_WR_INLINE);
    EXPECT_EQ(kernel.send_wqe(0).num_sge, 0);
    EXPECT_EQ(text(1), "line");
    EXPECT_EQ(text(2), "");
    EXPECT_EQ(kernel.send_wqe(2).flags, 0);
}

TEST_F(WrApi, TheLastPayloadCounts) {
    char data = 0;
    start();
    ibv_wr_send(ex);
    ibv_wr_set_inline_data(ex, &data, 1);
    ibv_wr_set_sge(ex, 1, 2, 3);
    ibv_wr_send(ex);
    ibv_wr_set_sge(ex, 1, 2, 3);
    ibv_wr_set_inline_data(ex, &data, 1);
    EXPECT_EQ(ibv_wr_complete(ex), 0);
    EXPECT_EQ(kernel.send_wqe(0).flags, 0);
    EXPECT_EQ(kernel.send_wqe(0).inline_len, 0U);
    EXPECT_EQ(kernel.send_wqe(0).num_sge, 1);
    EXPECT_EQ(kernel.send_wqe(1).flags, SRN_WR_INLINE);
    EXPECT_EQ(kernel.send_wqe(1).inline_len, 1U);
    EXPECT_EQ(kernel.send_wqe(1).num_sge, 0);
}

TEST_F(WrApi, AbortDiscardsAll) {
    kernel.qp_control().sq_kick = SRN_KICK_NOW;
    start(1);
    ibv_wr_send(ex);
    ibv_wr_send(ex);
    ibv_wr_abort(ex);
    EXPECT_EQ(published(), 0U);
    start(2);
    for (int i = 0; i < 3; ++i) ibv_wr_send(ex);
    EXPECT_EQ(ibv_wr_complete(ex), 0);
    EXPECT_EQ(published(), 3U);
    EXPECT_EQ(kernel.send_wqe(0).wr_id, 2U);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
}

/// Nothing of a section with a mistake is posted, whatever comes before and after it.
class Mistake : public WrApi {
protected:
    template <class Body>
    void expect(int error, Body&& body) {
        start(1);
        ibv_wr_send(ex);
        body();
        ibv_wr_send(ex);
        EXPECT_EQ(ibv_wr_complete(ex), error);
        EXPECT_EQ(published(), 0U);
        // The next one begins anew.
        start(2);
        ibv_wr_send(ex);
        ibv_wr_abort(ex);
    }
    char data[65] = {};
    ibv_sge sges[4] = {};
};

TEST_F(Mistake, OfFlags) {
    expect(EINVAL, [&] {
        ex->wr_flags = IBV_SEND_IP_CSUM;
        ibv_wr_send(ex);
        ex->wr_flags = 0;
    });
}
TEST_F(Mistake, TooManyEntries) {
    expect(EINVAL, [&] { ibv_wr_set_sge_list(ex, 4, sges); });
    expect(EINVAL, [&] { ibv_wr_set_sge_list(ex, ~std::size_t{0}, sges); });
}
TEST_F(Mistake, TooLong) {
    sges[0].length = 1U << 31;
    sges[1].length = 1;
    expect(EINVAL, [&] { ibv_wr_set_sge_list(ex, 2, sges); });
}
TEST_F(Mistake, TooLongInline) {
    expect(EINVAL, [&] { ibv_wr_set_inline_data(ex, data, 65); });
    expect(EINVAL, [&] { ibv_wr_set_inline_data(ex, data, ~std::size_t{0}); });
    const ibv_data_buf pieces[] = {{data, 64}, {data, 1}};
    expect(EINVAL, [&] { ibv_wr_set_inline_data_list(ex, 2, pieces); });
}
TEST_F(Mistake, PayloadOfARequestThatHasNone) {
    expect(EINVAL, [&] {
        ibv_wr_local_inv(ex, 1);
        ibv_wr_set_sge(ex, 1, 2, 3);
    });
    expect(EINVAL, [&] {
        ibv_wr_rdma_read(ex, 1, 2);
        ibv_wr_set_inline_data(ex, data, 1);
    });
}
TEST_F(Mistake, PayloadOfNoRequest) {
    start();
    ibv_wr_set_sge(ex, 1, 2, 3);
    EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
}
TEST_F(Mistake, AnotherWindowsKey) {
    ibv_mw window{};
    window.rkey = 0x1234500;
    const ibv_mw_bind_info info{};
    expect(EINVAL, [&] { ibv_wr_bind_mw(ex, &window, 0x1234601, &info); });
}
TEST_F(Mistake, MoreThanThereIsRoom) {
    expect(ENOMEM, [&] {
        for (int i = 0; i < 3; ++i) ibv_wr_send(ex);
    });
}
TEST_F(Mistake, BeforeTheConnection) {
    kernel.qp_control().state = SRN_QP_IDLE;
    expect(EINVAL, [] {});
}
TEST_F(Mistake, TheFirstOneIsTold) {
    expect(EINVAL, [&] {
        ibv_wr_set_inline_data(ex, data, 65);
        for (int i = 0; i < 3; ++i) ibv_wr_send(ex);
    });
}

/// Who is refused for want of room has what a lazy kernel has not seen yet transmitted.
TEST_F(WrApi, AFullQueueIsRungFor) {
    kernel.qp_control().sq_silent = 0;
    start();
    for (int i = 0; i < 3; ++i) ibv_wr_send(ex);
    EXPECT_EQ(ibv_wr_complete(ex), 0);
    kernel.qp_control().sq_kick = SRN_KICK_LAZY;
    start();
    ibv_wr_send(ex);
    EXPECT_EQ(ibv_wr_complete(ex), ENOMEM);
    EXPECT_EQ(kernel.doorbells.size(), 1U);
    EXPECT_EQ(published(), 3U);
}

/// No other thread is between start and complete, and none posts a list meanwhile.
TEST_F(WrApi, OneThreadAtATime) {
    constexpr int rounds = 2000;
    std::atomic<int> inside = 0;
    std::atomic<int> posted = 0;
    const auto drain = [this] { kernel.qp_control().sq_silent = published(); };
    const auto by_call = [&] {
        for (int i = 0; i < rounds; ++i) {
            ibv_wr_start(ex);
            EXPECT_EQ(inside.fetch_add(1), 0);
            drain();
            ibv_wr_send(ex);
            ibv_wr_send(ex);
            inside.fetch_sub(1);
            if (i % 3 == 0) {
                ibv_wr_abort(ex);
            } else {
                EXPECT_EQ(ibv_wr_complete(ex), 0);
                posted += 2;
            }
        }
    };
    std::thread one(by_call);
    std::thread other(by_call);
    for (int i = 0; i < rounds; ++i) {
        ibv_send_wr wr{};
        wr.opcode = IBV_WR_SEND;
        ibv_send_wr* bad = nullptr;
        if (post_send(made, &wr, &bad) == 0) ++posted;
    }
    one.join();
    other.join();
    EXPECT_EQ(published(), static_cast<std::uint32_t>(posted.load()));
}

}  // namespace
}  // namespace softrnic::provider
