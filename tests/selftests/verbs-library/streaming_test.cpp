// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Streams of small messages, for which the kernel lets the process wait with its doorbells: what
// is left when a stream stops leaves all the same, though the process never polls.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <string_view>
#include <thread>

#include "counters.hpp"
#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::send_flag;

constexpr std::uint32_t queue_depth = 1024;

softrnic::queue_config sends_to(softrnic::cq& completions) {
    softrnic::queue_config config = wide;
    config.max_send_wr = queue_depth;
    config.send_cq = &completions;
    return config;
}

/// Writes from one end to the other that put ever greater numbers into one place. None of them
/// completes visibly.
class placed {
public:
    placed(softrnic::connection& from, const softrnic::connection& to)
        : from_(from),
          to_(must(softrnic::buffer::create(to.domain(), sizeof(std::uint64_t),
                                            access::local_write | access::remote_write))) {}

    void post(std::uint64_t count) {
        for (const std::uint64_t end = posted_ + count; posted_ < end;) {
            const std::uint64_t number = posted_ + 1;
            const auto posted = from_.qp().write_inline(std::as_bytes(std::span(&number, 1)),
                                                        to_.remote(), {.flags = send_flag::none});
            if (posted)
                ++posted_;
            else if (posted.error().code == ENOMEM)
                std::this_thread::yield();
            else
                must(posted);
        }
    }
    /// All of them arrive in time.
    void expect_all() {
        const softrnic::deadline until(patience);
        while (arrived() != posted_ && !until.expired()) std::this_thread::sleep_for(1ms);
        EXPECT_EQ(arrived(), posted_);
    }
    /// That number arrives in time. Does not sleep.
    [[nodiscard]] bool wait_for(std::uint64_t number) {
        const softrnic::deadline until(patience);
        while (arrived() < number && !until.expired()) std::this_thread::yield();
        return arrived() >= number;
    }

private:
    [[nodiscard]] std::uint64_t arrived() {
        return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to_.bytes().data())).load();
    }

    softrnic::connection& from_;
    softrnic::buffer to_;
    std::uint64_t posted_ = 0;
};

/// The same with a connection of its own.
class stream {
public:
    explicit stream(softrnic::cq& completions)
        : ends_(std::make_unique<pair>(connect_pair({.client = sends_to(completions)}))),
          writes_(ends_->client, ends_->server) {}

    void post(std::uint64_t count) { writes_.post(count); }
    void expect_all() { writes_.expect_all(); }

private:
    std::unique_ptr<pair> ends_;  // in one place: the other refers to it
    placed writes_;
};

/// How many times as long things may take: where it is more, the kernel checks itself, and a post
/// takes longer than what passes for a stream.
bool is_slow_kernel() {
    const char* slow = std::getenv("SLOW");
    return slow != nullptr && std::string_view(slow) != "1";
}

/// Fewer doorbells than posts since then.
void expect_batched(std::uint64_t before, std::uint64_t posts) {
    settle_counters();
    const std::uint64_t rung = counter("doorbells") - before;
    if (rung >= posts && is_slow_kernel())
        GTEST_SKIP() << "too slow for a stream: each post had its doorbell";
    EXPECT_LT(rung, posts);
}

softrnic::cq completions_of(std::size_t streams) {
    return must(softrnic::cq::create(device(), static_cast<int>(streams * queue_depth)));
}

TEST(Streaming, WhatIsLeftLeaves) {
    constexpr std::uint64_t count = 1000;
    softrnic::cq completions = completions_of(1);
    stream s(completions);
    const std::uint64_t before = counter("doorbells");
    for (std::uint64_t rest = 1; rest < 8; ++rest) {
        s.post(count + rest);
        s.expect_all();
    }
    // Else nothing was left.
    expect_batched(before, 7 * count);
}

TEST(Streaming, WhatIsLeftInManyQueuePairsLeaves) {
    constexpr std::size_t count = 80;
    constexpr int rounds = 20;
    softrnic::cq completions = completions_of(count);
    std::vector<stream> streams;
    streams.reserve(count);
    for (std::size_t i = 0; i < count; ++i) streams.emplace_back(completions);
    std::mt19937 random(7);  // NOLINT: the same each time
    for (int round = 0; round < rounds; ++round) {
        for (stream& s : streams) s.post(1 + random() % 100);
        for (stream& s : streams) s.expect_all();
    }
}

/// What they bring is no answer that the process does not wait for at its completion queue.
TEST(Streaming, ReadsOneByOne) {
    constexpr std::uint64_t count = 4000;
    constexpr std::uint64_t window = 100;
    softrnic::cq completions = completions_of(1);
    pair ends = connect_pair({.client = sends_to(completions)});
    softrnic::buffer from =
        must(softrnic::buffer::create(ends.server.domain(), window * 8, access::remote_read));
    softrnic::buffer to =
        must(softrnic::buffer::create(ends.client.domain(), window * 8, access::local_write));
    const message original = make_message(window * 8, 1);
    std::copy(original.begin(), original.end(), from.bytes().begin());
    settle_counters();
    const std::uint64_t before = counter("doorbells");
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t place = i % window * 8;
        const bool last = (i + 1) % window == 0;
        must(ends.client.qp().read(
            to.sub(place, 8), from.region().remote_sub(place, 8),
            {.id = i, .flags = last ? send_flag::signaled : send_flag::none}));
        if (!last) continue;
        expect_good(next(completions), i, IBV_WC_RDMA_READ);
        EXPECT_TRUE(std::equal(original.begin(), original.end(), to.bytes().begin()));
        std::ranges::fill(to.bytes(), std::byte{0});
    }
    expect_batched(before, count);
}

/// At least every other post since then had a doorbell.
void expect_rung(std::uint64_t before, std::uint64_t posts) {
    settle_counters();
    EXPECT_GE(2 * (counter("doorbells") - before), posts);
}

/// Who posts now and then, and never polls, is not made to wait each time.
TEST(Streaming, PacedMessages) {
    constexpr std::uint64_t count = 4000;
    softrnic::cq completions = completions_of(1);
    stream s(completions);
    settle_counters();
    const std::uint64_t before = counter("doorbells");
    auto next_post = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        s.post(1);
        next_post += 40us;
        while (std::chrono::steady_clock::now() < next_post) {
        }
    }
    s.expect_all();
    expect_rung(before, count);
}

/// The process waits for each answer where the provider does not see it. That it had to wait for
/// the kernel to look by itself shows when the answer is there.
TEST(Streaming, BurstsWithAnAnswerEach) {
    constexpr std::uint64_t burst = 150;
    constexpr std::uint64_t rounds = 100;
    softrnic::cq completions = completions_of(1);
    pair ends = connect_pair({.client = sends_to(completions)});
    placed there(ends.client, ends.server);
    placed back(ends.server, ends.client);
    const std::jthread peer([&back, &there] {
        for (std::uint64_t i = 1; i <= rounds; ++i) {
            if (!there.wait_for(i * burst)) return;
            back.post(1);
        }
    });
    std::uint64_t before = 0;
    for (std::uint64_t i = 1; i <= rounds; ++i) {
        if (i == rounds / 2) {
            settle_counters();
            before = counter("doorbells");
        }
        there.post(burst);
        ASSERT_TRUE(back.wait_for(i));
    }
    expect_rung(before, rounds / 2 * burst);
}

/// Reads that wait for others to be answered have been seen: the process is not late with them, and
/// goes on as a stream.
TEST(Streaming, ReadsThatWaitForTheirTurn) {
    constexpr std::uint64_t bursts = 60;
    constexpr std::uint64_t burst = 100;
    constexpr std::uint32_t size = 8192;
    softrnic::cq completions = completions_of(1);
    pair ends = connect_pair({.client = sends_to(completions), .connect = {.initiator_depth = 16}});
    const softrnic::buffer from =
        must(softrnic::buffer::create(ends.server.domain(), size, access::remote_read));
    softrnic::buffer to =
        must(softrnic::buffer::create(ends.client.domain(), size, access::local_write));
    settle_counters();
    const std::uint64_t before = counter("doorbells");
    for (std::uint64_t i = 0; i < bursts; ++i) {
        for (std::uint64_t left = burst; left-- > 0;) {
            must(ends.client.qp().read(
                to.sub(0, size), from.remote(),
                {.id = i, .flags = left == 0 ? send_flag::signaled : send_flag::none}));
        }
        expect_good(next(completions), i, IBV_WC_RDMA_READ);
    }
    settle_counters();
    const std::uint64_t rung = counter("doorbells") - before;
    if (is_slow_kernel()) GTEST_SKIP() << "perhaps too slow for a stream";
    EXPECT_LT(8 * rung, bursts * burst);
}

/// Rounds of one message each: all wait, and the doorbell for one brings the others along.
TEST(Streaming, OneMessageInEachOfManyQueuePairs) {
    constexpr std::size_t count = 40;
    softrnic::cq completions = completions_of(count);
    std::vector<stream> streams;
    streams.reserve(count);
    for (std::size_t i = 0; i < count; ++i) streams.emplace_back(completions);
    for (stream& s : streams) s.post(200);
    for (int round = 0; round < 200; ++round) {
        for (stream& s : streams) s.post(1);
    }
    for (stream& s : streams) s.expect_all();
}

/// A queue pair goes away while it is lazy, and while another one's doorbell looks after it.
TEST(Streaming, QueuePairsThatGoAway) {
    constexpr int rounds = 25;
    softrnic::cq completions = completions_of(3);
    stream lasting(completions);
    {
        const std::jthread others([&completions] {
            for (int round = 0; round < rounds; ++round) {
                stream first(completions);
                stream second(completions);
                first.post(100);
                second.post(100);
                if (round % 2 == 0) first.expect_all();
            }
        });
        for (int round = 0; round < 400; ++round) {
            lasting.post(70);
            if (round % 16 == 0) std::this_thread::sleep_for(1ms);
        }
    }
    lasting.expect_all();
}

}  // namespace
}  // namespace verbs_test
