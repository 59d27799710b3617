// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The counters of the link, which is both ends here: what one end sends the other receives, so each
// number moves by what the test does and by nothing else.
#include <map>
#include <string>
#include <thread>

#include "counters.hpp"
#include "data.hpp"
#include "fixture.hpp"
#include "path.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

using counts = std::map<std::string, std::uint64_t>;

/// How far the counters move while a test does its work.
class watch {
public:
    explicit watch(counts expected) : expected_(std::move(expected)) {
        settle_counters();
        for (const auto& [name, by] : expected_) start_[name] = counter(name);
    }
    /// A worker may be what does the last of it.
    void await(const std::string& name) const {
        for (softrnic::deadline until = patience; !has_moved(name) && !until.expired();)
            settle_counters();
    }
    void expect_moved() const {
        for (const auto& [name, by] : expected_) await(name);
        // Nor does any of them move further.
        settle_counters();
        for (const auto& [name, by] : expected_)
            EXPECT_EQ(counter(name) - start_.at(name), by) << name;
    }

private:
    [[nodiscard]] bool has_moved(const std::string& name) const {
        return counter(name) - start_.at(name) >= expected_.at(name);
    }

    counts expected_;
    counts start_;
};

/// Empty Writes of a connection: the first makes the responder ready, and three more are how the
/// two recognise each other. With a fourth the responder goes to the path inside this host.
unsigned greetings() {
    return bypasses_tcp() ? 5 : 4;
}

TEST(Statistics, OfAConnection) {
    const watch counters({{"connects", 1},
                          {"requests", 1},
                          {"accepts", 1},
                          {"connections_closed", 2},
                          {"connections_lost", 0},
                          {"peers_recognised", 2},
                          {"tx_write_messages", greetings()},
                          {"rx_write_messages", greetings()},
                          {"rx_write_bytes", 0},
                          {"rx_fpdus", greetings()}});
    {
        pair ends = connect_pair();
        counters.await("rx_write_messages");
        must(ends.client.disconnect());
        expect_broken(ends.server);
        expect_broken(ends.client);
    }
    counters.expect_moved();
}

TEST(Statistics, OfEachKindOfMessage) {
    constexpr std::uint32_t size = 700;
    const watch greeted({{"rx_write_messages", greetings()}});
    pair ends = connect_pair();
    greeted.await("rx_write_messages");
    scattered here(ends.client.domain(), size, 1, access::local_write);
    scattered there(
        ends.server.domain(), size, 1,
        access::local_write | access::remote_write | access::remote_read | access::remote_atomic);
    here.put(make_message(size, 1));
    // So that the initiator's first message has been counted.
    must(ends.server.qp().recv(there.slices(), 1));
    must(ends.client.qp().send(here.slices(), {.id = 1}));
    next(ends.server.recv_cq());
    next(ends.client.send_cq());

    const watch counters({{"tx_send_messages", 3},
                          {"tx_send_bytes", 3 * size},
                          {"rx_send_messages", 3},
                          {"rx_send_bytes", 3 * size},
                          {"tx_write_messages", 2},
                          {"tx_write_bytes", 2 * size},
                          {"rx_write_messages", 2},
                          {"rx_write_bytes", 2 * size},
                          {"tx_immediate_messages", 1},
                          {"rx_immediate_messages", 1},
                          {"tx_read_request_messages", 2},
                          {"rx_read_request_messages", 2},
                          {"tx_read_response_messages", 2},
                          {"rx_read_response_messages", 2},
                          {"tx_read_response_bytes", 2 * size},
                          {"rx_read_response_bytes", 2 * size},
                          {"tx_terminate_messages", 0},
                          // All these fit into one FPDU each.
                          {"tx_fpdus", 10},
                          {"rx_fpdus", 10},
                          {"connects", 0},
                          {"rx_violations", 0}});
    for (std::uint64_t i = 0; i < 4; ++i) must(ends.server.qp().recv(there.slices(), i));
    for (std::uint64_t i = 0; i < 3; ++i) {
        must(ends.client.qp().send(here.slices(), {.id = i}));
        next(ends.server.recv_cq());
    }
    must(ends.client.qp().write(here.slices(), there.remote(), {.id = 3}));
    must(ends.client.qp().write_with_immediate(here.slices(), there.remote(), 7, {.id = 4}));
    next(ends.server.recv_cq());
    for (std::uint64_t i = 5; i < 7; ++i)
        must(ends.client.qp().read(here.slices(), there.remote(), {.id = i}));
    next(ends.client.send_cq(), 7);
    counters.expect_moved();
}

/// A long message is one message, however many FPDUs it takes.
TEST(Statistics, OfALongMessage) {
    constexpr std::uint32_t size = 1U << 20;
    pair ends = connect_pair();
    const softrnic::buffer from =
        must(softrnic::buffer::create(ends.client.domain(), size, access::none));
    const softrnic::buffer to =
        must(softrnic::buffer::create(ends.server.domain(), size, access::local_write));
    const watch counters(
        {{"tx_send_messages", 1}, {"rx_send_messages", 1}, {"rx_send_bytes", size}});
    const std::uint64_t sent = counter("tx_fpdus");
    const std::uint64_t received = counter("rx_fpdus");
    must(ends.server.qp().recv(to.all()));
    must(ends.client.qp().send(from.all()));
    next(ends.server.recv_cq());
    counters.expect_moved();
    // An FPDU has at most 64 KiB.
    EXPECT_GT(counter("rx_fpdus"), received + size / 65536);
    // The first FPDU of the connection may have been on its way when the counters were read.
    EXPECT_NEAR(static_cast<double>(counter("tx_fpdus") - sent),
                static_cast<double>(counter("rx_fpdus") - received), 1);
}

TEST(Statistics, OfAMessageWithoutAReceive) {
    const stranger_to_itself with_anybody_else;
    pair ends = connect_pair();
    const watch counters({{"rx_no_receive", 1},
                          {"rx_violations", 1},
                          {"rx_access_errors", 0},
                          {"tx_terminate_messages", 1},
                          {"rx_terminate_messages", 1}});
    must(ends.client.qp().send(softrnic::no_slices));
    next(ends.client.send_cq());
    expect_broken(ends.server);
    expect_broken(ends.client);
    counters.expect_moved();
}

TEST(Statistics, OfAMessageThatWaitsForAReceive) {
    pair ends = connect_pair();
    const watch counters({{"rx_no_receive", 1}, {"rx_violations", 0}, {"rx_send_messages", 2}});
    for (int i = 0; i < 2; ++i) must(ends.client.qp().send(softrnic::no_slices));
    next(ends.client.send_cq(), 2);
    settle_counters();
    for (std::uint64_t i = 1; i <= 2; ++i) must(ends.server.qp().recv(softrnic::no_slices, i));
    next(ends.server.recv_cq(), 2);
    counters.expect_moved();
}

TEST(Statistics, OfAWriteToNowhere) {
    pair ends = connect_pair();
    const scattered from(ends.client.domain(), 100, 1, access::none);
    const watch counters({{"rx_access_errors", 1}, {"rx_violations", 1}, {"rx_no_receive", 0}});
    must(ends.client.qp().write(from.slices(), {.addr = 4096, .length = 100, .rkey = 0x123456}));
    next(ends.client.send_cq());
    expect_broken(ends.server);
    expect_broken(ends.client);
    counters.expect_moved();
}

TEST(Statistics, OfAConnectionToNobody) {
    const watch counters({{"connect_refused", 1}, {"connect_timeouts", 0}, {"connects", 0}});
    softrnic::connection end = must(softrnic::resolve(server_address(9)));
    must(end.create_queues(wide));
    EXPECT_FALSE(works(end.connect()));
    counters.expect_moved();
}

TEST(Statistics, OfCompletionEvents) {
    pair ends = connect_pair();
    must(ends.server.qp().recv(softrnic::no_slices));
    must(ends.server.recv_cq().arm());
    const watch counters({{"cq_events", 1}, {"cq_overflows", 0}});
    must(ends.client.qp().send(softrnic::no_slices));
    next(ends.server.recv_cq());
    counters.expect_moved();
}

}  // namespace
}  // namespace verbs_test
