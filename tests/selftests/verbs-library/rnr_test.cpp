// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Receiver not ready: between softrnics a message that finds no receive waits for one, and nothing
// that does not depend on it waits with it.
#include <future>
#include <thread>

#include "counters.hpp"
#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::immediate_of;

constexpr access rights = access::local_write | access::remote_write | access::remote_read;

/// One message that the client sends, and memory of the server for it.
struct transfer {
    transfer(const pair& ends, std::uint32_t length, std::uint64_t seed)
        : size(length),
          content(make_message(length, seed)),
          from(ends.client.domain(), length, 1, rights),
          to(ends.server.domain(), length, 1, rights) {
        from.put(content);
    }

    std::uint32_t size;
    message content;
    scattered from;
    scattered to;
};

void expect_received(pair& ends, const transfer& t, std::uint64_t id) {
    const ibv_wc wc = next(ends.server.recv_cq());
    expect_good(wc, id, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, t.size);
    t.to.expect(t.content);
}

/// By the length of the message: it may have one segment or many.
class NotReady : public ::testing::TestWithParam<std::uint32_t> {
protected:
    pair ends = connect_pair();
    transfer first{ends, GetParam(), 1};
    transfer second{ends, GetParam(), 2};

    void send(const transfer& t, std::uint64_t id) {
        must(ends.client.qp().send(t.from.slices(), {.id = id}));
    }
    void post(const transfer& t, std::uint64_t id) {
        must(ends.server.qp().recv(t.to.slices(), id));
    }
};

TEST_P(NotReady, SendsWaitAndKeepTheirOrder) {
    send(first, 1);
    send(second, 2);
    next(ends.client.send_cq(), 2);
    expect_quiet(ends.server.recv_cq());
    post(first, 11);
    expect_received(ends, first, 11);
    expect_quiet(ends.server.recv_cq());
    second.to.expect_untouched();
    post(second, 12);
    expect_received(ends, second, 12);
    // And nothing waits any more.
    post(first, 13);
    send(first, 3);
    expect_received(ends, first, 13);
}

TEST_P(NotReady, AReceiveForTheFirstOnly) {
    post(first, 11);
    send(first, 1);
    send(second, 2);
    expect_received(ends, first, 11);
    expect_quiet(ends.server.recv_cq());
    post(second, 12);
    expect_received(ends, second, 12);
}

// The server posts its receive when its Read is done.
TEST_P(NotReady, AReadOfTheReceiverIsAnswered) {
    transfer read(ends, GetParam(), 3);
    send(first, 1);
    next(ends.client.send_cq());
    must(ends.server.qp().read(read.to.slices(), read.from.remote(), {.id = 4}));
    expect_good(next(ends.server.send_cq()), 4, IBV_WC_RDMA_READ);
    read.to.expect(read.content);
    post(first, 11);
    expect_received(ends, first, 11);
}

TEST_P(NotReady, WritesAreNotHeldUp) {
    transfer write(ends, GetParam(), 3);
    send(first, 1);
    must(ends.client.qp().write(write.from.slices(), write.to.remote(), {.id = 2}));
    next(ends.client.send_cq(), 2);
    // The response to a Read comes behind all that was sent before.
    must(ends.server.qp().read(softrnic::no_slices, first.from.remote()));
    next(ends.server.send_cq());
    write.to.expect(write.content);
    first.to.expect_untouched();
    post(first, 11);
    expect_received(ends, first, 11);
}

// What the sender's Read sees has the Send behind it already.
TEST_P(NotReady, AReadOfTheSenderWaitsBehindItsSend) {
    transfer read(ends, GetParam(), 3);
    read.to.put(read.content);
    const scattered sink(ends.client.domain(), GetParam(), 1, access::local_write);
    send(first, 1);
    next(ends.client.send_cq());
    must(ends.client.qp().read(sink.slices(), read.to.remote(), {.id = 2}));
    expect_quiet(ends.client.send_cq());
    post(first, 11);
    expect_received(ends, first, 11);
    expect_good(next(ends.client.send_cq()), 2, IBV_WC_RDMA_READ);
    sink.expect(read.content);
}

// Each knows the length of its own Write, whatever was written meanwhile.
TEST_P(NotReady, ImmediateDataWaits) {
    transfer other(ends, GetParam() + 1, 3);
    must(ends.client.qp().write_with_immediate(first.from.slices(), first.to.remote(), 7));
    must(ends.client.qp().write_with_immediate(other.from.slices(), other.to.remote(), 8));
    must(ends.client.qp().write(second.from.slices(), second.to.remote()));
    next(ends.client.send_cq(), 3);
    expect_quiet(ends.server.recv_cq());
    for (std::uint64_t i = 1; i <= 2; ++i) must(ends.server.qp().recv(softrnic::no_slices, i));
    const ibv_wc one = next(ends.server.recv_cq()), another = next(ends.server.recv_cq());
    expect_good(one, 1, IBV_WC_RECV_RDMA_WITH_IMM);
    expect_good(another, 2, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(immediate_of(one), 7U);
    EXPECT_EQ(immediate_of(another), 8U);
    EXPECT_EQ(one.byte_len, first.size);
    EXPECT_EQ(another.byte_len, other.size);
    first.to.expect(first.content);
    other.to.expect(other.content);
    second.to.expect(second.content);
}

INSTANTIATE_TEST_SUITE_P(Size, NotReady, ::testing::Values(1U, 4096U, 200'000U),
                         ::testing::PrintToStringParamName());

TEST(NotReadyShared, ASharedReceiveQueue) {
    const softrnic::pd domain = must(softrnic::pd::create(device()));
    softrnic::srq pool = must(softrnic::srq::create(domain, 4, 1));
    pair ends = connect_pair({.server = {.domain = &domain, .shared_receives = &pool}});
    for (std::uint64_t i = 1; i <= 2; ++i) must(ends.client.qp().send(softrnic::no_slices));
    next(ends.client.send_cq(), 2);
    expect_quiet(ends.server.recv_cq());
    for (std::uint64_t i = 1; i <= 2; ++i) {
        must(pool.recv(softrnic::no_slices, i));
        expect_good(next(ends.server.recv_cq()), i, IBV_WC_RECV);
    }
}

// Each of its queue pairs has a message that waits, and goes on when there is a receive for it.
TEST(NotReadyShared, SeveralQueuePairsOfASharedReceiveQueue) {
    constexpr std::uint64_t each = 3;
    const softrnic::pd domain = must(softrnic::pd::create(device()));
    softrnic::srq pool = must(softrnic::srq::create(domain, 16, 1));
    std::vector<pair> pairs;
    for (int i = 0; i < 4; ++i) {
        pairs.push_back(connect_pair({.server = {.domain = &domain, .shared_receives = &pool}}));
        for (std::uint64_t k = 0; k < each; ++k)
            must(pairs.back().client.qp().send(softrnic::no_slices));
        next(pairs.back().client.send_cq(), each);
    }
    for (pair& ends : pairs) expect_quiet(ends.server.recv_cq());
    for (std::uint64_t i = 0; i < each * pairs.size(); ++i) must(pool.recv(softrnic::no_slices, i));
    for (pair& ends : pairs) {
        for (std::uint64_t k = 0; k < each; ++k)
            EXPECT_EQ(next(ends.server.recv_cq()).status, IBV_WC_SUCCESS);
    }
    // One that goes leaves the others their turn.
    for (pair& ends : pairs) must(ends.client.qp().send(softrnic::no_slices));
    expect_quiet(pairs[1].server.recv_cq());
    pairs.erase(pairs.begin());
    for (std::uint64_t i = 0; i < pairs.size(); ++i) must(pool.recv(softrnic::no_slices, i));
    for (pair& ends : pairs) EXPECT_EQ(next(ends.server.recv_cq()).status, IBV_WC_SUCCESS);
}

// More than are told of a receive at once.
TEST(NotReadyShared, ManyQueuePairsOfASharedReceiveQueue) {
    constexpr std::uint64_t many = 150;
    const softrnic::pd domain = must(softrnic::pd::create(device()));
    softrnic::srq pool = must(softrnic::srq::create(domain, many, 1));
    std::vector<pair> pairs;
    for (std::uint64_t i = 0; i < many; ++i) {
        pairs.push_back(connect_pair({.server = {.domain = &domain, .shared_receives = &pool}}));
        must(pairs.back().client.qp().send(softrnic::no_slices));
        next(pairs.back().client.send_cq());
    }
    for (std::uint64_t i = 0; i < many; ++i) must(pool.recv(softrnic::no_slices, i));
    for (pair& ends : pairs) EXPECT_EQ(next(ends.server.recv_cq()).status, IBV_WC_SUCCESS);
}

// More than is kept stays in TCP, and the sender waits.
TEST(NotReadyLimit, MuchWaits) {
    constexpr std::uint32_t size = 1 << 20, count = 24;
    pair ends = connect_pair();
    transfer t(ends, size, 1);
    settle_counters();
    const std::uint64_t of_sender = counter("tx_no_memory");
    const std::uint64_t of_receiver = counter("rx_no_memory");
    for (std::uint64_t i = 0; i < count; ++i)
        must(ends.client.qp().send(t.from.slices(), {.id = i}));
    expect_quiet(ends.server.recv_cq(), 500ms);
    settle_counters();
    EXPECT_GE(counter("rx_no_memory"), of_receiver + 1);
    EXPECT_LE(counter("tx_no_memory"), of_sender + 5) << "the sender tries again and again";
    for (std::uint64_t i = 0; i < count; ++i) {
        must(ends.server.qp().recv(t.to.slices(), i));
        expect_received(ends, t, i);
    }
    next(ends.client.send_cq(), count);
}

// Messages go on at one end while the other one, from which they come, is taken away.
TEST(NotReadyLimit, TheSenderGoesWhileTheyGoOn) {
    constexpr std::uint64_t count = 64;
    for (int round = 0; round < 20; ++round) {
        pair ends = connect_pair();
        const transfer t(ends, 4096, 1);
        for (std::uint64_t i = 0; i < count; ++i)
            must(ends.server.qp().send(t.to.slices(), {.id = i}));
        const auto poster = std::async(std::launch::async, [&ends, &t] {
            // Until the connection ends.
            for (std::uint64_t i = 0; i < count && ends.client.qp().recv(t.from.slices(), i); ++i)
                std::this_thread::yield();
        });
        must(ends.server.qp().to_error());
        poster.wait();
    }
}

/// One of two ends that do the same.
class crossing {
public:
    static constexpr std::uint32_t sends = 512, reads = 16, size = 256;
    static constexpr softrnic::queue_config queues{.max_send_wr = sends + reads,
                                                   .max_recv_wr = sends};

    explicit crossing(softrnic::connection& end)
        : end_(end),
          content_(make_message(size, 1)),
          from_(end.domain(), size, 1, rights),
          to_(end.domain(), size, 1, rights) {
        from_.put(content_);
    }

    [[nodiscard]] softrnic::remote_slice source() const { return from_.remote(); }

    void begin(const softrnic::remote_slice& there) {
        for (std::uint32_t i = 0; i < reads; ++i)
            must(end_.qp().read(to_.slices(), there, {.id = i}));
        for (std::uint32_t i = 0; i < sends; ++i)
            must(end_.qp().send(from_.slices(), {.id = reads + i}));
    }
    void finish_reads() {
        while (sent_ < reads) take();
        EXPECT_EQ(received_, 0U);
    }
    void post() {
        for (std::uint32_t i = 0; i < sends; ++i) must(end_.qp().recv(to_.slices(), i));
    }
    void finish() {
        while (sent_ < reads + sends || received_ < sends) take();
        to_.expect(content_);
    }

private:
    void take() {
        // One queue for both.
        const ibv_wc wc = next(end_.recv_cq());
        if (wc.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(wc.status));
        EXPECT_EQ(wc.wr_id, (wc.opcode & IBV_WC_RECV) != 0 ? received_++ : sent_++);
    }

    softrnic::connection& end_;
    message content_;
    scattered from_;
    scattered to_;
    std::uint32_t sent_ = 0;
    std::uint32_t received_ = 0;
};

// Programs that post receives only when their Reads are done, whose responses come behind the
// Sends of the peer.
TEST(NotReadyCrossing, SendsAndReadsOfBothEnds) {
    pair ends = connect_pair({.client = crossing::queues, .server = crossing::queues});
    crossing client(ends.client), server(ends.server);
    client.begin(server.source());
    server.begin(client.source());
    client.finish_reads();
    server.finish_reads();
    client.post();
    server.post();
    client.finish();
    server.finish();
}

// The message at fault is found while more is waiting in the socket than is kept.
TEST(NotReadyLimit, AMessageThatIsTooLong) {
    constexpr std::uint32_t size = 100'000, count = 40;
    pair ends = connect_pair();
    transfer t(ends, size, 1);
    const scattered small(ends.server.domain(), 10, 1, access::local_write);
    for (std::uint64_t i = 0; i < count; ++i)
        must(ends.client.qp().send(t.from.slices(), {.id = i}));
    expect_quiet(ends.server.recv_cq(), 500ms);
    must(ends.server.qp().recv(small.slices(), 1));
    expect_status(next(ends.server.recv_cq()), 1, IBV_WC_LOC_LEN_ERR);
    next(ends.client.send_cq(), count);
    expect_broken(ends.client);
    expect_broken(ends.server);
}

/// A pair whose client has sent a message that waits.
pair with_a_message_that_waits() {
    pair ends = connect_pair();
    must(ends.client.qp().send(softrnic::no_slices));
    next(ends.client.send_cq());
    expect_quiet(ends.server.recv_cq());
    return ends;
}

TEST(NotReadyEnd, TheSenderGoes) {
    pair ends = with_a_message_that_waits();
    must(ends.client.disconnect());
    expect_broken(ends.client);
    expect_broken(ends.server);
}

// The sender goes as soon as there are receives for what it has sent.
TEST(NotReadyEnd, WhatHasAReceiveIsNotLost) {
    constexpr std::uint32_t count = 4000;
    pair ends = connect_pair({.client = {.max_send_wr = count}, .server = {.max_recv_wr = count}});
    for (std::uint32_t i = 0; i < count; ++i) must(ends.client.qp().send(softrnic::no_slices));
    next(ends.client.send_cq(), count);
    expect_quiet(ends.server.recv_cq());
    std::vector<ibv_recv_wr> receives(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        receives[i].wr_id = i;
        receives[i].next = i + 1 < count ? &receives[i + 1] : nullptr;
    }
    ibv_recv_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_recv(ends.server.qp().native(), receives.data(), &bad), 0);
    must(ends.client.disconnect());
    for (std::uint32_t i = 0; i < count; ++i)
        expect_good(next(ends.server.recv_cq()), i, IBV_WC_RECV);
}

TEST(NotReadyEnd, TheReceiverGoes) {
    pair ends = with_a_message_that_waits();
    ends.server = softrnic::connection();
    expect_broken(ends.client);
}

// A message that is at fault when its turn comes ends the connection as it would have done before.
TEST(NotReadyEnd, AMessageThatIsTooLong) {
    pair ends = connect_pair();
    const scattered small(ends.server.domain(), 10, 1, access::local_write);
    must(ends.client.qp().send_inline(make_message(11, 1)));
    next(ends.client.send_cq());
    expect_quiet(ends.server.recv_cq());
    must(ends.server.qp().recv(small.slices(), 1));
    expect_status(next(ends.server.recv_cq()), 1, IBV_WC_LOC_LEN_ERR);
    EXPECT_TRUE(saw_event(ends.server.qp().native(), IBV_EVENT_QP_REQ_ERR));
    expect_broken(ends.client);
    expect_broken(ends.server);
}

}  // namespace
}  // namespace verbs_test
