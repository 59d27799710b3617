// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// MPA set-up: every combination of what a peer may ask for or answer, in either role, and what the
// verbs side has to make of it. What is right is worked out here from RFC 5044 section 7.1 and RFC
// 6581 section 9, not listed.
#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <thread>

#include "frames.hpp"
#include "framing.hpp"
#include "link_counter.hpp"
#include "session.hpp"

namespace wirepeer {
namespace {

using namespace std::chrono_literals;

/// Of a listener that is not verbs_listener().
constexpr std::uint16_t own_port = 7172;

/// RFC 6581 section 9.1: what the responder may answer to these depths.
void expect_depths(const enhanced_words& asked, const enhanced_words& got) {
    EXPECT_EQ(got.ird == not_negotiated, asked.ord == not_negotiated);
    EXPECT_EQ(got.ord == not_negotiated, asked.ird == not_negotiated);
    EXPECT_LE(got.ord, asked.ird);
    // The whole of what was asked for, where the device has it.
    const auto most =
        static_cast<unsigned>(must(arena::get().domain().context().query()).max_qp_rd_atom);
    EXPECT_GE(got.ird, std::min<unsigned>(asked.ord, most));
}

/// RFC 6581 section 9.2: connection model and RTR messages.
void expect_model(const enhanced_words& asked, const enhanced_words& got) {
    EXPECT_EQ(got.peer_to_peer, asked.peer_to_peer);
    if (!asked.peer_to_peer) {
        EXPECT_FALSE(got.rtr_send || got.rtr_write || got.rtr_read);
        return;
    }
    EXPECT_TRUE(got.rtr_send || got.rtr_write || got.rtr_read);
    EXPECT_GE(got.rtr_write, asked.rtr_write);
    EXPECT_GE(got.rtr_read, asked.rtr_read);
}

void expect_reply(const mpa_frame& asked, const mpa_frame& got) {
    EXPECT_TRUE(got.reply);
    EXPECT_EQ(got.revision, asked.revision);
    EXPECT_FALSE(got.reject);
    EXPECT_EQ(got.reserved, 0);
    // The default has to be to use CRCs, RFC 5044 section 4.4.
    EXPECT_TRUE(got.crc);
    ASSERT_EQ(got.enhanced.has_value(), asked.enhanced.has_value());
    if (!asked.enhanced) return;
    expect_depths(*asked.enhanced, *got.enhanced);
    expect_model(*asked.enhanced, *got.enhanced);
}

/// Messages go in both directions; the verbs side's next Send has this number.
void expect_traffic(session& s, std::uint32_t msn = 1) {
    const bytes there = pattern(20), back = pattern(30, 9);
    s.wire.send(make_send(1, there));
    s.expect_receive(1, there.size());
    must(s.end.qp().send(arena::get().outbox(back), {.id = 7}));
    s.expect_status(7, IBV_WC_SUCCESS);
    EXPECT_EQ(describe(s.wire.read_message()), describe(make_send(msn, back)));
    s.wire.finish();
    s.expect_ended(2);
    s.wire.expect_closed();
}

class Request : public ::testing::TestWithParam<mpa_frame> {};

TEST_P(Request, rfc6581_9_is_answered) {
    session_options options;
    options.frame = GetParam();
    options.first_fpdu = false;
    session s(options);
    expect_reply(GetParam(), s.theirs);
    const auto data = s.end.peer_data();
    EXPECT_EQ(hex({reinterpret_cast<const std::uint8_t*>(data.data()), data.size()}),
              hex(GetParam().private_data));
    if (s.theirs.enhanced && s.theirs.enhanced->peer_to_peer) s.wire.send(make_write(0, 0, {}));
    expect_traffic(s);
}

INSTANTIATE_TEST_SUITE_P(, Request, ::testing::ValuesIn(good_requests()),
                         [](const auto& test) { return name_of(test.param); });

// The first message of the initiator, RFC 6581 section 9.2: none of them is seen by the consumer.
TEST(ReadyToReceive, rfc6581_9_2_write) {
    session_options options;
    options.first_fpdu = false;
    session s(options);
    s.wire.send(make_write(0, 0, {}));
    expect_traffic(s);
}

TEST(ReadyToReceive, rfc6581_9_2_read) {
    session_options options;
    options.frame.enhanced =
        enhanced_words{.peer_to_peer = true, .rtr_read = true, .ird = 4, .ord = 0};
    options.first_fpdu = false;
    session s(options);
    // Room for it even where no Reads were asked for, section 9.1.
    EXPECT_GE(s.theirs.enhanced->ird, 1);
    s.wire.send(make_read_request(1, {.sink_stag = 3, .sink_to = 4}));
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_read_response(3, 4, {})));
    expect_traffic(s);
}

// An empty Send: it has a number, but no receive is taken for it, nor for another empty one later.
TEST(ReadyToReceive, rfc6581_9_2_send) {
    session_options options;
    options.frame.enhanced =
        enhanced_words{.peer_to_peer = true, .rtr_send = true, .ird = 4, .ord = 4};
    options.first_fpdu = false;
    session s(options);
    EXPECT_TRUE(s.theirs.enhanced->rtr_send);
    must(s.end.qp().send(arena::get().outbox(pattern(5)), {.id = 8}));
    s.wire.expect_quiet();
    s.wire.send(make_send(1, {}));
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_send(1, pattern(5))));
    s.expect_status(8, IBV_WC_SUCCESS);
    s.wire.send(make_send(2, {}));
    s.expect_receive(1, 0);
    s.wire.send(make_send(3, pattern(20)));
    s.expect_receive(2, 20);
    s.wire.finish();
    s.expect_ended(3);
    s.wire.expect_closed();
}

// RFC 6581 section 9.2, RFC 5044 section 7.1.2 rule 4: the responder waits for the initiator.
TEST(ReadyToReceive, rfc5044_7_1_2_the_responder_holds_back) {
    session_options options;
    options.first_fpdu = false;
    session s(options);
    must(s.end.qp().send(arena::get().outbox(pattern(5)), {.id = 8}));
    s.wire.expect_quiet();
    s.wire.send(make_write(0, 0, {}));
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_send(1, pattern(5))));
    s.expect_status(8, IBV_WC_SUCCESS);
}

// In the client-server model as well. But verbs let a responder speak first, and an initiator that
// says nothing itself must not be waited for without end.
TEST(ReadyToReceive, rfc5044_7_1_2_without_it_the_responder_waits_for_a_while) {
    bool waited = false;
    // This process may be the one that is late.
    for (int attempt = 0; attempt < 5 && !waited; ++attempt) {
        session_options options;
        options.frame.enhanced = enhanced_words{.ird = 8, .ord = 8};
        options.first_fpdu = false;
        session s(options);
        must(s.end.qp().send(arena::get().outbox(pattern(5)), {.id = 8}));
        waited = s.wire.is_quiet();
        EXPECT_EQ(describe(s.wire.read_segment()), describe(make_send(1, pattern(5))));
        s.expect_status(8, IBV_WC_SUCCESS);
    }
    EXPECT_TRUE(waited);
}

/// RFC 6581 section 9.2: an RTR message that the responder has named, and empty.
void expect_ready_message(const segment& got, const enhanced_words& allowed) {
    EXPECT_TRUE(got.last);
    switch (got.opcode) {
        case op::write:
            EXPECT_TRUE(allowed.rtr_write);
            EXPECT_TRUE(got.payload.empty());
            break;
        case op::read_request:
            EXPECT_TRUE(allowed.rtr_read);
            EXPECT_EQ(got.qn, 1U);
            EXPECT_EQ(got.msn, 1U);
            EXPECT_EQ(decode_read_request(got.payload).size, 0U);
            break;
        case op::send:
            EXPECT_TRUE(allowed.rtr_send);
            EXPECT_EQ(got.msn, 1U);
            EXPECT_TRUE(got.payload.empty());
            break;
        default: ADD_FAILURE() << "not an RTR message: " << describe(got);
    }
}

class Reply : public ::testing::TestWithParam<mpa_frame> {};

TEST_P(Reply, rfc6581_9_is_understood) {
    session_options options = usual_options(role::responder);
    options.frame = GetParam();
    session s(options);
    expect_ready_message(s.first, *GetParam().enhanced);
    if (s.first.opcode == op::read_request) {
        const read_request r = decode_read_request(s.first.payload);
        s.wire.send(make_read_response(r.sink_stag, r.sink_to, {}));
    }
    const auto data = s.end.peer_data();
    EXPECT_EQ(hex({reinterpret_cast<const std::uint8_t*>(data.data()), data.size()}),
              hex(GetParam().private_data));
    expect_traffic(s, s.first.opcode == op::send ? 2 : 1);
}

INSTANTIATE_TEST_SUITE_P(, Reply, ::testing::ValuesIn(good_replies()),
                         [](const auto& test) { return name_of(test.param); });

// What the verbs side asks for as initiator, for these depths of its consumer.
TEST(Initiator, rfc6581_9_request) {
    for (const int depth : {0, 1, 5, 128}) {
        session_options options = usual_options(role::responder);
        options.verbs.initiator_depth = static_cast<std::uint8_t>(depth);
        options.verbs.responder_resources = static_cast<std::uint8_t>(depth / 2);
        const bytes hello = pattern(17);
        options.verbs.private_data = std::as_bytes(std::span(hello));
        const session s(options);
        EXPECT_EQ(s.theirs.revision, 2);
        EXPECT_FALSE(s.theirs.markers);
        EXPECT_TRUE(s.theirs.crc);
        EXPECT_FALSE(s.theirs.reject);
        EXPECT_EQ(s.theirs.reserved, 0);
        EXPECT_EQ(s.theirs.private_data, hello);
        ASSERT_TRUE(s.theirs.enhanced);
        EXPECT_TRUE(s.theirs.enhanced->peer_to_peer);
        EXPECT_TRUE(s.theirs.enhanced->rtr_write && s.theirs.enhanced->rtr_send);
        // A Read that may not be sent is not offered, section 9.1.
        EXPECT_EQ(s.theirs.enhanced->rtr_read, depth > 0);
        EXPECT_EQ(s.theirs.enhanced->ord, depth);
        EXPECT_EQ(s.theirs.enhanced->ird, depth / 2);
    }
}

// Section 9.1: the empty Read is one of those that the responder serves at a time.
TEST(Initiator, rfc6581_9_1_the_ready_message_counts) {
    session_options options = usual_options(role::responder);
    options.frame.enhanced =
        enhanced_words{.peer_to_peer = true, .rtr_read = true, .ird = 1, .ord = 1};
    session s(options);
    ASSERT_EQ(s.first.opcode, op::read_request);
    must(s.end.qp().read(arena::get().inbox(0, 8), {.addr = 1, .rkey = 2}, {.id = 5}));
    s.wire.expect_quiet();
    const read_request ready = decode_read_request(s.first.payload);
    s.wire.send(make_read_response(ready.sink_stag, ready.sink_to, {}));
    const read_request asked = decode_read_request(s.wire.read_segment().payload);
    EXPECT_EQ(asked.size, 8U);
    s.wire.send(make_read_response(asked.sink_stag, asked.sink_to, pattern(8)));
    s.expect_status(5, IBV_WC_SUCCESS);
    expect_traffic(s);
}

/// A verbs end that asks the scripted peer for a connection.
struct asking {
    asking() {
        must(end.create_queues({}));
        connected = std::async(std::launch::async, [this] { return end.connect(); });
    }
    /// Its request has been read, and waits for a reply.
    [[nodiscard]] tcp_stream accept_request() const {
        tcp_stream wire = listener.accept();
        (void)wire.read_frame(false);
        return wire;
    }

    tcp_listener listener{link_address()};
    softrnic::connection end = must(softrnic::resolve(listener.local_address()));
    std::future<softrnic::result<void>> connected;
};

/// A reply that the initiator cannot live with, and the Terminate that says so: RFC 6581 section 8.
struct refused_reply {
    const char* name;
    enhanced_words words;
    std::uint8_t code;
};

std::ostream& operator<<(std::ostream& to, const refused_reply& r) {
    return to << r.name;
}

const refused_reply refused_replies[] = {
    {"rfc6581_8_more_reads_than_the_device_serves",
     {.peer_to_peer = true, .rtr_write = true, .ird = 4, .ord = 129},
     6},
    {"rfc6581_8_as_many_reads_as_can_be_said",
     {.peer_to_peer = true, .rtr_write = true, .ird = 4, .ord = 0x3ffe},
     6},
    {"rfc6581_8_more_reads_in_the_client_server_model", {.ird = 4, .ord = 129}, 6},
    {"rfc6581_8_no_ready_to_receive_message", {.peer_to_peer = true, .ird = 4, .ord = 4}, 7},
};

/// Attempts to connect that have failed for a reason that has no counter of its own. The link's
/// numbers are up to 10 ms old.
std::uint64_t failed_connects() {
    std::this_thread::sleep_for(20ms);
    return support::link_counter(device_name(), "connect_failures");
}

class RefusedReply : public ::testing::TestWithParam<refused_reply> {};

TEST_P(RefusedReply, EndsWithTerminate) {
    const std::uint64_t failed = failed_connects();
    asking verbs;
    const tcp_stream wire = verbs.accept_request();
    wire.send(encode(mpa_frame{.reply = true, .enhanced = GetParam().words}));
    // Before everything else, so instead of the RTR message.
    EXPECT_EQ(describe(wire.read_segment()),
              describe(make_terminate(
                  terminate_payload({2, 0, GetParam().code}, term_headers::none, {}))));
    wire.expect_closed();
    EXPECT_FALSE(verbs.connected.get());
    EXPECT_EQ(failed_connects(), failed + 1);
    expect_service();
}

INSTANTIATE_TEST_SUITE_P(, RefusedReply, ::testing::ValuesIn(refused_replies),
                         [](const auto& test) { return test.param.name; });

// RFC 5044 section 7.1.2 rule 3.
TEST(Initiator, rfc5044_7_1_2_is_told_of_a_rejection) {
    for (const std::uint8_t revision : {std::uint8_t{1}, std::uint8_t{2}}) {
        asking verbs;
        const tcp_stream wire = verbs.accept_request();
        mpa_frame no{.reply = true, .reject = true, .revision = revision};
        if (revision == 2) no.enhanced = enhanced_words{.peer_to_peer = true, .rtr_write = true};
        no.private_data = pattern(40);
        wire.send(encode(no));
        const auto refused = verbs.connected.get();
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ECONNREFUSED);
        const auto data = verbs.end.peer_data();
        EXPECT_EQ(hex({reinterpret_cast<const std::uint8_t*>(data.data()), data.size()}),
                  hex(pattern(40)));
        wire.expect_dropped();
    }
    expect_service();
}

// RFC 6581 section 10: a peer that knows nothing of enhanced frames closes, and gets another one.
TEST(Initiator, rfc6581_10_falls_back_to_revision_1) {
    asking verbs;
    {
        const tcp_stream refused = verbs.listener.accept();
        EXPECT_TRUE(refused.read_frame(false).enhanced);
    }
    const tcp_stream wire = verbs.listener.accept();
    EXPECT_EQ(wire.read_frame(false), (mpa_frame{.revision = 1}));
    wire.send(encode(mpa_frame{.reply = true, .revision = 1}));
    must(verbs.connected.get());
    EXPECT_EQ(decode_greeting(wire.read_segment()).what, greeting::hello);
    must(verbs.end.qp().send(softrnic::no_slices, {.id = 3}));
    EXPECT_EQ(describe(wire.read_segment()), describe(make_send(1, {})));
}

// RFC 5044 section 7.1.2 rule 2: the responder's consumer says no.
TEST(Responder, rfc5044_7_1_2_rejects) {
    for (const mpa_frame& asked : {mpa_frame{.revision = 1}, usual_frame(role::initiator)}) {
        const tcp_stream wire = tcp_stream::connect(verbs_listener().local_address());
        wire.send(encode(asked));
        const softrnic::connection end = next_request(wire.local_address());
        const bytes why = pattern(33);
        must(end.reject(std::as_bytes(std::span(why))));
        const mpa_frame got = wire.read_frame(true);
        EXPECT_TRUE(got.reject);
        EXPECT_EQ(got.revision, asked.revision);
        EXPECT_EQ(got.enhanced.has_value(), asked.enhanced.has_value());
        EXPECT_EQ(got.private_data, why);
        wire.expect_closed();
    }
    expect_service();
}

/// What rdma_cm tells a consumer of the read depths, for those in a frame of the peer.
struct told_depths {
    std::uint16_t ird;
    std::uint16_t ord;
    /// Reads that the verbs side may have outstanding, and that the peer wants to have.
    unsigned initiator_depth;
    unsigned responder_resources;
};

std::ostream& operator<<(std::ostream& to, const told_depths& d) {
    return to << "ird" << d.ird << "_ord" << d.ord;
}

class ToldDepths : public ::testing::TestWithParam<told_depths> {
protected:
    static void expect_told(const softrnic::cm_event& event) {
        EXPECT_EQ(event.initiator_depth, GetParam().initiator_depth);
        EXPECT_EQ(event.responder_resources, GetParam().responder_resources);
    }
    static mpa_frame frame(bool reply) {
        return {.reply = reply,
                .enhanced = enhanced_words{.peer_to_peer = true,
                                           .rtr_write = true,
                                           .ird = GetParam().ird,
                                           .ord = GetParam().ord}};
    }
};

// The responder's consumer learns what the initiator wishes for, as far as the device has it.
TEST_P(ToldDepths, rfc6581_9_1_by_a_request) {
    const softrnic::cm_channel events = must(softrnic::cm_channel::create());
    const auto id = must(softrnic::detail::cm_id::create(events));
    ASSERT_EQ(rdma_bind_addr(id.native(), link_address().with_port(own_port).native()), 0);
    ASSERT_EQ(rdma_listen(id.native(), 1), 0);
    const tcp_stream wire =
        tcp_stream::connect(softrnic::address(rdma_get_local_addr(id.native())));
    wire.send(encode(frame(false)));
    const softrnic::cm_event event =
        must(events.expect(RDMA_CM_EVENT_CONNECT_REQUEST, "request", patience));
    const softrnic::detail::cm_id request(event.id);
    expect_told(event);
}

// The initiator's consumer learns what has been settled on.
TEST_P(ToldDepths, rfc6581_9_1_by_a_reply) {
    const tcp_listener listener(link_address());
    softrnic::connection end = must(softrnic::resolve(listener.local_address()));
    must(end.create_queues({}));
    rdma_conn_param param{};
    param.initiator_depth = param.responder_resources = 255;
    ASSERT_EQ(rdma_connect(end.native(), &param), 0);
    const tcp_stream wire = listener.accept();
    (void)wire.read_frame(false);
    wire.send(encode(frame(true)));
    const softrnic::cm_event event =
        must(end.events().expect(RDMA_CM_EVENT_ESTABLISHED, "reply", patience));
    EXPECT_EQ(event.initiator_depth, GetParam().initiator_depth);
    // The device serves more than the peer asks for.
    EXPECT_GE(event.responder_resources, GetParam().responder_resources);
}

constexpr told_depths all_told_depths[] = {{0, 0, 0, 0},
                                           {1, 5, 1, 5},
                                           {5, 1, 5, 1},
                                           {128, 128, 128, 128},
                                           // Not negotiated: what the device has.
                                           {not_negotiated, 7, 128, 7},
                                           {7, not_negotiated, 7, 128}};

INSTANTIATE_TEST_SUITE_P(, ToldDepths, ::testing::ValuesIn(all_told_depths),
                         ::testing::PrintToStringParamName());

class BadRequest : public ::testing::TestWithParam<bad_frame> {};

TEST_P(BadRequest, IsDropped) {
    const tcp_stream wire = tcp_stream::connect(verbs_listener().local_address());
    bytes frame = encode(usual_frame(role::initiator));
    GetParam().change(frame);
    wire.send(frame);
    wire.expect_dropped();
    expect_service();
}

INSTANTIATE_TEST_SUITE_P(, BadRequest,
                         ::testing::ValuesIn(bad_set_up_frames().begin(),
                                             bad_set_up_frames().end()),
                         [](const auto& test) { return test.param.name; });

class BadReply : public ::testing::TestWithParam<bad_frame> {};

TEST_P(BadReply, IsDropped) {
    asking verbs;
    const tcp_stream wire = verbs.accept_request();
    bytes frame = encode(usual_frame(role::responder));
    GetParam().change(frame);
    wire.send(frame);
    EXPECT_FALSE(verbs.connected.get());
    wire.expect_dropped();
    expect_service();
}

INSTANTIATE_TEST_SUITE_P(, BadReply,
                         ::testing::ValuesIn(bad_set_up_frames().begin(),
                                             bad_set_up_frames().end()),
                         [](const auto& test) { return test.param.name; });

// A frame may come in pieces of any size.
TEST(Pieces, rfc5044_7_1_1_request_cut_at_every_byte) {
    mpa_frame request = usual_frame(role::initiator);
    request.private_data = pattern(5);
    const bytes whole = encode(request);
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
        SCOPED_TRACE("cut at " + std::to_string(cut));
        const tcp_stream wire = tcp_stream::connect(verbs_listener().local_address());
        wire.send_cut(whole, std::array{cut});
        softrnic::connection end = next_request(wire.local_address());
        EXPECT_EQ(end.peer_data().size(), 5U);
        must(end.reject());
        EXPECT_TRUE(wire.read_frame(true).reject);
    }
}

TEST(Pieces, rfc5044_7_1_1_request_that_ends_at_every_byte) {
    mpa_frame request = usual_frame(role::initiator);
    request.private_data = pattern(5);
    const bytes whole = encode(request);
    for (std::size_t length = 0; length < whole.size(); ++length) {
        SCOPED_TRACE("ends at " + std::to_string(length));
        const tcp_stream wire = tcp_stream::connect(verbs_listener().local_address());
        wire.send(byte_view(whole).first(length));
        wire.finish();
        wire.expect_dropped();
    }
    expect_service();
}

TEST(Pieces, rfc5044_7_1_1_reply_cut_at_every_byte) {
    mpa_frame reply = usual_frame(role::responder);
    reply.private_data = pattern(5);
    const bytes whole = encode(reply);
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
        SCOPED_TRACE("cut at " + std::to_string(cut));
        asking verbs;
        const tcp_stream wire = verbs.accept_request();
        wire.send_cut(whole, std::array{cut});
        must(verbs.connected.get());
        EXPECT_EQ(verbs.end.peer_data().size(), 5U);
        EXPECT_EQ(wire.read_segment().opcode, op::write);
    }
}

}  // namespace
}  // namespace wirepeer
