// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// ibv_wr_*(): each operation does what the one of ibv_post_send() does, and a section between start
// and complete is posted as a whole or not at all.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <thread>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

constexpr access all_rights = access::local_write | access::remote_write | access::remote_read |
                              access::remote_atomic | access::window_bind;
constexpr std::uint64_t all_operations =
    std::uint64_t{IBV_QP_EX_WITH_RDMA_WRITE} | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
    IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
    IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
    IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;

constexpr std::uint32_t size = 3000;
constexpr std::uint32_t room = 8;

class WrApi : public ::testing::Test {
protected:
    void SetUp() override {
        const softrnic::listener listener = must(softrnic::listen(server_address()));
        client = must(softrnic::resolve(listener.local_address()));
        domain = must(softrnic::pd::create(client.context()));
        completions = must(softrnic::cq::create(client.context(), 2 * room));
        ibv_qp_init_attr_ex attr{};
        attr.qp_type = IBV_QPT_RC;
        attr.send_cq = attr.recv_cq = completions.native();
        attr.cap = {room, room, 4, 4, 256};
        attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        attr.pd = domain.native();
        attr.send_ops_flags = all_operations;
        ASSERT_EQ(rdma_create_qp_ex(client.native(), &attr), 0) << std::strerror(errno);
        granted = attr.cap;
        qp = softrnic::qp::adopt(client.native());
        ex = ibv_qp_to_qp_ex(qp.native());
        ASSERT_NE(ex, nullptr);
        auto connected = std::async(std::launch::async, [&] { return client.connect(); });
        server = accept_next(listener);
        must(connected.get());

        here = must(softrnic::buffer::create(domain, size, all_rights));
        there = must(softrnic::buffer::create(server.domain(), size, all_rights));
    }

    void start(std::uint64_t id, unsigned flags = IBV_SEND_SIGNALED) {
        ibv_wr_start(ex);
        ex->wr_id = id;
        ex->wr_flags = flags;
    }
    void set_sge(std::uint32_t offset, std::uint32_t length) {
        const softrnic::local_slice s = here.sub(offset, length);
        ibv_wr_set_sge(ex, s.lkey, s.addr, s.length);
    }
    void fill_here(std::uint64_t seed) {
        const message m = make_message(size, seed);
        std::memcpy(here.bytes().data(), m.data(), size);
    }
    [[nodiscard]] bool same(std::uint32_t at_there, std::uint32_t at_here, std::size_t length) {
        return std::memcmp(there.bytes().data() + at_there, here.bytes().data() + at_here,
                           length) == 0;
    }
    [[nodiscard]] softrnic::remote_slice remote() { return there.remote(); }

    softrnic::connection client;
    softrnic::connection server;
    softrnic::pd domain;
    softrnic::cq completions;
    softrnic::qp qp;
    ibv_qp_cap granted{};
    ibv_qp_ex* ex = nullptr;
    softrnic::buffer here;
    softrnic::buffer there;
};

TEST_F(WrApi, SendsOfEachKind) {
    constexpr std::uint32_t number = 0xdecaf123;
    fill_here(1);
    const softrnic::memory_window window = must(softrnic::memory_window::create(server.domain()));
    const std::uint32_t key = window.next_rkey();
    must(
        server.qp().bind(window, key, {there.region(), 0, size}, access::remote_write, {.id = 70}));
    expect_good(next(server.send_cq()), 70, IBV_WC_BIND_MW);
    for (std::uint64_t id = 0; id < 3; ++id)
        must(server.qp().recv(there.sub(static_cast<std::uint32_t>(id) * 1000, 1000), id));

    start(10);
    ibv_wr_send(ex);
    set_sge(0, 500);
    ex->wr_id = 11;
    ibv_wr_send_imm(ex, htobe32(number));
    const softrnic::local_slice a = here.sub(500, 100);
    const softrnic::local_slice b = here.sub(700, 100);
    const ibv_sge list[] = {{a.addr, a.length, a.lkey}, {b.addr, b.length, b.lkey}};
    ibv_wr_set_sge_list(ex, 2, list);
    ex->wr_id = 12;
    ibv_wr_send_inv(ex, key);
    ASSERT_EQ(ibv_wr_complete(ex), 0);

    for (std::uint64_t id = 10; id < 13; ++id) expect_good(next(completions), id, IBV_WC_SEND);
    ibv_wc wc = next(server.recv_cq());
    expect_good(wc, 0, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, 500U);
    EXPECT_TRUE(same(0, 0, 500));
    wc = next(server.recv_cq());
    EXPECT_EQ(wc.byte_len, 200U);
    EXPECT_EQ(softrnic::immediate_of(wc), number);
    EXPECT_TRUE(same(1000, 500, 100));
    EXPECT_TRUE(same(1100, 700, 100));
    wc = next(server.recv_cq());
    EXPECT_EQ(wc.byte_len, 0U);
    EXPECT_NE(wc.wc_flags & IBV_WC_WITH_INV, 0U);
    EXPECT_EQ(wc.invalidated_rkey, key);
}

TEST_F(WrApi, RdmaInBothDirections) {
    fill_here(2);
    must(server.qp().recv(softrnic::no_slices, 5));
    start(1);
    ibv_wr_rdma_write(ex, remote().rkey, remote().addr);
    set_sge(0, 1000);
    ex->wr_id = 2;
    ibv_wr_rdma_write_imm(ex, remote().rkey, remote().addr + 1000, htobe32(77));
    set_sge(1000, 500);
    ex->wr_id = 3;
    ibv_wr_rdma_read(ex, remote().rkey, remote().addr);
    set_sge(1500, 1500);
    ASSERT_EQ(ibv_wr_complete(ex), 0);
    expect_good(next(completions), 1, IBV_WC_RDMA_WRITE);
    expect_good(next(completions), 2, IBV_WC_RDMA_WRITE);
    expect_good(next(completions), 3, IBV_WC_RDMA_READ);
    const ibv_wc wc = next(server.recv_cq());
    expect_good(wc, 5, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(softrnic::immediate_of(wc), 77U);
    EXPECT_TRUE(same(0, 0, 1500));
    EXPECT_TRUE(same(0, 1500, 1500));
}

TEST_F(WrApi, Atomics) {
    auto& value = *reinterpret_cast<std::uint64_t*>(there.bytes().data());
    const auto* was = reinterpret_cast<const std::uint64_t*>(here.bytes().data());
    value = 40;
    start(1);
    ibv_wr_atomic_fetch_add(ex, remote().rkey, remote().addr, 2);
    set_sge(0, 8);
    ex->wr_id = 2;
    ibv_wr_atomic_cmp_swp(ex, remote().rkey, remote().addr, 42, 99);
    set_sge(8, 8);
    ASSERT_EQ(ibv_wr_complete(ex), 0);
    expect_good(next(completions), 1, IBV_WC_FETCH_ADD);
    expect_good(next(completions), 2, IBV_WC_COMP_SWAP);
    EXPECT_EQ(was[0], 40U);
    EXPECT_EQ(was[1], 42U);
    EXPECT_EQ(value, 99U);
}

TEST_F(WrApi, AWindowIsBoundAndInvalidated) {
    const softrnic::memory_window window = must(softrnic::memory_window::create(domain));
    const ibv_mw_bind_info info{here.region().native(), here.all().addr, size,
                                IBV_ACCESS_REMOTE_READ};
    const std::uint32_t key = window.next_rkey();
    start(1);
    ibv_wr_bind_mw(ex, window.native(), key, &info);
    ASSERT_EQ(ibv_wr_complete(ex), 0);
    expect_good(next(completions), 1, IBV_WC_BIND_MW);

    fill_here(3);
    must(server.qp().read(there.all(), {here.all().addr, size, key}, {.id = 9}));
    expect_good(next(server.send_cq()), 9, IBV_WC_RDMA_READ);
    EXPECT_TRUE(same(0, 0, size));

    start(2);
    ibv_wr_local_inv(ex, key);
    ASSERT_EQ(ibv_wr_complete(ex), 0);
    expect_good(next(completions), 2, IBV_WC_LOCAL_INV);
    must(server.qp().read(there.all(), {here.all().addr, size, key}, {.id = 10}));
    expect_status(next(server.send_cq()), 10, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(WrApi, InlineDataIsFreeAtOnce) {
    message m = make_message(256, 4);
    const message original = m;
    must(server.qp().recv(there.all(), 1));
    start(1);
    const ibv_data_buf pieces[] = {{m.data(), 100}, {m.data() + 100, 156}};
    ibv_wr_send(ex);
    ibv_wr_set_inline_data_list(ex, 2, pieces);
    std::fill(m.begin(), m.end(), std::byte{0});
    ASSERT_EQ(ibv_wr_complete(ex), 0);
    expect_good(next(completions), 1, IBV_WC_SEND);
    EXPECT_EQ(next(server.recv_cq()).byte_len, 256U);
    EXPECT_EQ(std::memcmp(there.bytes().data(), original.data(), 256), 0);
}

TEST_F(WrApi, OfASectionWithAMistakeNothingIsPosted) {
    must(server.qp().recv(softrnic::no_slices, 5));
    start(1);
    ibv_wr_send(ex);
    ibv_wr_send(ex);
    ibv_wr_set_inline_data(ex, here.bytes().data(), granted.max_inline_data + 1);
    EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
    start(2);
    for (std::uint32_t i = 0; i <= granted.max_send_wr; ++i) ibv_wr_send(ex);
    EXPECT_EQ(ibv_wr_complete(ex), ENOMEM);
    start(3);
    ibv_wr_send(ex);
    ibv_wr_abort(ex);
    expect_quiet(completions);

    start(4);
    ibv_wr_send(ex);
    EXPECT_EQ(ibv_wr_complete(ex), 0);
    expect_good(next(completions), 4, IBV_WC_SEND);
    expect_good(next(server.recv_cq()), 5, IBV_WC_RECV);
    expect_quiet(completions);
}

/// Threads that post in both ways to one queue pair, in sections of two that nothing comes between.
TEST_F(WrApi, ThreadsTakeTurns) {
    constexpr int rounds = 300;
    std::atomic<int> sections = 0;
    const auto pairs_of = [&](unsigned who) {
        for (int i = 0; i < rounds;) {
            start(who * 10);
            ibv_wr_rdma_write(ex, 0, 0);
            ex->wr_id = who * 10 + 1;
            ibv_wr_rdma_write(ex, 0, 0);
            const int error = ibv_wr_complete(ex);
            if (error != 0) {
                ASSERT_EQ(error, ENOMEM);
                std::this_thread::yield();
                continue;
            }
            ++sections;
            ++i;
        }
    };
    std::thread one(pairs_of, 1);
    std::thread other(pairs_of, 2);
    for (int i = 0; i < 2 * rounds; ++i) {
        const ibv_wc first = next(completions);
        ASSERT_EQ(first.status, IBV_WC_SUCCESS);
        ASSERT_EQ(first.wr_id % 10, 0U);
        ASSERT_EQ(next(completions).wr_id, first.wr_id + 1);
    }
    one.join();
    other.join();
    EXPECT_EQ(sections.load(), 2 * rounds);
}

TEST(WrApiQueues, OperationsThatIwarpDoesNotHaveAreRefused) {
    const softrnic::pd domain = must(softrnic::pd::create(device()));
    const softrnic::cq queue = must(softrnic::cq::create(device(), 4));
    for (const std::uint64_t op :
         {std::uint64_t{IBV_QP_EX_WITH_TSO}, std::uint64_t{IBV_QP_EX_WITH_ATOMIC_WRITE}}) {
        ibv_qp_init_attr_ex attr{};
        attr.qp_type = IBV_QPT_RC;
        attr.send_cq = attr.recv_cq = queue.native();
        attr.cap = {1, 1, 1, 1, 0};
        attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        attr.pd = domain.native();
        attr.send_ops_flags = IBV_QP_EX_WITH_SEND | op;
        EXPECT_EQ(ibv_create_qp_ex(domain.native()->context, &attr), nullptr);
        EXPECT_EQ(errno, EOPNOTSUPP);
    }
}

}  // namespace
}  // namespace verbs_test
