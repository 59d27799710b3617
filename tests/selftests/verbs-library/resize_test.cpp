// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Completion queues that get more room, or less, while they are used.
#include <poll.h>

#include <atomic>
#include <cerrno>
#include <limits>
#include <random>
#include <thread>

#include "fixture.hpp"

namespace verbs_test {
namespace {

/// The queue has the completions of what the server receives.
class Resize : public ::testing::Test {
protected:
    static constexpr int first_size = 16;
    static constexpr std::uint32_t most_messages = 1500;

    void SetUp() override {
        softrnic::queue_config server = wide;
        server.recv_cq = &queue;
        // A Send completes before it is received, so all receives may be outstanding.
        server.max_recv_wr = most_messages;
        ends = connect_pair({.server = server});
    }
    void send(std::uint64_t id) {
        must(ends.server.qp().recv(softrnic::no_slices, id));
        must(ends.client.qp().send(softrnic::no_slices, {.id = id}));
        expect_good(next(ends.client.send_cq()), id, IBV_WC_SEND);
    }
    /// They wait in the queue then.
    void send_all(std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t id = first; id <= last; ++id) send(id);
        std::this_thread::sleep_for(moment);
    }
    void expect(std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t id = first; id <= last; ++id) expect_good(next(queue), id, IBV_WC_RECV);
    }

    softrnic::comp_channel channel = must(softrnic::comp_channel::create(device()));
    softrnic::cq queue = must(softrnic::cq::create(device(), first_size, &channel));
    pair ends;
};

TEST_F(Resize, KeepsWhatWaits) {
    send_all(1, 10);
    expect(1, 3);
    must(queue.resize(100));
    EXPECT_GE(queue.native()->cqe, 100);
    send_all(11, 50);
    must(queue.resize(60));
    EXPECT_GE(queue.native()->cqe, 60);
    EXPECT_LT(queue.native()->cqe, 100);
    send_all(51, 60);
    expect(4, 60);
    expect_quiet(queue);
}

// More than is copied at a time.
TEST_F(Resize, KeepsMuchThatWaits) {
    must(queue.resize(2 * most_messages));
    send_all(1, most_messages);
    must(queue.resize(most_messages));
    expect(1, most_messages);
    expect_quiet(queue);
}

TEST_F(Resize, MoreThanItHasRoomForIsRefused) {
    send_all(1, 10);
    EXPECT_TRUE(fails_with(queue.resize(4), EINVAL));
    EXPECT_EQ(queue.native()->cqe, first_size);
    expect(1, 7);
    must(queue.resize(4));
    EXPECT_EQ(queue.native()->cqe, 4);
    send(11);
    expect(8, 11);
}

TEST_F(Resize, ToNothingOrTooMuchIsRefused) {
    ibv_device_attr attr{};
    ASSERT_EQ(ibv_query_device(device().native(), &attr), 0);
    for (const int entries : {0, -1, attr.max_cqe + 1, std::numeric_limits<int>::max()})
        EXPECT_TRUE(fails_with(queue.resize(entries), EINVAL)) << entries;
    must(queue.resize(attr.max_cqe));
    send(1);
    expect(1, 1);
}

TEST_F(Resize, OverflowsAtItsNewSize) {
    must(queue.resize(4));
    send_all(1, 5);
    EXPECT_TRUE(saw_event(queue.native(), IBV_EVENT_CQ_ERR));
    EXPECT_TRUE(fails_with(queue.resize(100), EINVAL));
    expect(1, 4);
    ibv_wc wc{};
    EXPECT_TRUE(fails_with(queue.poll({&wc, 1}), EIO));
}

TEST_F(Resize, AnArmedQueueStaysArmed) {
    must(queue.arm());
    must(queue.resize(100));
    send(1);
    pollfd readable{channel.native()->fd, POLLIN, 0};
    ASSERT_EQ(::poll(&readable, 1, 1000 * static_cast<int>(patience.count())), 1);
    ibv_cq* which = nullptr;
    void* context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel.native(), &which, &context), 0);
    EXPECT_EQ(which, queue.native());
    ibv_ack_cq_events(which, 1);
    expect(1, 1);
}

TEST_F(Resize, WhileOthersPollAndCompletionsCome) {
    constexpr std::uint64_t messages = 3000, most_waiting = 32;
    must(queue.resize(most_waiting));
    std::atomic<std::uint64_t> polled{0};
    std::atomic<bool> done{false};
    const std::jthread resizer([&] {
        std::mt19937 random(1);
        std::uniform_int_distribution entries(static_cast<int>(most_waiting), 2000);
        while (!done) {
            EXPECT_TRUE(works(queue.resize(entries(random))));
            // The others need the queue's lock.
            std::this_thread::sleep_for(1ms);
        }
    });
    const std::jthread sender([&] {
        for (std::uint64_t id = 1; id <= messages && !done; ++id) {
            while (id > polled + most_waiting && !done) std::this_thread::yield();
            send(id);
        }
    });
    for (std::uint64_t id = 1; id <= messages && !HasFailure(); ++id) {
        expect(id, id);
        polled = id;
    }
    done = true;
}

}  // namespace
}  // namespace verbs_test
