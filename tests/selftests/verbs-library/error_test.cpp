// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Ends of connections that are no fault of any memory: flushes, and messages without a receive.
#include <future>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

void post_receives(softrnic::connection& end, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) must(end.qp().recv(softrnic::no_slices, 100 + i));
}

void expect_receives_flushed(softrnic::connection& end, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        const ibv_wc wc = next(end.recv_cq());
        expect_status(wc, 100 + i, IBV_WC_WR_FLUSH_ERR);
        EXPECT_EQ(wc.qp_num, end.qp().number());
    }
}

TEST(Flush, ReceivesAfterDisconnectInOrder) {
    pair ends = connect_pair();
    post_receives(ends.client, 8);
    post_receives(ends.server, 8);
    must(ends.client.disconnect());
    expect_receives_flushed(ends.client, 8);
    expect_receives_flushed(ends.server, 8);
    expect_broken(ends.client);
    expect_broken(ends.server);
}

TEST(Flush, ReceivesAfterModifyToError) {
    pair ends = connect_pair();
    post_receives(ends.client, 4);
    post_receives(ends.server, 4);
    must(ends.client.qp().to_error());
    EXPECT_EQ(must(ends.client.qp().state()), IBV_QPS_ERR);
    expect_receives_flushed(ends.client, 4);
    expect_receives_flushed(ends.server, 4);
    expect_broken(ends.client);
    expect_broken(ends.server);
}

TEST(Flush, ReceivesOfAQueuePairThatNeverConnected) {
    softrnic::connection end = must(softrnic::resolve(server_address(1)));
    must(end.create_queues(wide));
    post_receives(end, 3);
    must(end.qp().to_error());
    expect_receives_flushed(end, 3);
}

/// A process that is late may find all of them done.
void expect_some_flushed(bool (*some_are_flushed)()) {
    bool flushed = false;
    for (int attempt = 0; attempt < 5 && !flushed; ++attempt) flushed = some_are_flushed();
    EXPECT_TRUE(flushed);
}

/// All complete, in order, and after the first that did not make it none does.
bool writes_are_flushed() {
    constexpr std::uint32_t size = 4U << 20;
    constexpr std::uint64_t count = 12;
    pair ends = connect_pair();
    const softrnic::buffer from =
        must(softrnic::buffer::create(ends.client.domain(), size, access::none));
    const softrnic::buffer to = must(softrnic::buffer::create(
        ends.server.domain(), size, access::local_write | access::remote_write));
    softrnic::send_batch batch;
    for (std::uint64_t i = 0; i < count; ++i) batch.write(from.all(), to.remote(), {.id = i});
    must(batch.post(ends.client.qp().native()));
    must(ends.client.qp().to_error());
    bool flushed = false;
    for (std::uint64_t i = 0; i < count; ++i) {
        const ibv_wc wc = next(ends.client.send_cq());
        flushed |= wc.status == IBV_WC_WR_FLUSH_ERR;
        expect_status(wc, i, flushed ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
    }
    expect_broken(ends.client);
    EXPECT_TRUE(works(ends.server.wait_disconnected(patience)));
    return flushed;
}

TEST(Flush, WritesUnderWay) {
    expect_some_flushed(writes_are_flushed);
}

bool reads_are_flushed() {
    constexpr std::uint32_t size = 4U << 20;
    constexpr std::uint64_t count = 8;
    pair ends = connect_pair();
    const softrnic::buffer from =
        must(softrnic::buffer::create(ends.server.domain(), size, access::remote_read));
    const softrnic::buffer to =
        must(softrnic::buffer::create(ends.client.domain(), size, access::local_write));
    softrnic::send_batch batch;
    for (std::uint64_t i = 0; i < count; ++i) batch.read(to.all(), from.remote(), {.id = i});
    must(batch.post(ends.client.qp().native()));
    must(ends.server.qp().to_error());
    bool flushed = false;
    for (std::uint64_t i = 0; i < count; ++i) {
        const ibv_wc wc = next(ends.client.send_cq());
        flushed |= wc.status == IBV_WC_WR_FLUSH_ERR;
        expect_status(wc, i, flushed ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
    }
    expect_broken(ends.client);
    return flushed;
}

TEST(Flush, ReadsUnderWay) {
    expect_some_flushed(reads_are_flushed);
}

TEST(Flush, BatchPostedInErrorCompletesInOrder) {
    pair ends = connect_pair();
    must(ends.client.qp().to_error());
    softrnic::send_batch batch;
    for (std::uint64_t i = 0; i < 10; ++i)
        batch.send(softrnic::no_slices, {.id = i, .flags = softrnic::send_flag::none});
    must(batch.post(ends.client.qp().native()));
    // Signalled or not: an error is always told.
    for (std::uint64_t i = 0; i < 10; ++i)
        expect_status(next(ends.client.send_cq()), i, IBV_WC_WR_FLUSH_ERR);
}

TEST(Flush, ResetForgetsAndAllowsNothing) {
    pair ends = connect_pair();
    must(ends.client.qp().to_error());
    EXPECT_TRUE(works(ends.client.wait_disconnected(patience)));
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RESET;
    EXPECT_TRUE(works(ends.client.qp().modify(attr, IBV_QP_STATE)));
    // iWARP's state IDLE.
    EXPECT_EQ(must(ends.client.qp().state()), IBV_QPS_INIT);
    EXPECT_TRUE(fails_with(ends.client.qp().send(softrnic::no_slices), EINVAL));
}

TEST(State, CannotBeConnectedByHand) {
    softrnic::connection end = must(softrnic::resolve(server_address(1)));
    must(end.create_queues(wide));
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTS;
    EXPECT_TRUE(fails_with(end.qp().modify(attr, IBV_QP_STATE), EINVAL));
}

TEST(State, ReportsWhatIsSo) {
    pair ends = connect_pair();
    EXPECT_EQ(must(ends.client.qp().state()), IBV_QPS_RTS);
    EXPECT_EQ(must(ends.server.qp().state()), IBV_QPS_RTS);
    must(ends.server.qp().set_access(access::remote_read));
    EXPECT_EQ(must(ends.server.qp().query(IBV_QP_ACCESS_FLAGS)).qp_access_flags,
              static_cast<unsigned>(IBV_ACCESS_REMOTE_READ));
}

unsigned access_of(const softrnic::connection& end) {
    return must(end.qp().query(IBV_QP_ACCESS_FLAGS)).qp_access_flags;
}

constexpr unsigned everything =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

/// rdma_cm grants nothing to the side that connects and no atomics to the other one: nobody has
/// decided anything then.
TEST(State, PeersMayDoEverythingByDefault) {
    const pair ends = connect_pair();
    EXPECT_EQ(access_of(ends.client), everything);
    EXPECT_EQ(access_of(ends.server), everything);
}

/// As programs bring up a queue pair of InfiniBand.
TEST(State, AccessInAStepByHandIsMeant) {
    softrnic::connection end = must(softrnic::resolve(server_address(1)));
    must(end.create_queues(wide));
    EXPECT_EQ(access_of(end), everything);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    for (const unsigned granted : {0U, unsigned{IBV_ACCESS_REMOTE_READ},
                                   IBV_ACCESS_REMOTE_WRITE | unsigned{IBV_ACCESS_REMOTE_READ}}) {
        attr.qp_access_flags = granted | IBV_ACCESS_LOCAL_WRITE;
        if (granted == 0) attr.qp_access_flags = 0;
        must(end.qp().modify(attr,
                             IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
        EXPECT_EQ(access_of(end), granted);
    }
}

/// Accepting goes through INIT and RTR once more, with flags of rdma_cm's own.
TEST(State, AccessDecidedBeforeTheConnectionIsKept) {
    const softrnic::listener listener = must(softrnic::listen(server_address()));
    softrnic::connection client = must(softrnic::resolve(listener.local_address()));
    must(client.create_queues(wide));
    must(client.qp().set_access(access::none));
    auto connected = std::async(std::launch::async, [&] { return client.connect(); });
    softrnic::connection server = must(listener.next(patience));
    must(server.create_queues(wide));
    must(server.qp().set_access(access::remote_read));
    must(server.accept());
    must(connected.get());
    EXPECT_EQ(access_of(client), 0U);
    EXPECT_EQ(access_of(server), unsigned{IBV_ACCESS_REMOTE_READ});
    const scattered memory(server.domain(), 100, 1, access::local_write | access::remote_write);
    must(client.qp().write_inline(make_message(100, 1), memory.remote()));
    EXPECT_TRUE(saw_event(server.qp().native(), IBV_EVENT_QP_ACCESS_ERR));
    memory.expect_untouched();
}

/// A message that finds no receive ends the stream, unless both ends are softrnics, see
/// rnr_test.cpp.
TEST(NoReceive, EndsTheConnection) {
    const stranger_to_itself with_anybody_else;
    pair ends = connect_pair();
    must(ends.client.qp().send(softrnic::no_slices, {.id = 1}));
    EXPECT_TRUE(saw_event(ends.server.qp().native(), IBV_EVENT_QP_REQ_ERR));
    // The message was on its way, so it may count as sent.
    EXPECT_EQ(next(ends.client.send_cq()).wr_id, 1U);
    expect_broken(ends.client);
    expect_broken(ends.server);
}

TEST(NoReceive, TheOneBeforeArrives) {
    const stranger_to_itself with_anybody_else;
    pair ends = connect_pair();
    must(ends.server.qp().recv(softrnic::no_slices, 1));
    for (int i = 0; i < 3; ++i) must(ends.client.qp().send(softrnic::no_slices));
    expect_good(next(ends.server.recv_cq()), 1, IBV_WC_RECV);
    next(ends.client.send_cq(), 3);
    expect_broken(ends.client);
    expect_broken(ends.server);
}

TEST(TooLong, MessageForItsReceive) {
    pair ends = connect_pair();
    scattered from(ends.client.domain(), 101, 1, access::none);
    from.put(make_message(101, 1));
    const scattered to(ends.server.domain(), 100, 3, access::local_write);
    must(ends.server.qp().recv(to.slices(), 1));
    must(ends.server.qp().recv(to.slices(), 2));
    must(ends.client.qp().send(from.slices(), {.id = 3}));
    expect_status(next(ends.server.recv_cq()), 1, IBV_WC_LOC_LEN_ERR);
    expect_status(next(ends.server.recv_cq()), 2, IBV_WC_WR_FLUSH_ERR);
    EXPECT_TRUE(saw_event(ends.server.qp().native(), IBV_EVENT_QP_REQ_ERR));
    next(ends.client.send_cq());
    expect_broken(ends.client);
    expect_broken(ends.server);
}

TEST(TooLong, ForAReceiveOfNothing) {
    pair ends = connect_pair();
    must(ends.server.qp().recv(softrnic::no_slices, 1));
    must(ends.client.qp().send_inline(make_message(1, 1)));
    expect_status(next(ends.server.recv_cq()), 1, IBV_WC_LOC_LEN_ERR);
    next(ends.client.send_cq());
    expect_broken(ends.client);
}

}  // namespace
}  // namespace verbs_test
