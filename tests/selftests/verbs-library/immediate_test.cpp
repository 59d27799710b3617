// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Immediate data: a Write that completes a receive (RFC 7306), and a Send that carries four bytes
// besides (softrnic's own message).
#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::immediate_of;

constexpr std::uint32_t number = 0xdecaf123;

class Immediate : public ::testing::TestWithParam<std::uint32_t> {
protected:
    pair ends = connect_pair();
    std::uint32_t size = GetParam();
    scattered from{ends.client.domain(), size, 3, access::none};
    message m = make_message(size, 1);
};

TEST_P(Immediate, OfASend) {
    const scattered to(ends.server.domain(), size, 2, access::local_write);
    from.put(m);
    must(ends.server.qp().recv(to.slices(), 5));
    must(ends.client.qp().send_with_immediate(from.slices(), number, {.id = 6}));
    const ibv_wc wc = next(ends.server.recv_cq());
    expect_good(wc, 5, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, size);
    EXPECT_EQ(immediate_of(wc), number);
    to.expect(m);
    expect_good(next(ends.client.send_cq()), 6, IBV_WC_SEND);
}

TEST_P(Immediate, OfAWrite) {
    scattered target(ends.server.domain(), size, 1, access::local_write | access::remote_write);
    const scattered unused(ends.server.domain(), 100, 1, access::local_write);
    from.put(m);
    must(ends.server.qp().recv(unused.slices(), 5));
    must(ends.client.qp().write_with_immediate(from.slices(), target.remote(), number, {.id = 6}));
    const ibv_wc wc = next(ends.server.recv_cq());
    expect_good(wc, 5, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(wc.byte_len, size);
    EXPECT_EQ(immediate_of(wc), number);
    target.expect(m);
    unused.expect_untouched();
    expect_good(next(ends.client.send_cq()), 6, IBV_WC_RDMA_WRITE);
}

INSTANTIATE_TEST_SUITE_P(Size, Immediate, ::testing::Values(0U, 1U, 7U, 4096U, 1U << 20),
                         ::testing::PrintToStringParamName());

/// Its completion stands for both halves of it.
TEST(ImmediateData, InOrderWithEverythingElse) {
    constexpr std::uint32_t rounds = 20;
    pair ends = connect_pair();
    scattered target(ends.server.domain(), 64, 1, access::local_write | access::remote_write);
    const scattered from(ends.client.domain(), 64, 1, access::none);
    for (std::uint32_t i = 0; i < 2 * rounds; ++i)
        must(ends.server.qp().recv(softrnic::no_slices, i));
    for (std::uint32_t i = 0; i < rounds; ++i) {
        must(ends.client.qp().write_with_immediate(from.slices(), target.remote(), i, {.id = i}));
        must(ends.client.qp().send(softrnic::no_slices, {.id = i}));
    }
    for (std::uint32_t i = 0; i < rounds; ++i) {
        expect_good(next(ends.client.send_cq()), i, IBV_WC_RDMA_WRITE);
        expect_good(next(ends.client.send_cq()), i, IBV_WC_SEND);
        const ibv_wc with = next(ends.server.recv_cq());
        expect_good(with, 2 * i, IBV_WC_RECV_RDMA_WITH_IMM);
        EXPECT_EQ(immediate_of(with), i);
        const ibv_wc without = next(ends.server.recv_cq());
        expect_good(without, 2 * i + 1, IBV_WC_RECV);
        EXPECT_EQ(immediate_of(without), std::nullopt);
    }
}

TEST(ImmediateData, WithoutAReceive) {
    const stranger_to_itself with_anybody_else;
    pair ends = connect_pair();
    scattered target(ends.server.domain(), 64, 1, access::local_write | access::remote_write);
    const scattered from(ends.client.domain(), 64, 1, access::none);
    must(ends.client.qp().write_with_immediate(from.slices(), target.remote(), 1));
    next(ends.client.send_cq());
    expect_broken(ends.server);
    expect_broken(ends.client);
}

TEST(ImmediateData, Inline) {
    pair ends = connect_pair();
    scattered target(ends.server.domain(), 64, 1, access::local_write | access::remote_write);
    const message m = make_message(64, 3);
    must(ends.server.qp().recv(softrnic::no_slices, 1));
    must(ends.client.qp().write_with_immediate(
        softrnic::local_slice{reinterpret_cast<std::uintptr_t>(m.data()), 64, 0}, target.remote(),
        number, {.flags = softrnic::send_flag::signaled | softrnic::send_flag::inline_data}));
    EXPECT_EQ(immediate_of(next(ends.server.recv_cq())), number);
    target.expect(m);
}

}  // namespace
}  // namespace verbs_test
