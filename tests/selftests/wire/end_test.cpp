// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// How a stream ends when the peer wishes it: Terminates, closing in good order, and anything else.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <optional>
#include <thread>

#include "framing.hpp"
#include "softrnic-abi.h"
#include "violations.hpp"

namespace wirepeer {
namespace {

/// A Terminate of the peer's, RFC 5040 section 4.8.
struct told {
    const char* name;
    bytes (*payload)();
};

std::ostream& operator<<(std::ostream& to, const told& t) {
    return to << t.name;
}

segment a_send() {
    return make_send(1, pattern(8));
}
segment a_write() {
    return make_write(0x1234, 0x5678, pattern(8));
}
segment a_request() {
    return make_read_request(1, {.sink_stag = 1, .size = 8});
}

template <std::uint8_t layer, std::uint8_t type, std::uint8_t code>
bytes bare() {
    return terminate_payload({layer, type, code}, term_headers::none, {});
}

const told tellings[] = {
    {"rfc5040_4_8_local_catastrophic", bare<0, 0, 0>},
    {"rfc5040_4_8_remote_protection_of_a_send",
     [] {
         return terminate_payload({0, 1, 9}, term_headers::ddp, a_send());
     }},
    {"rfc5040_4_8_remote_protection_of_a_read",
     [] {
         return terminate_payload({0, 1, 2}, term_headers::ddp_and_rdmap, a_request());
     }},
    {"rfc5040_4_8_remote_operation",
     [] {
         return terminate_payload({0, 2, 6}, term_headers::ddp, a_send());
     }},
    {"rfc5040_4_8_tagged_buffer",
     [] {
         return terminate_payload({1, 1, 0}, term_headers::ddp, a_write());
     }},
    {"rfc5040_4_8_untagged_buffer",
     [] {
         return terminate_payload({1, 2, 2}, term_headers::ddp, a_send());
     }},
    {"rfc5044_8_closed", bare<2, 0, 1>},
    {"rfc5044_8_crc", bare<2, 0, 2>},
    {"rfc5044_8_marker", bare<2, 0, 3>},
    {"rfc6581_8_local_catastrophic", bare<2, 0, 5>},
    {"rfc6581_8_insufficient_ird", bare<2, 0, 6>},
    {"rfc6581_8_no_matching_rtr", bare<2, 0, 7>},
    {"rfc5040_4_8_unknown_everything", bare<15, 15, 255>},
    // Thirteen bits that are ignored.
    {"rfc5040_4_8_reserved_bits",
     [] {
         bytes payload = bare<1, 0, 0>();
         payload[2] = 0x1f;
         payload[3] = 0xff;
         return payload;
     }},
    // Cut short, or longer than it says: an end all the same.
    {"rfc5040_5_4_empty", [] { return bytes{}; }},
    {"rfc5040_5_4_three_bytes",
     [] {
         return bytes{0, 0, 0};
     }},
    {"rfc5040_5_4_header_promised",
     [] {
         bytes payload = bare<1, 1, 0>();
         payload[2] = 0xc0;
         return payload;
     }},
    {"rfc5040_5_4_half_a_header",
     [] {
         bytes payload = terminate_payload({1, 2, 2}, term_headers::ddp, a_send());
         payload.resize(15);
         return payload;
     }},
    {"rfc5040_5_4_read_request_promised",
     [] {
         bytes payload = terminate_payload({0, 1, 2}, term_headers::ddp, a_request());
         payload[2] |= 0x20;
         return payload;
     }},
};

class Told : public ::testing::TestWithParam<told> {};

// The consumer learns of it, and nothing is sent any more: not even a Terminate in answer.
TEST_P(Told, EndsTheStream) {
    session s;
    bytes all = fpdu(make_terminate(GetParam().payload()));
    append(all, fpdu(make_send(1, pattern(5))));
    s.wire.send(all);
    s.expect_failed(IBV_EVENT_QP_FATAL, 1);
    s.wire.expect_closed();
    expect_service();
}

INSTANTIATE_TEST_SUITE_P(, Told, ::testing::ValuesIn(tellings),
                         [](const auto& test) { return test.param.name; });

/// What becomes of a Read that is under way: the one work request that a Terminate tells of.
void expect_read_fails(term_code why, term_headers with, ibv_wc_status status) {
    session s;
    must(s.end.qp().read(arena::get().inbox(0, 8), {.addr = 1, .rkey = 2}, {.id = 5}));
    const segment request = s.wire.read_segment();
    s.wire.send(make_terminate(terminate_payload(why, with, request)));
    s.expect_status(5, status);
    s.expect_failed(IBV_EVENT_QP_FATAL, 1);
    s.wire.expect_closed();
}

TEST(ReadUnderWay, rfc5040_4_8_remote_protection) {
    expect_read_fails({0, 1, 1}, term_headers::ddp_and_rdmap, IBV_WC_REM_ACCESS_ERR);
    // Headers are included "if possible".
    expect_read_fails({0, 1, 1}, term_headers::none, IBV_WC_REM_ACCESS_ERR);
}

TEST(ReadUnderWay, rfc5040_4_8_other_errors_of_the_request) {
    expect_read_fails({1, 2, 2}, term_headers::ddp, IBV_WC_REM_OP_ERR);
    expect_read_fails({0, 2, 0xff}, term_headers::ddp, IBV_WC_REM_OP_ERR);
    expect_read_fails({0, 2, 6}, term_headers::ddp, IBV_WC_REM_INV_REQ_ERR);
}

TEST(ReadUnderWay, rfc5040_4_8_an_error_of_something_else) {
    expect_read_fails({2, 0, 2}, term_headers::none, IBV_WC_WR_FLUSH_ERR);
}

// The peer has not executed it, and nobody has waited for that.
TEST(ReadUnderWay, rfc5041_7_1_nothing_behind_it_succeeds) {
    session s;
    const softrnic::remote_slice to{.addr = 1, .length = 8, .rkey = 2};
    must(s.end.qp().read(arena::get().inbox(0, 8), to, {.id = 5}));
    must(s.end.qp().write(arena::get().outbox(pattern(8)), to, {.id = 6}));
    const segment request = s.wire.read_segment();
    EXPECT_EQ(s.wire.read_segment().opcode, op::write);
    s.wire.send(make_terminate(terminate_payload({0, 1, 1}, term_headers::ddp_and_rdmap, request)));
    s.expect_status(5, IBV_WC_REM_ACCESS_ERR);
    s.expect_status(6, IBV_WC_WR_FLUSH_ERR);
    s.expect_failed(IBV_EVENT_QP_FATAL, 1);
}

TEST(ReadUnderWay, nothing_behind_it_succeeds_if_the_connection_breaks) {
    session s;
    const softrnic::remote_slice to{.addr = 1, .length = 8, .rkey = 2};
    must(s.end.qp().read(arena::get().inbox(0, 8), to, {.id = 5}));
    must(s.end.qp().write(arena::get().outbox(pattern(8)), to, {.id = 6}));
    (void)s.wire.read_segment();
    (void)s.wire.read_segment();
    s.wire.reset();
    s.expect_status(5, IBV_WC_WR_FLUSH_ERR);
    s.expect_status(6, IBV_WC_WR_FLUSH_ERR);
}

// The other one may be good, and its response is under way.
TEST(ReadUnderWay, rfc5040_4_8_names_the_request_at_fault) {
    session s;
    for (const std::uint64_t id : {5U, 6U, 7U})
        must(s.end.qp().read(arena::get().inbox(0, 8), {.addr = 1, .rkey = 2}, {.id = id}));
    std::array<segment, 3> requests;
    for (segment& request : requests) request = s.wire.read_segment();
    s.wire.send(
        make_terminate(terminate_payload({0, 1, 1}, term_headers::ddp_and_rdmap, requests[1])));
    s.expect_status(5, IBV_WC_WR_FLUSH_ERR);
    s.expect_status(6, IBV_WC_REM_ACCESS_ERR);
    s.expect_status(7, IBV_WC_WR_FLUSH_ERR);
    s.expect_failed(IBV_EVENT_QP_FATAL, 1);
}

// TCP stops at an urgent byte, and MPA has no use for one: no stall, and no end in good order.
TEST(Urgent, rfc5044_8_ends_the_stream) {
    session s;
    s.wire.send_urgent(fpdu(make_send(1, pattern(8))));
    s.expect_terminate(bare<2, 0, 1>());
    s.expect_failed(IBV_EVENT_QP_REQ_ERR, 1);
}

// RFC 5044 section 7.2: between two FPDUs, and nobody is told of an error.
TEST(Closed, rfc5044_7_2_between_fpdus) {
    for (const role peer : {role::initiator, role::responder}) {
        session s(usual_options(peer));
        s.wire.send(make_send(1, pattern(8)));
        s.expect_receive(1, 8);
        s.wire.finish();
        s.expect_ended(2);
        s.wire.expect_closed();
    }
}

TEST(Closed, rfc5044_7_2_behind_the_last_message) {
    session s;
    s.wire.send(make_send(1, pattern(8)));
    s.wire.finish();
    s.expect_receive(1, 8);
    s.expect_ended(2);
    s.wire.expect_closed();
}

// Also where it has come in pieces, and may have waited for memory.
TEST(Closed, rfc5044_7_2_behind_a_message_in_pieces) {
    for (std::size_t cut = 4; cut < 28; cut += 8) {
        SCOPED_TRACE("cut at " + std::to_string(cut));
        session s;
        s.wire.send_cut(fpdu(make_send(1, pattern(8))), std::array{cut});
        s.wire.finish();
        s.expect_receive(1, 8);
        s.expect_ended(2);
        s.wire.expect_closed();
    }
}

// RFC 5040 section 6.2: what is posted is sent before the stream is closed.
TEST(Closed, rfc5040_6_2_by_the_verbs_side) {
    for (const role peer : {role::initiator, role::responder}) {
        session s(usual_options(peer));
        must(s.end.qp().send(arena::get().outbox(pattern(9)), {.id = 3}));
        must(s.end.disconnect());
        EXPECT_EQ(describe(s.wire.read_segment()), describe(make_send(1, pattern(9))));
        s.wire.expect_closed();
        s.wire.finish();
        s.expect_status(3, IBV_WC_SUCCESS);
        s.expect_ended(1);
    }
}

// A request that was on its way when the verbs side closed is not answered, and that is no error.
TEST(Closed, rfc5040_6_2_while_a_request_comes) {
    session s;
    const region& source = arena::get().layout().open;
    must(s.end.disconnect());
    s.wire.expect_closed();
    s.wire.send(make_read_request(1, {.sink_stag = 1,
                                      .sink_to = 2,
                                      .size = 8,
                                      .source_stag = source.stag,
                                      .source_to = source.base}));
    s.wire.finish();
    s.expect_ended(1);
}

/// What the kernel shares with this process of the queue pair that is connected and to which so
/// many receives have been posted.
srn_qp_ctrl& shared_control(std::uint32_t posted) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.find("uverbs") == std::string::npos) continue;
        std::size_t used = 0;
        const std::uintptr_t from = std::stoull(line, &used, 16);
        const std::uintptr_t to = std::stoull(line.substr(used + 1), nullptr, 16);
        for (std::uintptr_t page = from; page < to; page += 4096) {
            // NOLINTNEXTLINE(performance-no-int-to-ptr): this is what the file says
            auto* control = reinterpret_cast<srn_qp_ctrl*>(page);
            if (control->state == SRN_QP_CONNECTED && control->rq_prod == posted) return *control;
        }
    }
    throw std::runtime_error("no such queue pair in /proc/self/maps");
}

// What has been posted counts when the kernel is told of it. A process that never tells does not
// hold up its own end.
TEST(Closed, rfc5040_6_2_with_a_post_that_nobody_rings_for) {
    session_options options;
    options.posted = 29;
    // So few that the kernel has no room for copies before it is told of one.
    options.sends = 4;
    session s(options);
    std::atomic_ref(shared_control(options.posted).sq_prod).store(1);
    const auto begin = std::chrono::steady_clock::now();
    must(s.end.disconnect());
    s.wire.expect_closed();
    // The limit for what is posted is 10 s.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

/// Posts small messages one by one until the process may wait with its doorbells.
bool become_lazy(session& s, srn_qp_ctrl& control) {
    constexpr std::uint64_t enough = 4000;
    const std::atomic_ref kick(control.sq_kick);
    for (std::uint64_t id = 0; id < enough; ++id) {
        must(s.end.qp().send(arena::get().outbox(pattern(9)), {.id = id}));
        s.expect_status(id, IBV_WC_SUCCESS);
        if (kick.load() == SRN_KICK_LAZY) return true;
    }
    return false;
}

// Nobody rings for a process that may wait, so the kernel looks by itself. It does not look for
// ever at an index that cannot be.
TEST(Terminated, by_a_process_that_takes_back_what_it_has_posted) {
    session_options options;
    options.posted = 31;
    session s(options);
    srn_qp_ctrl& control = shared_control(options.posted);
    const std::atomic_ref index(control.sq_prod);
    bool seen = false;
    for (int tries = 0; tries < 20 && !seen; ++tries) {
        ASSERT_TRUE(become_lazy(s, control));
        index.fetch_sub(1);
        // If the kernel asks for a doorbell again it has not seen that yet, and will not.
        seen = std::atomic_ref(control.sq_kick).load() == SRN_KICK_LAZY;
        if (!seen) index.fetch_add(1);
    }
    ASSERT_TRUE(seen);
    s.expect_failed(IBV_EVENT_QP_FATAL, 1);
}

// RFC 5040 section 7.1, case 1: what was posted before the mistake is sent, and the peer learns
// that there was one.
TEST(Terminated, rfc5040_7_1_by_an_error_of_the_verbs_side) {
    session s;
    softrnic::local_slice wrong = arena::get().outbox(pattern(9));
    wrong.lkey ^= 1;
    must(s.end.qp().send(arena::get().outbox(pattern(9)), {.id = 3}));
    must(s.end.qp().send(wrong, {.id = 4}));
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_send(1, pattern(9))));
    s.expect_terminate(bare<0, 0, 0>());
    s.expect_status(3, IBV_WC_SUCCESS);
    s.expect_status(4, IBV_WC_LOC_PROT_ERR);
    s.expect_failed(IBV_EVENT_QP_FATAL, 1);
}

// A Read that was posted before the mistake is complete first, however long the peer takes.
TEST(Terminated, rfc5040_7_1_when_an_earlier_read_has_been_answered) {
    session s;
    softrnic::local_slice wrong = arena::get().outbox(pattern(9));
    wrong.lkey ^= 1;
    must(s.end.qp().read(arena::get().inbox(0, 8), {.addr = 1, .rkey = 2}, {.id = 3}));
    must(s.end.qp().send(wrong, {.id = 4}));
    const read_request r = decode_read_request(s.wire.read_segment().payload);
    std::this_thread::sleep_for(2 * moment);
    s.wire.send(make_read_response(r.sink_stag, r.sink_to, pattern(8)));
    s.expect_status(3, IBV_WC_SUCCESS);
    s.expect_status(4, IBV_WC_LOC_PROT_ERR);
    s.expect_terminate(bare<0, 0, 0>());
    s.expect_failed(IBV_EVENT_QP_FATAL, 1);
}

// RFC 5040 section 8.1.1: nothing of a region leaves when it has been deregistered, also where the
// peer has had the rest of a Read Response and the Terminate behind it wait.
TEST(Terminated, rfc5040_8_1_1_with_a_region_that_goes_meanwhile) {
    constexpr std::size_t size = 16U << 20U;
    // More than a header could have.
    constexpr int run = 64;
    bytes memory(size);
    // A socket has room for one buffer of what it sends.
    const support::kernel_setting small("/proc/sys/net/ipv4/tcp_wmem", "4096 4608 4608");
    framed_session f({.crc = false});
    std::optional<softrnic::mr> source(
        must(softrnic::mr::create(arena::get().domain(), std::as_writable_bytes(std::span(memory)),
                                  softrnic::access::remote_read)));
    f.wire.send(make_read_request(1, {.sink_stag = 3,
                                      .size = size,
                                      .source_stag = source->remote().rkey,
                                      .source_to = source->remote().addr}));
    std::this_thread::sleep_for(10 * moment);
    f.wire.send(make_write(unused_stag, 0, pattern(5)));
    std::this_thread::sleep_for(5 * moment);
    source.reset();
    std::ranges::fill(memory, poison);
    const bytes rest = f.s.wire.read_to_end();
    EXPECT_LT(rest.size(), size);
    EXPECT_EQ(std::search_n(rest.begin(), rest.end(), run, poison), rest.end());
}

// RFC 5044 section 8, error 1: inside of an FPDU it is a loss.
TEST(Closed, rfc5044_8_inside_of_an_fpdu) {
    const bytes whole = fpdu(make_send(1, pattern(5)));
    for (std::size_t length = 1; length < whole.size(); ++length) {
        SCOPED_TRACE("after " + std::to_string(length));
        session s;
        s.wire.send(byte_view(whole).first(length));
        s.wire.finish();
        s.expect_failed(IBV_EVENT_QP_FATAL, 1);
        if (HasFailure()) return;
    }
    expect_service();
}

// Inside of a message, but between two FPDUs.
TEST(Closed, rfc5041_6_2_inside_of_a_message) {
    session s;
    segment half = make_send(1, pattern(5));
    half.last = false;
    s.wire.send(half);
    s.wire.finish();
    must(s.end.wait_disconnected(patience));
    for (std::uint64_t id = 1; id <= receives; ++id) s.expect_status(id, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(must(s.end.qp().state()), IBV_QPS_ERR);
}

TEST(Closed, rfc5044_8_reset) {
    for (const role peer : {role::initiator, role::responder}) {
        session s(usual_options(peer));
        s.wire.reset();
        s.expect_failed(IBV_EVENT_QP_FATAL, 1);
    }
    expect_service();
}

}  // namespace
}  // namespace wirepeer
