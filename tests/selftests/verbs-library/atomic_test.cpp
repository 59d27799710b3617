// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Atomic operations of RFC 7306: their results, that they are atomic, and what they may not touch.
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

constexpr access open_access =
    access::local_write | access::remote_write | access::remote_read | access::remote_atomic;
constexpr std::uint32_t word = sizeof(std::uint64_t);

class Atomics : public ::testing::Test {
protected:
    pair ends = connect_pair();
    softrnic::buffer target = must(softrnic::buffer::create(ends.server.domain(), 64, open_access));
    softrnic::buffer before =
        must(softrnic::buffer::create(ends.client.domain(), 64, access::local_write));

    std::uint64_t& value(std::size_t offset = 0) {
        return *reinterpret_cast<std::uint64_t*>(target.bytes().data() + offset);
    }
    std::uint64_t was(std::size_t offset = 0) {
        std::uint64_t v = 0;
        std::memcpy(&v, before.bytes().data() + offset, sizeof(v));
        return v;
    }
    [[nodiscard]] softrnic::remote_slice at(std::uint64_t offset) const {
        return target.remote().sub(offset, word);
    }
};

TEST_F(Atomics, TheDeviceOffersThem) {
    EXPECT_EQ(must(device().query()).atomic_cap, IBV_ATOMIC_GLOB);
}

TEST_F(Atomics, FetchAdd) {
    value() = 40;
    must(ends.client.qp().fetch_add(before.sub(0, word), at(0), 2, {.id = 1}));
    const ibv_wc wc = next(ends.client.send_cq());
    expect_good(wc, 1, IBV_WC_FETCH_ADD);
    EXPECT_EQ(wc.byte_len, word);
    EXPECT_EQ(was(), 40U);
    EXPECT_EQ(value(), 42U);
    EXPECT_EQ(value(8), 0U);
}

TEST_F(Atomics, FetchAddWrapsAround) {
    value(24) = ~0ULL;
    must(ends.client.qp().fetch_add(before.sub(8, word), at(24), 3));
    expect_good(next(ends.client.send_cq()), 0, IBV_WC_FETCH_ADD);
    EXPECT_EQ(was(8), ~0ULL);
    EXPECT_EQ(value(24), 2U);
}

TEST_F(Atomics, CompareSwap) {
    value() = 7;
    must(ends.client.qp().compare_swap(before.sub(0, word), at(0), 7, 9, {.id = 1}));
    must(ends.client.qp().compare_swap(before.sub(8, word), at(0), 7, 11, {.id = 2}));
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_COMP_SWAP);
    expect_good(next(ends.client.send_cq()), 2, IBV_WC_COMP_SWAP);
    EXPECT_EQ(was(0), 7U);
    EXPECT_EQ(was(8), 9U);
    EXPECT_EQ(value(), 9U);
}

/// Reads and atomics are answered in the order in which they were posted.
TEST_F(Atomics, BetweenReads) {
    value() = 1;
    const softrnic::qp_view qp = ends.client.qp();
    for (std::uint64_t i = 0; i < 10; ++i) {
        must(qp.read(before.sub(0, 16), target.remote().sub(0, 16), {.id = 2 * i}));
        must(qp.fetch_add(before.sub(16, word), at(0), 1, {.id = 2 * i + 1}));
    }
    for (std::uint64_t i = 0; i < 10; ++i) {
        expect_good(next(ends.client.send_cq()), 2 * i, IBV_WC_RDMA_READ);
        expect_good(next(ends.client.send_cq()), 2 * i + 1, IBV_WC_FETCH_ADD);
    }
    EXPECT_EQ(value(), 11U);
    EXPECT_EQ(was(16), 10U);
}

/// Two connections and this process count at once: nothing is lost.
TEST_F(Atomics, AgainstOthersAndTheProcessor) {
    constexpr int rounds = 300;
    pair more = connect_pair(
        {.server = {.max_send_wr = 8, .max_recv_wr = 8, .domain = &ends.server.domain()}});
    const softrnic::buffer room =
        must(softrnic::buffer::create(more.client.domain(), word, access::local_write));
    std::atomic<bool> stop = false;
    std::uint64_t mine = 0;
    std::thread processor([&] {
        for (; !stop; ++mine) std::atomic_ref(value()).fetch_add(1);
    });
    for (int i = 0; i < rounds; ++i) {
        must(ends.client.qp().fetch_add(before.sub(0, word), at(0), 1));
        must(more.client.qp().fetch_add(room.all(), at(0), 1));
        expect_good(next(ends.client.send_cq()), 0, IBV_WC_FETCH_ADD);
        expect_good(next(more.client.send_cq()), 0, IBV_WC_FETCH_ADD);
    }
    stop = true;
    processor.join();
    EXPECT_EQ(value(), mine + 2 * rounds);
}

TEST_F(Atomics, ToAnAddressThatIsNotAligned) {
    must(ends.client.qp().fetch_add(before.sub(0, word), at(4), 1, {.id = 1}));
    expect_status(next(ends.client.send_cq()), 1, IBV_WC_REM_INV_REQ_ERR);
    expect_broken(ends.client);
    EXPECT_EQ(value(), 0U);
    EXPECT_EQ(value(8), 0U);
}

TEST_F(Atomics, OfAnotherLength) {
    must(ends.client.qp().fetch_add(before.sub(0, 4), at(0), 1, {.id = 1}));
    expect_status(next(ends.client.send_cq()), 1, IBV_WC_LOC_LEN_ERR);
    expect_broken(ends.client);
    EXPECT_EQ(value(), 0U);
}

TEST_F(Atomics, IntoMemoryThatMayNotBeWritten) {
    const softrnic::buffer constant =
        must(softrnic::buffer::create(ends.client.domain(), word, access::none));
    must(ends.client.qp().fetch_add(constant.all(), at(0), 1, {.id = 1}));
    expect_status(next(ends.client.send_cq()), 1, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(value(), 0U);
}

TEST_F(Atomics, OfARegionThatGrantsOnlyReadsAndWrites) {
    softrnic::buffer other = must(
        softrnic::buffer::create(ends.server.domain(), word,
                                 access::local_write | access::remote_write | access::remote_read));
    must(ends.client.qp().fetch_add(before.sub(0, word), other.remote(), 1, {.id = 1}));
    expect_status(next(ends.client.send_cq()), 1, IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(saw_event(ends.server.qp().native(), IBV_EVENT_QP_ACCESS_ERR));
    EXPECT_EQ(other.bytes()[0], std::byte{0});
}

TEST_F(Atomics, OfAQueuePairThatForbidsThem) {
    must(ends.server.qp().set_access(access::remote_write | access::remote_read));
    must(ends.client.qp().fetch_add(before.sub(0, word), at(0), 1, {.id = 1}));
    expect_status(next(ends.client.send_cq()), 1, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(value(), 0U);
}

TEST_F(Atomics, BeyondTheEnd) {
    must(ends.client.qp().compare_swap(before.sub(0, word),
                                       {target.remote().addr + 64, word, target.remote().rkey}, 0,
                                       1, {.id = 1}));
    expect_status(next(ends.client.send_cq()), 1, IBV_WC_REM_ACCESS_ERR);
}

}  // namespace
}  // namespace verbs_test
