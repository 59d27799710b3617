// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Several requests at once: order, fences, reads in numbers.
#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::send_flag;

TEST(Batch, MixedRequestsCompleteInOrder) {
    constexpr std::uint32_t size = 3000;
    pair ends = connect_pair();
    const message original = make_message(size, 1);
    scattered source(ends.server.domain(), size, 1, access::remote_read);
    source.put(original);
    scattered sink(ends.client.domain(), size, 1, access::local_write);
    const scattered target(ends.server.domain(), size, 1,
                           access::local_write | access::remote_write);
    const scattered inbox(ends.server.domain(), size, 3, access::local_write);
    must(ends.server.qp().recv(inbox.slices(), 10));

    // The write and the send carry what the read brings.
    softrnic::send_batch batch;
    batch.read(sink.slices(), source.remote(), {.id = 1});
    batch.write(sink.slices(), target.remote(),
                {.id = 2, .flags = send_flag::signaled | send_flag::fence});
    batch.send(sink.slices(), {.id = 3});
    must(batch.post(ends.client.qp().native()));
    EXPECT_EQ(batch.accepted(), 3U);

    expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_READ);
    expect_good(next(ends.client.send_cq()), 2, IBV_WC_RDMA_WRITE);
    expect_good(next(ends.client.send_cq()), 3, IBV_WC_SEND);
    const ibv_wc wc = next(ends.server.recv_cq());
    expect_good(wc, 10, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, size);
    target.expect(original);
    inbox.expect(original);
}

TEST(Batch, ManySendsArriveInOrder) {
    constexpr std::size_t count = 48;
    constexpr std::uint32_t size = 1000;
    pair ends = connect_pair();
    softrnic::buffer from =
        must(softrnic::buffer::create(ends.client.domain(), count * size, access::none));
    softrnic::buffer to =
        must(softrnic::buffer::create(ends.server.domain(), count * size, access::local_write));
    const message original = make_message(count * size, 3);
    std::copy(original.begin(), original.end(), from.bytes().begin());

    softrnic::recv_batch receives;
    softrnic::send_batch sends;
    for (std::size_t i = 0; i < count; ++i) {
        receives.recv(to.sub(i * size, size), i);
        const bool last = i + 1 == count;
        sends.send(from.sub(i * size, size),
                   {.id = i, .flags = last ? send_flag::signaled : send_flag::none});
    }
    must(receives.post(ends.server.qp().native()));
    must(sends.post(ends.client.qp().native()));
    for (std::size_t i = 0; i < count; ++i)
        expect_good(next(ends.server.recv_cq()), i, IBV_WC_RECV);
    expect_good(next(ends.client.send_cq()), count - 1, IBV_WC_SEND);
    EXPECT_TRUE(std::equal(original.begin(), original.end(), to.bytes().begin()));
    expect_quiet(ends.client.send_cq());
}

/// More reads than the peer serves at a time wait for their turn.
void read_many(std::uint8_t depth, std::uint32_t expected_depth) {
    constexpr std::size_t count = 60;
    constexpr std::uint32_t size = 2000;
    pair ends = connect_pair({.connect = {.initiator_depth = depth}});
    EXPECT_EQ(must(ends.client.qp().query(IBV_QP_MAX_QP_RD_ATOMIC)).max_rd_atomic, expected_depth);
    softrnic::buffer from =
        must(softrnic::buffer::create(ends.server.domain(), count * size, access::remote_read));
    softrnic::buffer to =
        must(softrnic::buffer::create(ends.client.domain(), count * size, access::local_write));
    const message original = make_message(count * size, 4);
    std::copy(original.begin(), original.end(), from.bytes().begin());

    softrnic::send_batch reads;
    for (std::size_t i = 0; i < count; ++i)
        reads.read(to.sub(i * size, size), from.region().remote_sub(i * size, size), {.id = i});
    must(reads.post(ends.client.qp().native()));
    for (std::size_t i = 0; i < count; ++i)
        expect_good(next(ends.client.send_cq()), i, IBV_WC_RDMA_READ);
    EXPECT_TRUE(std::equal(original.begin(), original.end(), to.bytes().begin()));
}

TEST(Batch, ReadsBeyondADepthOfOne) {
    read_many(1, 1);
}

TEST(Batch, ReadsWithTheFullDepth) {
    const auto most = static_cast<std::uint32_t>(must(device().query()).max_qp_rd_atom);
    read_many(255, most);
}

TEST(Batch, BothDirectionsAtOnce) {
    constexpr std::uint32_t size = 1U << 20;
    constexpr std::uint64_t rounds = 4;
    pair ends = connect_pair();
    const message forth = make_message(size, 5);
    const message back = make_message(size, 6);
    scattered client_out(ends.client.domain(), size, 1, access::none);
    scattered server_out(ends.server.domain(), size, 1, access::none);
    const scattered client_in(ends.client.domain(), size, 1, access::local_write);
    const scattered server_in(ends.server.domain(), size, 1, access::local_write);
    client_out.put(forth);
    server_out.put(back);
    for (std::uint64_t i = 0; i < rounds; ++i) {
        must(ends.client.qp().recv(client_in.slices(), 100 + i));
        must(ends.server.qp().recv(server_in.slices(), 100 + i));
    }
    for (std::uint64_t i = 0; i < rounds; ++i) {
        must(ends.client.qp().send(client_out.slices(), {.id = i}));
        must(ends.server.qp().send(server_out.slices(), {.id = i}));
    }
    for (softrnic::connection* end : {&ends.client, &ends.server})
        for (const ibv_wc& wc : next(end->send_cq(), 2 * rounds))
            EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    client_in.expect(back);
    server_in.expect(forth);
}

}  // namespace
}  // namespace verbs_test
