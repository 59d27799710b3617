// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What verbs promise to threads: anyone may post and poll at any time.
#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <thread>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

constexpr std::size_t per_thread = 1000;
constexpr std::size_t threads = 3;

/// Posts sends that carry their own number; waits while the queue is full.
softrnic::result<void> send_numbers(softrnic::qp_view qp, std::uint64_t first) {
    const softrnic::deadline until(patience);
    for (std::uint64_t n = first; n < first + per_thread;) {
        const auto posted = qp.send_inline(std::as_bytes(std::span(&n, 1)), {.id = n});
        if (posted)
            ++n;
        else if (posted.error().code != ENOMEM || until.expired())
            return posted;
        else
            std::this_thread::yield();
    }
    return {};
}

/// Receives that many numbers, posting each receive anew; they are sorted in the end.
std::vector<std::uint64_t> receive_numbers(softrnic::connection& end, softrnic::buffer& inbox,
                                           std::size_t count) {
    std::vector<std::uint64_t> numbers;
    numbers.reserve(count);
    while (numbers.size() < count) {
        const ibv_wc wc = next(end.recv_cq());
        if (wc.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(wc.status));
        const auto* slot = reinterpret_cast<const std::uint64_t*>(inbox.bytes().data());
        numbers.push_back(slot[wc.wr_id]);
        must(end.qp().recv(inbox.sub(wc.wr_id * 8, 8), wc.wr_id));
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

/// More receives than the sender can have outstanding: each message finds one.
TEST(Concurrency, ThreadsPostToOneQueuePair) {
    constexpr std::size_t total = threads * per_thread;
    constexpr std::uint32_t receives = 4096;
    softrnic::queue_config server = wide;
    server.max_recv_wr = receives;
    softrnic::cq sends = must(softrnic::cq::create(device(), total));
    softrnic::queue_config client = wide;
    client.send_cq = &sends;
    pair ends = connect_pair({.client = client, .server = server});
    softrnic::buffer inbox = must(softrnic::buffer::create(
        ends.server.domain(), std::size_t{receives} * 8, access::local_write));
    for (std::uint64_t i = 0; i < receives; ++i)
        must(ends.server.qp().recv(inbox.sub(i * 8, 8), i));

    std::vector<std::future<softrnic::result<void>>> posters;
    posters.reserve(threads);
    for (std::size_t t = 0; t < threads; ++t)
        posters.push_back(std::async(std::launch::async, send_numbers, ends.client.qp(),
                                     std::uint64_t{t} * per_thread));
    auto sent = std::async(std::launch::async, [&] { return next(ends.client.send_cq(), total); });
    const std::vector<std::uint64_t> numbers = receive_numbers(ends.server, inbox, total);

    for (auto& poster : posters) EXPECT_TRUE(works(poster.get()));
    for (const ibv_wc& wc : sent.get()) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    for (std::size_t i = 0; i < total; ++i) ASSERT_EQ(numbers[i], i);
}

/// Two threads poll one queue: each completion is seen once.
TEST(Concurrency, ThreadsPollOneQueue) {
    constexpr std::size_t total = 2000;
    pair ends = connect_pair({.server = {.max_recv_wr = total}});
    for (std::uint64_t i = 0; i < total; ++i) must(ends.server.qp().recv(softrnic::no_slices, i));
    std::vector<std::atomic<int>> seen(total);
    std::atomic<std::size_t> left = total;
    const auto poll = [&] {
        for (softrnic::deadline until = patience; left > 0 && !until.expired();) {
            ibv_wc wc{};
            if (must(ends.server.recv_cq().poll(std::span(&wc, 1))).empty()) continue;
            ++seen[wc.wr_id];
            --left;
            until = patience;
        }
    };
    auto one = std::async(std::launch::async, poll);
    auto other = std::async(std::launch::async, poll);
    for (std::size_t i = 0; i < total; ++i) {
        must(ends.client.qp().send(softrnic::no_slices, {.id = i}));
        expect_good(next(ends.client.send_cq()), i, IBV_WC_SEND);
    }
    one.get();
    other.get();
    EXPECT_EQ(left, 0U);
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
}

/// One write and read after the other, compared each time.
void echo(pair& ends, std::uint64_t seed) {
    constexpr std::uint32_t size = 100'000;
    scattered from(ends.client.domain(), size, 3, access::none);
    const scattered far(ends.server.domain(), size, 1,
                        access::local_write | access::remote_write | access::remote_read);
    for (std::uint64_t round = 0; round < 10; ++round) {
        const scattered back(ends.client.domain(), size, 2, access::local_write);
        const message m = make_message(size, seed + round);
        from.put(m);
        must(ends.client.qp().write(from.slices(), far.remote(), {.id = 1}));
        must(ends.client.qp().read(back.slices(), far.remote(), {.id = 2}));
        expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_WRITE);
        expect_good(next(ends.client.send_cq()), 2, IBV_WC_RDMA_READ);
        back.expect(m);
    }
}

TEST(Concurrency, ConnectionsAtTheSameTime) {
    std::array<pair, 4> pairs{connect_pair(), connect_pair(), connect_pair(), connect_pair()};
    std::vector<std::future<void>> workers;
    workers.reserve(pairs.size());
    for (pair& ends : pairs)
        workers.push_back(std::async(std::launch::async, [&ends] { echo(ends, 17); }));
    for (auto& worker : workers) worker.get();
}

/// Disconnecting while another thread posts: all that was taken completes, once and in order.
TEST(Concurrency, PostingIntoTheEnd) {
    for (int round = 0; round < 10; ++round) {
        pair ends = connect_pair();
        const softrnic::buffer memory =
            must(softrnic::buffer::create(ends.client.domain(), 8192, access::none));
        const softrnic::buffer target = must(softrnic::buffer::create(
            ends.server.domain(), 8192, access::local_write | access::remote_write));
        auto ender = std::async(std::launch::async, [&] {
            std::this_thread::sleep_for(10ms);
            return round % 2 == 0 ? ends.client.disconnect() : ends.server.qp().to_error();
        });
        std::uint64_t posted = 0;
        std::uint64_t completed = 0;
        std::uint64_t flushed = 0;
        for (const softrnic::deadline until = patience; flushed < 5 && !until.expired();) {
            if (ends.client.qp().write(memory.all(), target.remote(), {.id = posted})) ++posted;
            if (posted - completed < 32) continue;
            const ibv_wc wc = next(ends.client.send_cq());
            EXPECT_EQ(wc.wr_id, completed++);
            flushed += wc.status == IBV_WC_WR_FLUSH_ERR ? 1 : 0;
        }
        for (; completed < posted; ++completed)
            expect_status(next(ends.client.send_cq()), completed, IBV_WC_WR_FLUSH_ERR);
        EXPECT_TRUE(works(ender.get()));
        expect_broken(ends.client);
    }
}

}  // namespace
}  // namespace verbs_test
