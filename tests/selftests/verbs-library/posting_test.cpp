// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Posting: what is refused at once, with which errno and which bad_wr; odd requests that are fine.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::local_slice;

constexpr softrnic::queue_config small{
    .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 2, .max_inline = 64};

TEST(Posting, AFullSendQueue) {
    pair ends = connect_pair({.client = small});
    const std::size_t room = ends.client.granted().max_send_wr;
    for (std::size_t i = 0; i < room; ++i) must(ends.server.qp().recv(softrnic::no_slices));
    softrnic::send_batch batch;
    for (std::size_t i = 0; i < room + 2; ++i) batch.send(softrnic::no_slices, {.id = i});
    EXPECT_TRUE(fails_with(batch.post(ends.client.qp().native()), ENOMEM));
    EXPECT_EQ(batch.accepted(), room);
    for (std::size_t i = 0; i < room; ++i) expect_good(next(ends.client.send_cq()), i, IBV_WC_SEND);
    // There is room again.
    must(ends.server.qp().recv(softrnic::no_slices));
    EXPECT_TRUE(works(ends.client.qp().send(softrnic::no_slices, {.id = 50})));
    expect_good(next(ends.client.send_cq()), 50, IBV_WC_SEND);
}

TEST(Posting, AFullReceiveQueue) {
    pair ends = connect_pair({.client = small});
    const std::size_t room = ends.client.granted().max_recv_wr;
    softrnic::recv_batch batch;
    for (std::size_t i = 0; i < room + 2; ++i) batch.recv(softrnic::no_slices, i);
    EXPECT_TRUE(fails_with(batch.post(ends.client.qp().native()), ENOMEM));
    EXPECT_EQ(batch.accepted(), room);
}

/// Posts empty sends until one is refused, which must be for want of room. How many were taken.
std::size_t fill(softrnic::connection& end, std::uint64_t first_id,
                 softrnic::send_flag flags = softrnic::send_flag::signaled) {
    constexpr std::size_t tries = 64;
    for (std::size_t i = 0; i < tries; ++i) {
        const auto posted =
            end.qp().send(softrnic::no_slices, {.id = first_id + i, .flags = flags});
        if (posted) continue;
        EXPECT_TRUE(fails_with(posted, ENOMEM));
        return i;
    }
    return tries;
}

/// A connection whose client completes into `sends`, and whose server has receives to spare.
pair connect_small(softrnic::cq& sends, bool signal_all = false) {
    softrnic::queue_config client = small;
    client.send_cq = &sends;
    client.signal_all = signal_all;
    pair ends = connect_pair({.client = client});
    for (std::size_t i = 0; i < 64; ++i) must(ends.server.qp().recv(softrnic::no_slices));
    return ends;
}

class FullSendQueue : public ::testing::TestWithParam<bool> {};

/// A request counts as outstanding until its completion has been polled: who posts until ENOMEM
/// cannot overflow a completion queue that is as deep as the send queue.
TEST_P(FullSendQueue, ProtectsItsCompletionQueue) {
    const auto flags = GetParam() ? softrnic::send_flag::none : softrnic::send_flag::signaled;
    softrnic::cq sends = must(softrnic::cq::create(device(), 4));
    pair ends = connect_small(sends, GetParam());
    const std::size_t room = ends.client.granted().max_send_wr;
    EXPECT_EQ(fill(ends.client, 0, flags), room);
    std::this_thread::sleep_for(moment);  // all are sent, and none is polled
    EXPECT_EQ(fill(ends.client, 100, flags), 0U);
    for (std::uint64_t id = 0; id < room; ++id) {
        expect_good(next(sends), id, IBV_WC_SEND);
        EXPECT_EQ(fill(ends.client, id + room, flags), 1U);
    }
    for (std::uint64_t id = room; id < 2 * room; ++id) expect_good(next(sends), id, IBV_WC_SEND);
    EXPECT_EQ(must(ends.client.qp().state()), IBV_QPS_RTS);
}

INSTANTIATE_TEST_SUITE_P(Posting, FullSendQueue, ::testing::Bool(),
                         [](const auto& all) { return all.param ? "SignalAll" : "Signaled"; });

/// What is not signaled, and works, holds nothing.
TEST(Posting, UnsignaledRequestsNeedNoPoll) {
    softrnic::cq sends = must(softrnic::cq::create(device(), 4));
    pair ends = connect_small(sends);
    const softrnic::deadline until = patience;
    for (int posted = 0; posted < 40 && !until.expired();)
        posted += ends.client.qp().send(softrnic::no_slices, {.flags = softrnic::send_flag::none})
                      ? 1
                      : 0;
    EXPECT_FALSE(until.expired());
    expect_quiet(sends);
}

/// In error every request completes, signaled or not; those that had worked before do not.
TEST(Posting, AFullSendQueueProtectsItsCompletionQueueFromFlushes) {
    softrnic::cq sends = must(softrnic::cq::create(device(), 4));
    pair ends = connect_small(sends);
    const std::size_t room = ends.client.granted().max_send_wr;
    for (std::size_t i = 0; i + 1 < room; ++i)
        must(ends.client.qp().send(softrnic::no_slices, {.flags = softrnic::send_flag::none}));
    next(ends.server.recv_cq(), room - 1);
    must(ends.client.qp().to_error());
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(fill(ends.client, 10, softrnic::send_flag::none), room);
        std::this_thread::sleep_for(moment);
        EXPECT_EQ(fill(ends.client, 20, softrnic::send_flag::none), 0U);
        for (std::uint64_t id = 0; id < room; ++id)
            expect_status(next(sends), 10 + id, IBV_WC_WR_FLUSH_ERR);
        ibv_wc wc{};
        EXPECT_TRUE(must(sends.poll(std::span(&wc, 1))).empty());
    }
}

TEST(Posting, NoQueueToPostTo) {
    pair ends = connect_pair(
        {.server = {.max_send_wr = 16, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0}});
    EXPECT_FALSE(ends.server.qp().recv(softrnic::no_slices));
    must(ends.client.qp().recv(softrnic::no_slices, 1));
    must(ends.client.qp().write(softrnic::no_slices, {}));  // the initiator speaks first
    must(ends.server.qp().send(softrnic::no_slices));
    next(ends.client.recv_cq());
}

TEST(Posting, TooManySlices) {
    pair ends = connect_pair({.client = small});
    const std::vector<local_slice> many(ends.client.granted().max_send_sge + 1);
    EXPECT_TRUE(fails_with(ends.client.qp().send(many), EINVAL));
    EXPECT_TRUE(fails_with(ends.client.qp().read(many, {}), EINVAL));
    const std::vector<local_slice> room(ends.client.granted().max_recv_sge + 1);
    EXPECT_TRUE(fails_with(ends.client.qp().recv(room), EINVAL));
}

TEST(Posting, TooLongInline) {
    pair ends = connect_pair({.client = small});
    const message m = make_message(ends.client.granted().max_inline_data + 1, 1);
    EXPECT_TRUE(fails_with(ends.client.qp().send_inline(m), EINVAL));
}

TEST(Posting, AMessageOverTwoGigabytes) {
    pair ends = connect_pair({.client = small});
    const std::array<local_slice, 2> huge{local_slice{0, 0x80000000U, 0}, local_slice{0, 1, 0}};
    EXPECT_TRUE(fails_with(ends.client.qp().send(huge), EINVAL));
}

TEST(Posting, UnknownOperation) {
    pair ends = connect_pair();
    for (const auto opcode : {IBV_WR_TSO, IBV_WR_DRIVER1}) {
        ibv_send_wr wr{};
        wr.opcode = opcode;
        ibv_send_wr* bad = nullptr;
        EXPECT_EQ(ibv_post_send(ends.client.qp().native(), &wr, &bad), EINVAL);
        EXPECT_EQ(bad, &wr);
    }
}

TEST(Posting, WhatComesBeforeTheBadOneIsDone) {
    pair ends = connect_pair({.client = small});
    const std::vector<local_slice> many(ends.client.granted().max_send_sge + 1);
    must(ends.server.qp().recv(softrnic::no_slices, 5));
    softrnic::send_batch batch;
    batch.send(softrnic::no_slices, {.id = 1});
    batch.send(many, {.id = 2});
    batch.send(softrnic::no_slices, {.id = 3});
    EXPECT_TRUE(fails_with(batch.post(ends.client.qp().native()), EINVAL));
    EXPECT_EQ(batch.accepted(), 1U);
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_SEND);
    expect_good(next(ends.server.recv_cq()), 5, IBV_WC_RECV);
    expect_quiet(ends.client.send_cq());
}

/// The kernel may be told of a stream of small messages in batches, but is not left to wait for the
/// end of one by somebody who neither polls nor posts again.
TEST(Posting, TheEndOfAStreamIsSent) {
    constexpr int rounds = 30;
    constexpr int messages = 200;
    pair ends = connect_pair({.client = {.max_send_wr = messages + 1}});
    for (std::uint64_t round = 0; round < rounds; ++round) {
        must(ends.server.qp().recv(softrnic::no_slices, round));
        for (int i = 0; i < messages; ++i)
            must(ends.client.qp().write(softrnic::no_slices, {},
                                        {.flags = softrnic::send_flag::none}));
        must(ends.client.qp().send(softrnic::no_slices, {.id = round}));
        expect_good(next(ends.server.recv_cq()), round, IBV_WC_RECV);
        expect_good(next(ends.client.send_cq()), round, IBV_WC_SEND);
    }
}

/// A thread that is cancelled while it posts would leave what it has posted without a doorbell, and
/// the queue locked.
TEST(Posting, IsNoPlaceToBeCancelledAt) {
    pair ends = connect_pair();
    std::atomic<bool> posted = false;
    std::thread poster([&] {
        pthread_cancel(pthread_self());
        posted = static_cast<bool>(ends.client.qp().write(softrnic::no_slices, {}, {.id = 1}));
        // What is left of a cancelled thread would be the next test's.
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    });
    poster.join();
    EXPECT_TRUE(posted);
    if (posted) expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_WRITE);
}

TEST(Posting, BeforeTheConnection) {
    softrnic::connection end = must(softrnic::resolve(server_address(1)));
    must(end.create_queues(small));
    EXPECT_TRUE(fails_with(end.qp().send(softrnic::no_slices), EINVAL));
    EXPECT_TRUE(works(end.qp().recv(softrnic::no_slices)));
}

TEST(Posting, EmptySlicesAreAnEmptyMessage) {
    pair ends = connect_pair();
    const std::vector<local_slice> empty(16);
    must(ends.server.qp().recv(empty, 1));
    must(ends.client.qp().send(empty, {.id = 2}));
    const ibv_wc wc = next(ends.server.recv_cq());
    expect_good(wc, 1, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, 0U);
    expect_good(next(ends.client.send_cq()), 2, IBV_WC_SEND);
}

/// A write or read of nothing looks at no key.
TEST(Posting, EmptyRdmaNeedsNoKey) {
    pair ends = connect_pair();
    must(ends.client.qp().write(softrnic::no_slices, {.addr = 1, .rkey = 2}, {.id = 1}));
    must(ends.client.qp().read(softrnic::no_slices, {.addr = 1, .rkey = 2}, {.id = 2}));
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_WRITE);
    expect_good(next(ends.client.send_cq()), 2, IBV_WC_RDMA_READ);
    EXPECT_EQ(must(ends.server.qp().state()), IBV_QPS_RTS);
}

TEST(Posting, InlineBytesAreFreeAtOnceAndNeedNoKey) {
    constexpr std::size_t count = 20;
    pair ends = connect_pair();
    const scattered to(ends.server.domain(), 512, 1, access::local_write);
    for (std::size_t i = 0; i < count; ++i) {
        const message original = make_message(i % 2 == 0 ? 256 : 512, i);
        message m = original;
        must(ends.server.qp().recv(to.slices(), i));
        must(ends.client.qp().send_inline(m, {.id = i}));
        std::fill(m.begin(), m.end(), std::byte{0});
        EXPECT_EQ(next(ends.server.recv_cq()).byte_len, original.size());
        const auto got = const_cast<scattered&>(to).memory().bytes().subspan(
            to.slices().front().addr -
            reinterpret_cast<std::uintptr_t>(const_cast<scattered&>(to).memory().bytes().data()));
        EXPECT_TRUE(std::equal(original.begin(), original.end(), got.begin()));
    }
}

TEST(Posting, ARegionAtAnAddressOfItsOwn) {
    constexpr std::uint64_t iova = 0x123450000;
    constexpr std::uint32_t size = 9000;
    pair ends = connect_pair();
    message target(size + 5000);
    // The offset within the page must be that of the memory.
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto offset = reinterpret_cast<std::uintptr_t>(target.data()) % page;
    const softrnic::mr region = must(
        softrnic::mr::create_at(ends.server.domain(), target, iova + offset,
                                access::local_write | access::remote_write | access::remote_read));
    EXPECT_EQ(region.remote().addr, iova + offset);
    const message m = make_message(size, 1);
    scattered from(ends.client.domain(), size, 3, access::none);
    from.put(m);
    scattered back(ends.client.domain(), size, 1, access::local_write);
    must(ends.client.qp().write(from.slices(), region.remote_sub(100, size), {.id = 1}));
    must(ends.client.qp().read(back.slices(), region.remote_sub(100, size), {.id = 2}));
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_WRITE);
    expect_good(next(ends.client.send_cq()), 2, IBV_WC_RDMA_READ);
    back.expect(m);
    EXPECT_TRUE(std::equal(m.begin(), m.end(), target.begin() + 100));

    // Locally, too: it is the iova that counts.
    must(ends.client.qp().recv(back.slices(), 3));
    must(ends.server.qp().send(region.sub(100, size)));
    expect_good(next(ends.client.recv_cq()), 3, IBV_WC_RECV);
    back.expect(m);
}

/// What a program that polls its memory for the last byte of a message would see.
bool comes(std::byte& last, std::byte value) {
    const auto end = std::chrono::steady_clock::now() + patience;
    const std::atomic_ref polled(last);
    while (polled.load(std::memory_order_acquire) != value) {
        if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
}

/// The end of a Write is placed in another way than the rest of it.
TEST(Posting, WritesOfEachLengthAtEachAlignment) {
    constexpr std::uint32_t most = 200, around = 16;
    constexpr auto guard = std::byte{0x5a};
    pair ends = connect_pair();
    message from = make_message(most, 1);
    std::ranges::replace(from, guard, std::byte{0});
    message target(most + 3 * around);
    const softrnic::mr source =
        must(softrnic::mr::create(ends.client.domain(), std::span(from), access::none));
    const softrnic::mr region = must(softrnic::mr::create(
        ends.server.domain(), std::span(target), access::local_write | access::remote_write));
    std::uint64_t id = 0;
    for (std::uint32_t length = 1; length <= most; ++length) {
        for (std::uint32_t at = around; at < around + sizeof(std::uint64_t); ++at) {
            std::ranges::fill(target, guard);
            must(ends.client.qp().write(source.sub(0, length), region.remote_sub(at, length),
                                        {.id = ++id}));
            expect_good(next(ends.client.send_cq()), id, IBV_WC_RDMA_WRITE);
            ASSERT_TRUE(comes(target[at + length - 1], from[length - 1]));
            message expected(target.size(), guard);
            std::copy_n(from.begin(), length, expected.begin() + at);
            ASSERT_EQ(target, expected) << length << " bytes at " << at;
        }
    }
}

TEST(Posting, TheLastByteOfAllAddresses) {
    constexpr std::uint32_t size = 65536;  // whole pages, of whatever size
    alignas(size) static std::array<std::byte, size> target{};
    pair ends = connect_pair();
    const softrnic::mr region = must(
        softrnic::mr::create_at(ends.server.domain(), target, std::uint64_t{0} - size,
                                access::local_write | access::remote_write | access::remote_read));
    const message m = make_message(100, 1);
    scattered from(ends.client.domain(), m.size(), 1, access::none);
    from.put(m);
    scattered back(ends.client.domain(), m.size(), 1, access::local_write);
    const softrnic::remote_slice end = region.remote_sub(size - m.size(), m.size());
    must(ends.client.qp().write(from.slices(), end, {.id = 1}));
    must(ends.client.qp().read(back.slices(), end, {.id = 2}));
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_WRITE);
    expect_good(next(ends.client.send_cq()), 2, IBV_WC_RDMA_READ);
    back.expect(m);
}

}  // namespace
}  // namespace verbs_test
