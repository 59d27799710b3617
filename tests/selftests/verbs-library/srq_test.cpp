// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Shared receive queues.
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

class SharedReceives : public ::testing::Test {
protected:
    static constexpr std::uint32_t depth = 32;
    static constexpr std::uint32_t size = 1000;

    softrnic::pd domain = must(softrnic::pd::create(device()));
    softrnic::srq pool = must(softrnic::srq::create(domain, depth, 4));
    softrnic::buffer memory =
        must(softrnic::buffer::create(domain, std::size_t{depth} * size, access::local_write));

    [[nodiscard]] pair connect() {
        return connect_pair({.server = {.domain = &domain, .shared_receives = &pool}});
    }
    /// Receive number `id` in three slices, in its part of the memory.
    [[nodiscard]] softrnic::result<void> post(std::uint64_t id) {
        const softrnic::local_slice all = memory.sub((id % depth) * size, size);
        const std::vector<softrnic::local_slice> slices{all.sub(0, 100), all.sub(100, 1),
                                                        all.sub(101, size - 101)};
        return pool.recv(slices, id);
    }
    [[nodiscard]] message received(const ibv_wc& wc) {
        const auto part = memory.bytes().subspan((wc.wr_id % depth) * size, wc.byte_len);
        return {part.begin(), part.end()};
    }
};

TEST_F(SharedReceives, ServeSeveralQueuePairs) {
    std::array<pair, 3> pairs{connect(), connect(), connect()};
    for (std::uint64_t i = 0; i < 9; ++i) must(post(i));
    std::set<std::uint64_t> used;
    for (std::uint64_t round = 0; round < 3; ++round) {
        for (pair& ends : pairs) {
            const message m = make_message(size - round, round);
            scattered from(ends.client.domain(), m.size(), 1, access::none);
            from.put(m);
            must(ends.client.qp().send(from.slices(), {.id = round}));
            const ibv_wc wc = next(ends.server.recv_cq());
            EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
            EXPECT_EQ(wc.qp_num, ends.server.qp().number());
            EXPECT_TRUE(received(wc) == m);
            EXPECT_TRUE(used.insert(wc.wr_id).second) << "receive used twice: " << wc.wr_id;
            expect_good(next(ends.client.send_cq()), round, IBV_WC_SEND);
        }
    }
}

TEST_F(SharedReceives, LimitIsToldOnce) {
    pair ends = connect();
    for (std::uint64_t i = 0; i < 4; ++i) must(post(i));
    must(pool.set_limit(3));
    EXPECT_EQ(must(pool.query()).srq_limit, 3U);
    for (int i = 0; i < 2; ++i) {
        must(ends.client.qp().send(softrnic::no_slices));
        next(ends.server.recv_cq());
    }
    EXPECT_TRUE(saw_event(pool.native(), IBV_EVENT_SRQ_LIMIT_REACHED));
    EXPECT_EQ(must(pool.query()).srq_limit, 0U);
    must(ends.client.qp().send(softrnic::no_slices));
    next(ends.server.recv_cq());
    EXPECT_TRUE(fails_with(device().wait_async_event(moment), ETIMEDOUT));
}

/// Who takes nothing any more would not be told otherwise.
TEST_F(SharedReceives, LimitIsToldAtOnceIfFewerAreLeft) {
    for (std::uint64_t i = 0; i < 2; ++i) must(post(i));
    must(pool.set_limit(2));
    EXPECT_TRUE(fails_with(device().wait_async_event(moment), ETIMEDOUT));
    must(pool.set_limit(3));
    EXPECT_TRUE(saw_event(pool.native(), IBV_EVENT_SRQ_LIMIT_REACHED));
    EXPECT_EQ(must(pool.query()).srq_limit, 0U);
}

TEST_F(SharedReceives, LimitBeyondTheDepth) {
    EXPECT_TRUE(fails_with(pool.set_limit(depth + 1), EINVAL));
}

TEST_F(SharedReceives, ReportTheirSize) {
    const ibv_srq_attr attr = must(pool.query());
    EXPECT_GE(attr.max_wr, depth);
    EXPECT_GE(attr.max_sge, 4U);
}

TEST_F(SharedReceives, Full) {
    const std::uint32_t room = must(pool.query()).max_wr;
    softrnic::recv_batch batch;
    for (std::uint64_t i = 0; i < room + 3; ++i) batch.recv(softrnic::no_slices, i);
    EXPECT_TRUE(fails_with(batch.post(pool.native()), ENOMEM));
    EXPECT_EQ(batch.accepted(), room);
    const std::vector<softrnic::local_slice> many(must(pool.query()).max_sge + 1);
    EXPECT_TRUE(fails_with(pool.recv(many), EINVAL) || fails_with(pool.recv(many), ENOMEM));
}

TEST_F(SharedReceives, TooManySlices) {
    const std::vector<softrnic::local_slice> many(must(pool.query()).max_sge + 1);
    EXPECT_TRUE(fails_with(pool.recv(many), EINVAL));
}

/// A queue pair with a shared queue has none of its own.
TEST_F(SharedReceives, NoOtherReceives) {
    pair ends = connect();
    EXPECT_TRUE(fails_with(ends.server.qp().recv(softrnic::no_slices), EINVAL));
}

TEST_F(SharedReceives, Empty) {
    const stranger_to_itself with_anybody_else;
    pair ends = connect();
    must(ends.client.qp().send(softrnic::no_slices));
    EXPECT_TRUE(saw_event(ends.server.qp().native(), IBV_EVENT_QP_REQ_ERR));
    next(ends.client.send_cq());
    expect_broken(ends.client);
}

/// The end of one queue pair leaves the receives to the others.
TEST_F(SharedReceives, OutliveAQueuePair) {
    pair first = connect();
    pair second = connect();
    must(post(1));
    must(first.client.disconnect());
    EXPECT_TRUE(works(first.server.wait_disconnected(patience)));
    EXPECT_TRUE(saw_event(first.server.qp().native(), IBV_EVENT_QP_LAST_WQE_REACHED));
    expect_quiet(first.server.recv_cq());
    must(second.client.qp().send_inline(make_message(5, 1)));
    const ibv_wc wc = next(second.server.recv_cq());
    expect_good(wc, 1, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, 5U);
}

/// Who drains a shared queue waits for this, also where there never was a connection.
TEST_F(SharedReceives, AreLetGoWithoutAConnection) {
    const softrnic::cq queue = must(softrnic::cq::create(device(), 8));
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = queue.native();
    wanted.srq = pool.native();
    wanted.cap = {.max_send_wr = 4,
                  .max_recv_wr = 0,
                  .max_send_sge = 1,
                  .max_recv_sge = 0,
                  .max_inline_data = 0};
    wanted.qp_type = IBV_QPT_RC;
    const std::unique_ptr<ibv_qp, int (*)(ibv_qp*)> qp(ibv_create_qp(domain.native(), &wanted),
                                                       ibv_destroy_qp);
    ASSERT_TRUE(qp);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE), 0);
    EXPECT_TRUE(saw_event(qp.get(), IBV_EVENT_QP_LAST_WQE_REACHED));
}

/// An endpoint that brings no completion queue gets one for all receives that it may use.
TEST_F(SharedReceives, AllFitIntoTheOwnQueue) {
    softrnic::srq large = must(softrnic::srq::create(domain, 1000, 1));
    pair ends = connect_pair({.server = {.domain = &domain, .shared_receives = &large}});
    for (std::uint64_t i = 0; i < 1000; ++i) must(large.recv(softrnic::no_slices, i));
    for (std::uint64_t i = 0; i < 1000; ++i) {
        must(ends.client.qp().send(softrnic::no_slices, {.id = i}));
        expect_good(next(ends.client.send_cq()), i, IBV_WC_SEND);
    }
    for (std::uint64_t i = 0; i < 1000; ++i)
        expect_good(next(ends.server.recv_cq()), i, IBV_WC_RECV);
}

TEST_F(SharedReceives, InUseStay) {
    const pair ends = connect();
    EXPECT_EQ(ibv_destroy_srq(pool.native()), EBUSY);
}

/// Receives without memory, and Sends without bytes.
class ResizedReceives : public SharedReceives {
protected:
    void post(std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t id = first; id <= last; ++id) must(pool.recv(softrnic::no_slices, id));
    }
    /// Sends take the receives in their order.
    void take(std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t id = first; id <= last; ++id) {
            must(ends.client.qp().send(softrnic::no_slices, {.id = id}));
            expect_good(next(ends.client.send_cq()), id, IBV_WC_SEND);
            expect_good(next(ends.server.recv_cq()), id, IBV_WC_RECV);
        }
    }
    [[nodiscard]] std::uint32_t room() const { return must(pool.query()).max_wr; }

    pair ends = connect();
};

TEST_F(ResizedReceives, KeepWhatIsPosted) {
    post(1, 20);
    take(1, 5);
    must(pool.resize(100));
    EXPECT_EQ(room(), 100U);
    post(21, 105);
    EXPECT_TRUE(fails_with(pool.recv(softrnic::no_slices), ENOMEM));
    take(6, 80);
    must(pool.resize(25));
    EXPECT_EQ(room(), 25U);
    EXPECT_TRUE(fails_with(pool.recv(softrnic::no_slices), ENOMEM));
    take(81, 105);
    post(106, 130);
    take(106, 130);
}

TEST_F(ResizedReceives, KeepTheirSlices) {
    must(SharedReceives::post(3));
    must(pool.resize(5));
    const message m = make_message(size, 3);
    must(ends.client.qp().send_inline(std::span(m).first(200)));
    const ibv_wc wc = next(ends.server.recv_cq());
    expect_good(wc, 3, IBV_WC_RECV);
    EXPECT_TRUE(received(wc) == message(m.begin(), m.begin() + 200));
}

TEST_F(ResizedReceives, StayIfTheNewSizeIsRefused) {
    post(1, 10);
    ibv_device_attr attr{};
    ASSERT_EQ(ibv_query_device(device().native(), &attr), 0);
    for (const std::uint32_t entries : {0U, 9U, static_cast<std::uint32_t>(attr.max_srq_wr) + 1,
                                        std::numeric_limits<std::uint32_t>::max()})
        EXPECT_TRUE(fails_with(pool.resize(entries), EINVAL)) << entries;
    EXPECT_EQ(room(), depth);
    take(1, 10);
}

TEST_F(ResizedReceives, NeverHoldFewerThanTheLimit) {
    post(1, 12);
    must(pool.set_limit(10));
    EXPECT_TRUE(fails_with(pool.resize(9), EINVAL));
    ibv_srq_attr attr{};
    attr.max_wr = 12;
    attr.srq_limit = 13;
    EXPECT_EQ(ibv_modify_srq(pool.native(), &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
    EXPECT_EQ(room(), depth);
    attr.srq_limit = 12;
    EXPECT_EQ(ibv_modify_srq(pool.native(), &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
    EXPECT_EQ(room(), 12U);
    EXPECT_EQ(must(pool.query()).srq_limit, 12U);
    take(1, 1);
    EXPECT_TRUE(saw_event(pool.native(), IBV_EVENT_SRQ_LIMIT_REACHED));
}

/// More than are moved at a time.
TEST_F(ResizedReceives, AsManyAsTheDeviceHas) {
    ibv_device_attr attr{};
    ASSERT_EQ(ibv_query_device(device().native(), &attr), 0);
    const auto most = static_cast<std::uint64_t>(attr.max_srq_wr);
    must(pool.resize(static_cast<std::uint32_t>(most)));
    post(1, most);
    EXPECT_TRUE(fails_with(pool.recv(softrnic::no_slices), ENOMEM));
    take(1, 20);
    must(pool.resize(static_cast<std::uint32_t>(most) - 20));
    EXPECT_TRUE(fails_with(pool.recv(softrnic::no_slices), ENOMEM));
    take(21, 40);
}

TEST_F(ResizedReceives, WhileTheyArePostedAndTaken) {
    constexpr std::uint64_t messages = 3000, most_posted = 16;
    std::atomic<std::uint64_t> taken{0};
    std::atomic<bool> done{false};
    const std::jthread resizer([&] {
        std::mt19937 random(1);
        std::uniform_int_distribution entries(most_posted, std::uint64_t{2000});
        while (!done) {
            EXPECT_TRUE(works(pool.resize(static_cast<std::uint32_t>(entries(random)))));
            // The others need the queue's lock.
            std::this_thread::sleep_for(1ms);
        }
    });
    const std::jthread poster([&] {
        for (std::uint64_t id = 1; id <= messages && !done; ++id) {
            while (id > taken + most_posted && !done) std::this_thread::yield();
            post(id, id);
        }
    });
    for (std::uint64_t id = 1; id <= messages && !HasFailure(); ++id) {
        take(id, id);
        taken = id;
    }
    done = true;
}

}  // namespace
}  // namespace verbs_test
