// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Completion queues: events, solicited events, overflow, several queues.
#include <atomic>
#include <future>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::send_flag;

bool event_waits(softrnic::cq& queue, softrnic::deadline until) {
    return must(softrnic::detail::wait_readable(queue.native()->channel->fd, until));
}

TEST(Completion, OnlyASolicitedMessageWakesWhoAskedForThose) {
    pair ends = connect_pair();
    softrnic::cq& queue = ends.server.recv_cq();
    for (const std::uint64_t id : {1U, 2U}) must(ends.server.qp().recv(softrnic::no_slices, id));
    must(queue.arm(softrnic::notify::solicited));

    must(ends.client.qp().send(softrnic::no_slices));
    expect_good(must(queue.spin_one(patience)), 1, IBV_WC_RECV);
    EXPECT_FALSE(event_waits(queue, moment));

    must(ends.client.qp().send(softrnic::no_slices,
                               {.flags = send_flag::signaled | send_flag::solicited}));
    EXPECT_TRUE(event_waits(queue, patience));
    // The event is taken by the next wait.
    expect_good(must(queue.spin_one(patience)), 2, IBV_WC_RECV);
    must(ends.server.qp().recv(softrnic::no_slices, 3));
    must(ends.client.qp().send(softrnic::no_slices));
    expect_good(next(queue), 3, IBV_WC_RECV);
}

TEST(Completion, AnErrorCountsAsSolicited) {
    pair ends = connect_pair();
    softrnic::cq& queue = ends.server.recv_cq();
    must(ends.server.qp().recv(softrnic::no_slices, 1));
    must(queue.arm(softrnic::notify::solicited));
    must(ends.client.disconnect());
    EXPECT_TRUE(event_waits(queue, patience));
    expect_status(must(queue.spin_one(patience)), 1, IBV_WC_WR_FLUSH_ERR);
}

TEST(Completion, NoEventWithoutArming) {
    pair ends = connect_pair();
    softrnic::cq& queue = ends.server.recv_cq();
    must(ends.server.qp().recv(softrnic::no_slices, 1));
    must(ends.client.qp().send(softrnic::no_slices));
    expect_good(must(queue.spin_one(patience)), 1, IBV_WC_RECV);
    EXPECT_FALSE(event_waits(queue, moment));
}

TEST(Completion, QueuesForEachDirection) {
    softrnic::cq sends = must(softrnic::cq::create(device(), 8));
    softrnic::cq receives = must(softrnic::cq::create(device(), 8));
    pair ends = connect_pair({.server = {.send_cq = &sends, .recv_cq = &receives}});
    must(ends.server.qp().recv(softrnic::no_slices, 1));
    must(ends.client.qp().recv(softrnic::no_slices, 2));
    must(ends.client.qp().send(softrnic::no_slices));
    expect_good(next(receives), 1, IBV_WC_RECV);
    must(ends.server.qp().send(softrnic::no_slices, {.id = 3}));
    expect_good(next(sends), 3, IBV_WC_SEND);
    expect_quiet(receives);
}

TEST(Completion, SeveralQueuePairsShareAQueue) {
    softrnic::cq shared = must(softrnic::cq::create(device(), 16));
    const pair_options options{.server = {.send_cq = &shared}};
    pair first = connect_pair(options);
    pair second = connect_pair(options);
    for (pair* ends : {&first, &second}) {
        must(ends->server.qp().recv(softrnic::no_slices, 7));
        must(ends->client.qp().send(softrnic::no_slices));
        const ibv_wc wc = next(shared);
        expect_good(wc, 7, IBV_WC_RECV);
        EXPECT_EQ(wc.qp_num, ends->server.qp().number());
    }
}

/// Its program may have freed what the ids mean, and meets them no more; the others' stay in order.
TEST(Completion, OfADestroyedQueuePairAreForgotten) {
    softrnic::cq shared = must(softrnic::cq::create(device(), 64));
    const pair_options options{.client = {.send_cq = &shared, .recv_cq = &shared}};
    pair stays = connect_pair(options);
    pair goes = connect_pair(options);
    for (std::uint64_t i = 0; i < 6; ++i) {
        pair& ends = i % 2 == 0 ? goes : stays;
        must(ends.server.qp().recv(softrnic::no_slices));
        must(ends.client.qp().send(softrnic::no_slices, {.id = i}));
        next(ends.server.recv_cq());
    }
    must(goes.client.qp().recv(softrnic::no_slices, 7));
    must(goes.client.disconnect());
    EXPECT_TRUE(works(goes.client.wait_disconnected(patience)));
    goes.client.destroy_queues();
    for (const std::uint64_t id : {1U, 3U, 5U}) expect_good(next(shared), id, IBV_WC_SEND);
    expect_quiet(shared);
}

/// The same while somebody polls.
TEST(Completion, OfADestroyedQueuePairAreForgottenBesideAPoller) {
    constexpr std::uint64_t rounds = 10;
    constexpr std::uint64_t each = 20;
    softrnic::cq shared = must(softrnic::cq::create(device(), 256));
    const pair_options options{.client = {.send_cq = &shared}};
    pair stays = connect_pair(options);
    std::atomic<std::uint64_t> round = 0;  // ids of what goes carry theirs
    std::uint64_t next_id = 0;
    std::uint64_t wrong = 0;
    auto poller = std::async(std::launch::async, [&] {
        for (softrnic::deadline until = patience; next_id < rounds * each && !until.expired();) {
            // Before the poll: what is destroyed during it may still be seen.
            const std::uint64_t gone = round * 1000;
            ibv_wc wc{};
            if (must(shared.poll(std::span(&wc, 1))).empty()) continue;
            until = patience;
            if (wc.qp_num == stays.client.qp().number())
                wrong += wc.wr_id != next_id++ ? 1 : 0;
            else
                wrong += wc.wr_id < gone ? 1 : 0;
        }
    });
    for (; round < rounds; ++round) {
        pair goes = connect_pair(options);
        for (std::uint64_t i = 0; i < each; ++i) {
            must(stays.server.qp().recv(softrnic::no_slices));
            must(goes.server.qp().recv(softrnic::no_slices));
            must(stays.client.qp().send(softrnic::no_slices, {.id = round * each + i}));
            must(goes.client.qp().send(softrnic::no_slices, {.id = round * 1000 + i}));
            next(stays.server.recv_cq());
        }
        goes.client.destroy_queues();
    }
    poller.get();
    EXPECT_EQ(next_id, rounds * each);
    EXPECT_EQ(wrong, 0U);
}

TEST(Completion, SignalAllCompletesTheUnsignalled) {
    pair ends = connect_pair({.client = {.signal_all = true}});
    must(ends.server.qp().recv(softrnic::no_slices));
    must(ends.client.qp().send(softrnic::no_slices, {.id = 5, .flags = send_flag::none}));
    expect_good(next(ends.client.send_cq()), 5, IBV_WC_SEND);
}

TEST(Completion, OverflowEndsTheQueuePairAndSaysSo) {
    softrnic::cq small = must(softrnic::cq::create(device(), 4));
    pair ends = connect_pair({.client = {.send_cq = &small}});
    const int room = small.native()->cqe;
    for (int i = 0; i < room + 1; ++i) must(ends.server.qp().recv(softrnic::no_slices));
    for (int i = 0; i < room + 1; ++i) must(ends.client.qp().send(softrnic::no_slices));

    EXPECT_TRUE(saw_event(small.native(), IBV_EVENT_CQ_ERR));
    EXPECT_TRUE(saw_event(ends.client.qp().native(), IBV_EVENT_QP_FATAL));
    EXPECT_TRUE(works(ends.client.wait_disconnected(patience)));
    EXPECT_TRUE(works(ends.server.wait_disconnected(patience)));
    EXPECT_EQ(must(ends.client.qp().state()), IBV_QPS_ERR);
}

TEST(Completion, AFullQueueIsNoOverflow) {
    softrnic::cq small = must(softrnic::cq::create(device(), 4));
    pair ends = connect_pair({.client = {.send_cq = &small}});
    const auto room = static_cast<std::uint64_t>(small.native()->cqe);
    for (int round = 0; round < 3; ++round) {
        for (std::uint64_t i = 0; i < room; ++i) must(ends.server.qp().recv(softrnic::no_slices));
        for (std::uint64_t i = 0; i < room; ++i)
            must(ends.client.qp().send(softrnic::no_slices, {.id = i}));
        next(ends.server.recv_cq(), room);
        for (std::uint64_t i = 0; i < room; ++i) expect_good(next(small), i, IBV_WC_SEND);
    }
    EXPECT_EQ(must(ends.client.qp().state()), IBV_QPS_RTS);
}

}  // namespace
}  // namespace verbs_test
