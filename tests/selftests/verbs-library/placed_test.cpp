// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Placed completions: with the link's setting, a signaled Send or Write completes when the peer has
// placed it.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "data.hpp"
#include "fixture.hpp"
#include "settings.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::send_flag;

constexpr access rights = access::local_write | access::remote_write | access::remote_read;

class Placed : public ::testing::Test {
protected:
    /// Both ends have recognised each other.
    static pair connect(const pair_options& options = {}) {
        pair ends = connect_pair(options);
        // The greeting is behind that, in both directions.
        for (int i = 0; i < 2; ++i) back_and_forth(ends, 0);
        return ends;
    }
    static void back_and_forth(pair& ends, std::uint64_t id) {
        for (softrnic::connection* end : {&ends.client, &ends.server})
            must(end->qp().recv(softrnic::no_slices, id));
        must(ends.client.qp().send(softrnic::no_slices, {.id = id}));
        expect_good(next(ends.server.recv_cq()), id, IBV_WC_RECV);
        must(ends.server.qp().send(softrnic::no_slices, {.id = id}));
        // They share a completion queue, and either may come first.
        for (const ibv_wc& wc : next(ends.client.send_cq(), 2)) expect_good(wc, id, wc.opcode);
        expect_good(next(ends.server.send_cq()), id, IBV_WC_SEND);
    }

    /// A client's memory, a server's, and the place behind it, where nobody may write.
    struct target {
        softrnic::buffer from, to;
        softrnic::remote_slice beyond;
    };
    static target make_target(const pair& ends) {
        target made{must(softrnic::buffer::create(ends.client.domain(), 8, access::none)),
                    must(softrnic::buffer::create(ends.server.domain(), 8, rights)),
                    {}};
        made.beyond = made.to.remote();
        made.beyond.addr += 8;
        return made;
    }

private:
    support::link_setting placed_{ibv_get_device_name(device().native()->device),
                                  "placed_completions", true};
};

// At the moment of the completion the data is there.
TEST_F(Placed, AWriteIsThereWhenItCompletes) {
    constexpr std::uint32_t size = 40'000;
    pair ends = connect();
    softrnic::buffer from =
        must(softrnic::buffer::create(ends.client.domain(), size, access::none));
    const softrnic::buffer to = must(softrnic::buffer::create(ends.server.domain(), size, rights));
    for (int i = 1; i <= 300; ++i) {
        std::ranges::fill(from.bytes(), std::byte(i));
        must(ends.client.qp().write(from.sub(0, size), to.remote()));
        expect_good(next(ends.client.send_cq()), 0, IBV_WC_RDMA_WRITE);
        ASSERT_EQ(std::memcmp(from.bytes().data(), to.bytes().data(), size), 0) << i;
    }
}

TEST_F(Placed, ASendCompletesWhenItIsReceived) {
    pair ends = connect();
    must(ends.client.qp().send(softrnic::no_slices, {.id = 1}));
    must(ends.client.qp().send(softrnic::no_slices, {.id = 2}));
    expect_quiet(ends.client.send_cq());
    must(ends.server.qp().recv(softrnic::no_slices, 11));
    expect_good(next(ends.server.recv_cq()), 11, IBV_WC_RECV);
    must(ends.server.qp().recv(softrnic::no_slices, 12));
    expect_good(next(ends.server.recv_cq()), 12, IBV_WC_RECV);
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_SEND);
    expect_good(next(ends.client.send_cq()), 2, IBV_WC_SEND);
}

TEST_F(Placed, AWriteWithImmediateCompletesWhenItIsReceived) {
    pair ends = connect();
    const softrnic::buffer to = must(softrnic::buffer::create(ends.server.domain(), 8, rights));
    const softrnic::buffer from =
        must(softrnic::buffer::create(ends.client.domain(), 8, access::none));
    must(ends.client.qp().write_with_immediate(from.sub(0, 8), to.remote(), 7, {.id = 1}));
    expect_quiet(ends.client.send_cq());
    must(ends.server.qp().recv(softrnic::no_slices, 11));
    expect_good(next(ends.server.recv_cq()), 11, IBV_WC_RECV_RDMA_WITH_IMM);
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_WRITE);
}

// Many more than the send queue holds, signaled each, seldom, and never but for the last one.
TEST_F(Placed, Streams) {
    constexpr std::uint32_t depth = 16, count = 4000;
    pair ends = connect({.client = {.max_send_wr = depth}});
    const softrnic::buffer to = must(softrnic::buffer::create(ends.server.domain(), 8, rights));
    const softrnic::buffer from =
        must(softrnic::buffer::create(ends.client.domain(), 8, access::none));
    for (const std::uint32_t period : {1U, 7U, depth}) {
        std::uint32_t outstanding = 0;
        for (std::uint32_t i = 1; i <= count; ++i) {
            const bool signaled = i % period == 0 || i == count;
            if (outstanding == depth / period) {
                next(ends.client.send_cq());
                --outstanding;
            }
            must(ends.client.qp().write(
                from.sub(0, 8), to.remote(),
                {.id = i, .flags = signaled ? send_flag::signaled : send_flag::none}));
            outstanding += signaled ? 1U : 0U;
        }
        next(ends.client.send_cq(), outstanding);
    }
}

// Each message is answered by one of the other end, with which the answer to its question rides.
TEST_F(Placed, BackAndForth) {
    pair ends = connect();
    for (std::uint64_t i = 0; i < 500; ++i) back_and_forth(ends, i);
}

/// While it exists, this thread runs on one CPU of those that there are.
class on_cpu {
public:
    explicit on_cpu(unsigned n) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(n % std::max(std::thread::hardware_concurrency(), 1U), &one);
        if (sched_getaffinity(0, sizeof(before_), &before_) != 0 ||
            sched_setaffinity(0, sizeof(one), &one) != 0)
            throw std::runtime_error("no such CPU");
    }
    ~on_cpu() { sched_setaffinity(0, sizeof(before_), &before_); }
    on_cpu(const on_cpu&) = delete;
    on_cpu& operator=(const on_cpu&) = delete;

private:
    cpu_set_t before_{};
};

// The first messages are answered by messages with which answers ride. Then nothing rides any more,
// and the question comes from another CPU, while the timer for the last answer may be looking.
TEST_F(Placed, AWriteBehindMessagesThatWereAnswered) {
    constexpr unsigned rounds = 60, answered = 70;
    pair ends = connect();
    const softrnic::buffer to = must(softrnic::buffer::create(ends.server.domain(), 8, rights));
    const softrnic::buffer from =
        must(softrnic::buffer::create(ends.client.domain(), 8, access::none));
    std::atomic<unsigned> begun = 0, done = 0;
    const std::jthread writer([&](const std::stop_token& stop) {
        const on_cpu second(1);
        for (unsigned round = 1; round <= rounds; ++round) {
            while (begun != round)
                if (stop.stop_requested()) return;
            const auto end = std::chrono::steady_clock::now() + round * 2us;
            while (std::chrono::steady_clock::now() < end) {
            }
            must(ends.client.qp().write(from.sub(0, 8), to.remote(), {.id = round}));
            done = round;
        }
    });
    const on_cpu first(0);
    for (unsigned round = 1; round <= rounds; ++round) {
        for (unsigned i = 0; i < answered; ++i) back_and_forth(ends, i);
        begun = round;
        while (done != round) std::this_thread::yield();
        expect_good(next(ends.client.send_cq()), round, IBV_WC_RDMA_WRITE);
    }
}

TEST_F(Placed, WhatNobodyReceivedFails) {
    pair ends = connect();
    must(ends.client.qp().send(softrnic::no_slices, {.id = 1}));
    expect_quiet(ends.client.send_cq());
    ends.server = softrnic::connection();
    expect_status(next(ends.client.send_cq()), 1, IBV_WC_WR_FLUSH_ERR);
}

// It asks while the other end, which has received its message, is destroyed.
TEST_F(Placed, WhatWasReceivedBeforeTheOtherEndWasDestroyedIsGood) {
    for (int i = 0; i < 100; ++i) {
        pair ends = connect();
        must(ends.server.qp().recv(softrnic::no_slices, 11));
        must(ends.client.qp().send(softrnic::no_slices, {.id = 1}));
        expect_good(next(ends.server.recv_cq()), 11, IBV_WC_RECV);
        ends.server = softrnic::connection();
        expect_good(next(ends.client.send_cq()), 1, IBV_WC_SEND);
    }
}

// The other end has received fewer messages than are complete, as nobody waits for these.
TEST_F(Placed, WhatNobodyReceivedFailsBehindUnsignaledWork) {
    pair ends = connect();
    must(ends.server.qp().recv(softrnic::no_slices, 11));
    for (std::uint64_t id = 1; id <= 5; ++id) {
        must(ends.client.qp().send(
            softrnic::no_slices,
            {.id = id, .flags = id == 5 ? send_flag::signaled : send_flag::none}));
    }
    expect_good(next(ends.server.recv_cq()), 11, IBV_WC_RECV);
    ends.server = softrnic::connection();
    expect_status(next(ends.client.send_cq()), 5, IBV_WC_WR_FLUSH_ERR);
}

// The first one tells of the refusal, and those behind it are flushed.
TEST_F(Placed, AWriteThatIsRefusedSaysSo) {
    pair ends = connect();
    const auto [from, to, beyond] = make_target(ends);
    must(ends.client.qp().write(from.sub(0, 8), to.remote(), {.id = 1}));
    must(ends.client.qp().write(from.sub(0, 8), beyond, {.id = 2}));
    must(ends.client.qp().write(from.sub(0, 8), to.remote(), {.id = 3}));
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_WRITE);
    expect_status(next(ends.client.send_cq()), 2, IBV_WC_REM_ACCESS_ERR);
    expect_status(next(ends.client.send_cq()), 3, IBV_WC_WR_FLUSH_ERR);
}

// What nobody waits for is flushed like the rest.
TEST_F(Placed, UnsignaledWorkBehindARefusedWriteIsFlushed) {
    pair ends = connect();
    const auto [from, to, beyond] = make_target(ends);
    softrnic::send_batch batch;
    batch.write(from.sub(0, 8), beyond, {.id = 1});
    batch.write(from.sub(0, 8), to.remote(), {.id = 2, .flags = send_flag::none});
    batch.write(from.sub(0, 8), to.remote(), {.id = 3});
    must(batch.post(ends.client.qp().native()));
    expect_status(next(ends.client.send_cq()), 1, IBV_WC_REM_ACCESS_ERR);
    expect_status(next(ends.client.send_cq()), 2, IBV_WC_WR_FLUSH_ERR);
    expect_status(next(ends.client.send_cq()), 3, IBV_WC_WR_FLUSH_ERR);
}

// A mistake does not take away what was sent before it and has been received.
TEST_F(Placed, ASendBeforeABadRequestCompletes) {
    pair ends = connect();
    must(ends.server.qp().recv(softrnic::no_slices, 11));
    const softrnic::buffer from =
        must(softrnic::buffer::create(ends.client.domain(), 8, access::none));
    softrnic::local_slice wrong = from.sub(0, 8);
    wrong.lkey ^= 1;
    softrnic::send_batch batch;
    batch.send(softrnic::no_slices, {.id = 1});
    batch.send(wrong, {.id = 2});
    must(batch.post(ends.client.qp().native()));
    expect_good(next(ends.server.recv_cq()), 11, IBV_WC_RECV);
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_SEND);
    expect_status(next(ends.client.send_cq()), 2, IBV_WC_LOC_PROT_ERR);
}

// Whoever closes first tells the other end before that what it has received.
TEST_F(Placed, BothEndsCloseAtOnce) {
    for (int i = 0; i < 20; ++i) {
        pair ends = connect();
        must(ends.server.qp().recv(softrnic::no_slices, 11));
        must(ends.client.qp().send(softrnic::no_slices, {.id = 1}));
        expect_good(next(ends.server.recv_cq()), 11, IBV_WC_RECV);
        must(ends.server.disconnect());
        must(ends.client.disconnect());
        expect_good(next(ends.client.send_cq()), 1, IBV_WC_SEND);
    }
}

}  // namespace
}  // namespace verbs_test
