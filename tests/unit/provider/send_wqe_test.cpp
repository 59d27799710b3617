// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "ring/send_wqe.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "ring/recv_wqe.hpp"
#include "softrnic-abi.h"

namespace softrnic::provider {
namespace {

constexpr std::uint32_t max_sge = 4;
constexpr std::uint32_t max_inline = 64;

class SendWqe : public testing::Test {
protected:
    int encode(bool signal_all = false) {
        wr.sg_list = sges;
        std::memset(slot, 0xee, sizeof(slot));
        return encode_send(wr, {max_sge, max_inline, signal_all}, slot).error;
    }
    [[nodiscard]] const srn_send_wqe& wqe() const {
        return *reinterpret_cast<const srn_send_wqe*>(slot);
    }
    void set_inline(int index, std::string_view text) {
        sges[index] = {reinterpret_cast<std::uintptr_t>(text.data()),
                       static_cast<std::uint32_t>(text.size()), 0};
    }

    ibv_send_wr wr{};
    ibv_sge sges[max_sge + 1] = {};
    // Exactly what the limits allow: a byte more is found by the sanitizer.
    alignas(8) std::byte slot[SRN_SEND_WQE_HEADER + max_sge * sizeof(srn_sge)] = {};
};

TEST_F(SendWqe, CarriesASend) {
    wr.wr_id = 0x1122334455667788;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_FENCE;
    wr.num_sge = 2;
    sges[0] = {0x1000, 10, 7};
    sges[1] = {0x2000, 20, 8};
    ASSERT_EQ(encode(), 0);
    EXPECT_EQ(wqe().wr_id, 0x1122334455667788U);
    EXPECT_EQ(wqe().opcode, SRN_WR_SEND);
    EXPECT_EQ(wqe().flags, SRN_WR_SIGNALED | SRN_WR_SOLICITED | SRN_WR_FENCE);
    EXPECT_EQ(wqe().num_sge, 2);
    EXPECT_EQ(wqe().inline_len, 0U);
    EXPECT_EQ(wqe().remote_addr, 0U);
    EXPECT_EQ(wqe().ex, 0U);
    EXPECT_EQ(wqe().sge[0].addr, 0x1000U);
    EXPECT_EQ(wqe().sge[0].length, 10U);
    EXPECT_EQ(wqe().sge[0].lkey, 7U);
    const auto* second = &wqe().sge[0] + 1;
    EXPECT_EQ(second->addr, 0x2000U);
    EXPECT_EQ(second->length, 20U);
}

TEST_F(SendWqe, CarriesRemoteOperands) {
    wr.num_sge = 1;
    wr.wr.rdma = {.remote_addr = 0xabcd, .rkey = 42};
    for (const auto& [verb, expected] :
         {std::pair{IBV_WR_RDMA_WRITE, SRN_WR_WRITE}, std::pair{IBV_WR_RDMA_READ, SRN_WR_READ}}) {
        wr.opcode = verb;
        ASSERT_EQ(encode(), 0);
        EXPECT_EQ(wqe().opcode, expected);
        EXPECT_EQ(wqe().remote_addr, 0xabcdU);
        EXPECT_EQ(wqe().rkey, 42U);
        EXPECT_EQ(wqe().ex, 0U);
        EXPECT_EQ(wqe().flags, 0);
    }
}

TEST_F(SendWqe, CarriesTheKeyToInvalidate) {
    wr.invalidate_rkey = 99;
    wr.opcode = IBV_WR_SEND_WITH_INV;
    ASSERT_EQ(encode(), 0);
    EXPECT_EQ(wqe().opcode, SRN_WR_SEND_WITH_INV);
    EXPECT_EQ(wqe().ex, 99U);
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.num_sge = 100;  // has no list
    ASSERT_EQ(encode(), 0);
    EXPECT_EQ(wqe().opcode, SRN_WR_LOCAL_INV);
    EXPECT_EQ(wqe().ex, 99U);
    EXPECT_EQ(wqe().num_sge, 0);
}

TEST_F(SendWqe, CarriesAWindowAndItsRegion) {
    ibv_mw window{};
    window.rkey = 0x1234500;
    ibv_mr region{};
    region.lkey = 77;
    wr.opcode = IBV_WR_BIND_MW;
    wr.bind_mw = {&window,
                  0x1234501,
                  {&region, 4096, 1ULL << 33, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_LOCAL_WRITE}};
    ASSERT_EQ(encode(), 0);
    EXPECT_EQ(wqe().opcode, SRN_WR_BIND_MW);
    EXPECT_EQ(wqe().rkey, 0x1234501U);
    EXPECT_EQ(wqe().ex, 77U);
    EXPECT_EQ(wqe().remote_addr, 4096U);
    EXPECT_EQ(wqe().compare, 1ULL << 33);
    EXPECT_EQ(wqe().swap_add, std::uint64_t{IBV_ACCESS_REMOTE_READ});
    EXPECT_EQ(wqe().num_sge, 0);

    wr.bind_mw.rkey = 0x1234601;  // another window's
    EXPECT_EQ(encode(), EINVAL);
    wr.bind_mw.rkey = 0x1234502;
    wr.bind_mw.bind_info.mr = nullptr;
    EXPECT_EQ(encode(), EINVAL);
    wr.bind_mw.bind_info.length = 0;
    EXPECT_EQ(encode(), 0);
}

TEST_F(SendWqe, CarriesImmediateData) {
    for (const auto opcode : {IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM}) {
        wr.opcode = opcode;
        wr.imm_data = 0x12345678;
        ASSERT_EQ(encode(), 0);
        EXPECT_EQ(wqe().ex, 0x12345678U);
    }
    EXPECT_EQ(wqe().opcode, SRN_WR_WRITE_WITH_IMM);
}

TEST_F(SendWqe, CarriesTheOperandsOfAtomics) {
    wr.wr.atomic = {.remote_addr = 64, .compare_add = 5, .swap = 6, .rkey = 7};
    wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    ASSERT_EQ(encode(), 0);
    EXPECT_EQ(wqe().opcode, SRN_WR_FETCH_ADD);
    EXPECT_EQ(wqe().remote_addr, 64U);
    EXPECT_EQ(wqe().rkey, 7U);
    EXPECT_EQ(wqe().swap_add, 5U);
    wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
    ASSERT_EQ(encode(), 0);
    EXPECT_EQ(wqe().opcode, SRN_WR_CMP_SWAP);
    EXPECT_EQ(wqe().compare, 5U);
    EXPECT_EQ(wqe().swap_add, 6U);
}

TEST_F(SendWqe, SignalsEachIfTheQpSaysSo) {
    wr.opcode = IBV_WR_SEND;
    ASSERT_EQ(encode(true), 0);
    EXPECT_EQ(wqe().flags, SRN_WR_SIGNALED);
}

TEST_F(SendWqe, RefusesWhatIsNotSupported) {
    for (const int opcode : {int{IBV_WR_TSO}, 12, 13, 15}) {
        wr.opcode = static_cast<ibv_wr_opcode>(opcode);
        EXPECT_EQ(encode(), EINVAL) << opcode;
    }
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_IP_CSUM;
    EXPECT_EQ(encode(), EINVAL);
}

TEST_F(SendWqe, ChecksTheListOfSges) {
    wr.opcode = IBV_WR_SEND;
    wr.num_sge = max_sge;
    EXPECT_EQ(encode(), 0);
    wr.num_sge = max_sge + 1;
    EXPECT_EQ(encode(), EINVAL);
    wr.num_sge = -1;
    EXPECT_EQ(encode(), EINVAL);
    wr.num_sge = 0;
    EXPECT_EQ(encode(), 0);
}

TEST_F(SendWqe, ChecksTheLengthOfTheMessage) {
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.num_sge = 2;
    sges[0].length = 1U << 31;
    EXPECT_EQ(encode(), 0);
    sges[1].length = 1;
    EXPECT_EQ(encode(), EINVAL);
    sges[0].length = sges[1].length = 0x80000001;  // wraps around in 32 bits
    EXPECT_EQ(encode(), EINVAL);
}

TEST_F(SendWqe, GathersInlineData) {
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_INLINE;
    wr.num_sge = max_sge + 1;  // no list is stored, so its limit is not that of the list
    set_inline(0, "in");
    set_inline(2, "line");
    ASSERT_EQ(encode(), 0);
    EXPECT_EQ(wqe().flags, SRN_WR_INLINE);
    EXPECT_EQ(wqe().num_sge, 0);
    ASSERT_EQ(wqe().inline_len, 6U);
    EXPECT_EQ(std::memcmp(slot + SRN_SEND_WQE_HEADER, "inline", 6), 0);
}

TEST_F(SendWqe, InlineUpToTheGrantedBytes) {
    const std::string full(max_inline, 'a');
    const std::string one(1, 'b');
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_INLINE;
    wr.num_sge = 2;
    set_inline(0, full);
    EXPECT_EQ(encode(), 0);
    EXPECT_EQ(wqe().inline_len, max_inline);
    set_inline(1, one);
    EXPECT_EQ(encode(), EINVAL);
    sges[1].length = 0xffffffff;
    EXPECT_EQ(encode(), EINVAL);
    wr.num_sge = -1;
    EXPECT_EQ(encode(), EINVAL);
    wr.num_sge = 0;
    EXPECT_EQ(encode(), 0);
    EXPECT_EQ(wqe().inline_len, 0U);
}

TEST_F(SendWqe, NothingButPayloadGoesInline) {
    wr.send_flags = IBV_SEND_INLINE;
    wr.opcode = IBV_WR_RDMA_READ;
    EXPECT_EQ(encode(), EINVAL);
    wr.opcode = IBV_WR_LOCAL_INV;
    EXPECT_EQ(encode(), EINVAL);
}

TEST(RecvWqe, CarriesAReceive) {
    alignas(8) std::byte slot[SRN_RECV_WQE_HEADER + 2 * sizeof(srn_sge)];
    std::memset(slot, 0xee, sizeof(slot));
    ibv_sge sges[2] = {{0x1000, 10, 7}, {0x2000, 20, 8}};
    ibv_recv_wr wr{};
    wr.wr_id = 5;
    wr.sg_list = sges;
    wr.num_sge = 2;
    ASSERT_EQ(encode_recv(wr, 2, slot), 0);
    const auto& wqe = *reinterpret_cast<const srn_recv_wqe*>(slot);
    EXPECT_EQ(wqe.wr_id, 5U);
    EXPECT_EQ(wqe.num_sge, 2U);
    EXPECT_EQ(wqe.reserved, 0U);
    EXPECT_EQ(std::memcmp(wqe.sge, sges, sizeof(sges)), 0);
    EXPECT_EQ(encode_recv(wr, 1, slot), EINVAL);
    wr.num_sge = -1;
    EXPECT_EQ(encode_recv(wr, 2, slot), EINVAL);
    wr.num_sge = 0;
    wr.sg_list = nullptr;
    EXPECT_EQ(encode_recv(wr, 2, slot), 0);
}

}  // namespace
}  // namespace softrnic::provider
