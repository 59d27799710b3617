// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// RFC 7306: atomics and immediate data, in both directions.
#include <array>
#include <cstring>

#include "session.hpp"

namespace wirepeer {
namespace {

constexpr std::uint32_t their_stag = 0xa1b2c3d4;
constexpr std::uint64_t their_base = 0x1122334455667788;
constexpr std::uint64_t all_ones = ~std::uint64_t{0};

/// Which number is where atomics may work, in this host's byte order.
std::uint64_t target() {
    std::uint64_t value = 0;
    std::memcpy(&value, arena::get().bytes_of(arena::get().layout().atomic).data(), sizeof value);
    return value;
}
void set_target(std::uint64_t value) {
    std::memcpy(arena::get().bytes_of(arena::get().layout().atomic).data(), &value, sizeof value);
}

/// An operation, what it finds and what it leaves.
struct arithmetic {
    const char* name;
    atomic_request request;
    std::uint64_t before;
    std::uint64_t after;
};

std::ostream& operator<<(std::ostream& to, const arithmetic& a) {
    return to << a.name;
}

constexpr std::uint32_t fetch_add = atomic_request::fetch_add;
constexpr std::uint32_t compare_swap = atomic_request::compare_swap;

const arithmetic arithmetics[] = {
    {"rfc7306_5_1_1_add", {.code = fetch_add, .data = 5}, 37, 42},
    {"rfc7306_5_1_1_add_wraps", {.code = fetch_add, .data = 2}, all_ones, 1},
    {"rfc7306_5_1_1_add_nothing", {.code = fetch_add}, 37, 37},
    // Two fields of 32 bits: nothing is carried from one to the other.
    {"rfc7306_5_1_1_add_in_two_fields",
     {.code = fetch_add, .data = 0x0000000100000001, .mask = 0x8000000080000000},
     0x00000007ffffffff,
     0x0000000800000000},
    {"rfc7306_5_1_1_add_in_fields_of_a_bit",
     {.code = fetch_add, .data = 0xff, .mask = all_ones},
     0x0f,
     0xf0},
    {"rfc7306_5_2_1_add_ignores_the_compare_fields",
     {.code = fetch_add, .data = 1, .compare = 77, .compare_mask = 3},
     1,
     2},
    {"rfc7306_5_2_1_add_with_reserved_bits", {.code = 0xfffffff0 | fetch_add, .data = 1}, 1, 2},
    {"rfc7306_5_1_2_swap_if_equal",
     {.code = compare_swap, .data = 99, .mask = all_ones, .compare = 37},
     37,
     99},
    {"rfc7306_5_1_2_no_swap_if_not",
     {.code = compare_swap, .data = 99, .mask = all_ones, .compare = 38},
     37,
     37},
    {"rfc7306_5_1_2_compares_what_the_mask_says",
     {.code = compare_swap,
      .data = 99,
      .mask = all_ones,
      .compare = 0x1234ff,
      .compare_mask = 0xff},
     0xff,
     99},
    // What section 5.2.1 calls Swap: there is no code for it.
    {"rfc7306_5_1_2_compares_nothing_and_swaps",
     {.code = compare_swap, .data = 99, .mask = all_ones, .compare = 38, .compare_mask = 0},
     37,
     99},
    {"rfc7306_5_1_2_swaps_what_the_mask_says",
     {.code = compare_swap,
      .data = 0xaaaaaaaaaaaaaaaa,
      .mask = 0xff00,
      .compare = 0x1122334455667788},
     0x1122334455667788,
     0x112233445566aa88},
};

class Atomic : public ::testing::TestWithParam<arithmetic> {};

TEST_P(Atomic, IsExecuted) {
    session s;
    set_target(GetParam().before);
    atomic_request r = GetParam().request;
    r.id = 0xfeedbeef;
    r.stag = arena::get().layout().atomic.stag;
    r.to = arena::get().layout().atomic.base;
    s.wire.send(make_atomic_request(1, r));
    EXPECT_EQ(describe(s.wire.read_segment()),
              describe(make_atomic_response(1, r.id, GetParam().before)));
    EXPECT_EQ(target(), GetParam().after);
}

INSTANTIATE_TEST_SUITE_P(, Atomic, ::testing::ValuesIn(arithmetics),
                         [](const auto& test) { return test.param.name; });

// They share the queue with Read Requests, and the answers come in order on queues of their own.
TEST(Atomics, rfc7306_5_2_2_answered_in_order) {
    session s;
    const region& place = arena::get().layout().atomic;
    const region& open = arena::get().layout().open;
    const auto add = [&](std::uint32_t msn) {
        return make_atomic_request(msn,
                                   {.id = msn, .stag = place.stag, .to = place.base, .data = 1});
    };
    const auto read = [&](std::uint32_t msn) {
        return make_read_request(
            msn, {.sink_stag = msn, .size = 8, .source_stag = open.stag, .source_to = open.base});
    };
    s.wire.send(fpdus(std::array{add(1), read(2), add(3), read(4)}));
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_atomic_response(1, 1, 0)));
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_read_response(2, 0, bytes(8))));
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_atomic_response(2, 3, 1)));
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_read_response(4, 0, bytes(8))));
    EXPECT_EQ(target(), 2U);
}

TEST(Atomics, rfc7306_5_2_1_cut_at_every_byte) {
    session s;
    const region& place = arena::get().layout().atomic;
    const std::size_t length = fpdu(make_atomic_request(1, {})).size();
    for (std::size_t cut = 1; cut < length; ++cut) {
        SCOPED_TRACE("cut at " + std::to_string(cut));
        const auto msn = static_cast<std::uint32_t>(cut);
        const segment request =
            make_atomic_request(msn, {.id = msn, .stag = place.stag, .to = place.base, .data = 1});
        s.wire.send_cut(fpdu(request), std::array{cut});
        EXPECT_EQ(describe(s.wire.read_segment()),
                  describe(make_atomic_response(msn, msn, msn - 1)));
    }
}

std::uint64_t result_in_inbox() {
    std::uint64_t value = 0;
    std::memcpy(&value, arena::get().inbox_bytes(0, 8).data(), sizeof value);
    return value;
}

TEST(Atomics, rfc7306_5_2_1_fetch_add_of_the_verbs_side) {
    session s;
    must(s.end.qp().fetch_add(arena::get().inbox(0, 8), {.addr = their_base, .rkey = their_stag}, 5,
                              {.id = 3}));
    const segment got = s.wire.read_segment();
    const atomic_request r = decode_atomic_request(got.payload);
    EXPECT_EQ(describe(got), describe(make_atomic_request(1, r)));
    EXPECT_EQ(r, (atomic_request{.code = fetch_add,
                                 .id = r.id,
                                 .stag = their_stag,
                                 .to = their_base,
                                 .data = 5,
                                 .mask = 0,
                                 .compare = 0,
                                 .compare_mask = all_ones}));
    s.wire.send(make_atomic_response(1, r.id, 0x0102030405060708));
    const ibv_wc wc = s.next();
    EXPECT_EQ(wc.wr_id, 3U);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_FETCH_ADD);
    EXPECT_EQ(result_in_inbox(), 0x0102030405060708U);
}

TEST(Atomics, rfc7306_5_2_1_compare_swap_of_the_verbs_side) {
    session s;
    must(s.end.qp().compare_swap(arena::get().inbox(0, 8), {.addr = their_base, .rkey = their_stag},
                                 5, 6, {.id = 3}));
    const segment got = s.wire.read_segment();
    const atomic_request r = decode_atomic_request(got.payload);
    EXPECT_EQ(describe(got), describe(make_atomic_request(1, r)));
    EXPECT_EQ(r, (atomic_request{.code = compare_swap,
                                 .id = r.id,
                                 .stag = their_stag,
                                 .to = their_base,
                                 .data = 6,
                                 .mask = all_ones,
                                 .compare = 5,
                                 .compare_mask = all_ones}));
    s.wire.send(make_atomic_response(1, r.id, 5));
    s.expect_status(3, IBV_WC_SUCCESS);
    EXPECT_EQ(result_in_inbox(), 5U);
}

/// Atomic Responses that are none to the only request, section 5.2.2 and RFC 5041 section 7.1; and
/// the Terminate that answers the last of these segments.
struct bad_response {
    const char* name;
    std::vector<segment> (*make)(std::uint32_t id);
    term_code why;
    /// The request has been answered before.
    bool answered = false;
};

std::ostream& operator<<(std::ostream& to, const bad_response& b) {
    return to << b.name;
}

const bad_response bad_responses[] = {
    {"rfc7306_5_2_2_identifier_of_no_request",
     [](std::uint32_t id) { return std::vector{make_atomic_response(1, id + 1, 5)}; },
     {0, 2, 0xff}},
    {"rfc5041_7_1_a_second_one",
     [](std::uint32_t id) {
         return std::vector{make_atomic_response(1, id, 5), make_atomic_response(2, id, 5)};
     },
     {1, 2, 2},
     true},
    {"rfc5041_7_1_msn_0",
     [](std::uint32_t id) { return std::vector{make_atomic_response(0, id, 5)}; },
     {1, 2, 3}},
    {"rfc5041_7_1_msn_2",
     [](std::uint32_t id) { return std::vector{make_atomic_response(2, id, 5)}; },
     {1, 2, 3}},
    {"rfc5041_7_1_offset",
     [](std::uint32_t id) {
         return changed(make_atomic_response(1, id, 5), [](auto& s) { s.mo = 4; });
     },
     {1, 2, 4}},
    {"rfc5041_7_1_too_long",
     [](std::uint32_t id) {
         return changed(make_atomic_response(1, id, 5), [](auto& s) { s.payload.push_back(0); });
     },
     {1, 2, 5}},
    {"rfc7306_5_2_2_too_short",
     [](std::uint32_t id) {
         return changed(make_atomic_response(1, id, 5), [](auto& s) { s.payload.pop_back(); });
     },
     {0, 2, 0xff}},
    {"rfc7306_5_2_2_empty",
     [](std::uint32_t id) {
         return changed(make_atomic_response(1, id, 5), [](auto& s) { s.payload.clear(); });
     },
     {0, 2, 0xff}},
    {"rfc7306_5_2_2_in_two_segments",
     [](std::uint32_t id) {
         return changed(make_atomic_response(1, id, 5), [](auto& s) {
             s.payload.resize(4);
             s.last = false;
         });
     },
     {0, 2, 0xff}},
    {"rfc7306_4_1_on_queue_0",
     [](std::uint32_t id) {
         return changed(make_atomic_response(1, id, 5), [](auto& s) { s.qn = 0; });
     },
     {0, 2, 6}},
    {"rfc5041_7_1_on_queue_4",
     [](std::uint32_t id) {
         return changed(make_atomic_response(1, id, 5), [](auto& s) { s.qn = 4; });
     },
     {1, 2, 1}},
    {"rfc5041_7_1_a_read_response_instead",
     [](std::uint32_t id) { return std::vector{make_read_response(id, 0, pattern(8))}; },
     {1, 1, 0}},
};

class BadResponse : public ::testing::TestWithParam<bad_response> {};

TEST_P(BadResponse, EndsWithTerminate) {
    session s;
    must(s.end.qp().fetch_add(arena::get().inbox(0, 8), {.addr = their_base, .rkey = their_stag}, 5,
                              {.id = 3}));
    const atomic_request r = decode_atomic_request(s.wire.read_segment().payload);
    const std::vector<segment> sent = GetParam().make(r.id);
    s.wire.send(fpdus(sent));
    s.expect_terminate(terminate_payload(GetParam().why, term_headers::ddp, sent.back()));
    s.expect_status(3, GetParam().answered ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
    s.expect_failed(event_of(GetParam().why), 1);
    EXPECT_EQ(result_in_inbox(), GetParam().answered ? 5U : 0U);
    expect_service();
}

INSTANTIATE_TEST_SUITE_P(, BadResponse, ::testing::ValuesIn(bad_responses),
                         [](const auto& test) { return test.param.name; });

/// One that answers nothing, also where a Read is outstanding: it has no buffer.
TEST(Atomics, rfc7306_5_2_2_response_unasked) {
    for (const bool reading : {false, true}) {
        session s;
        if (reading) {
            must(s.end.qp().read(arena::get().inbox(0, 8), {.addr = their_base, .rkey = their_stag},
                                 {.id = 3}));
            EXPECT_EQ(s.wire.read_segment().opcode, op::read_request);
        }
        const segment sent = make_atomic_response(1, 0, 1);
        s.wire.send(sent);
        s.expect_terminate(terminate_payload({1, 2, 2}, term_headers::ddp, sent));
        if (reading) s.expect_status(3, IBV_WC_WR_FLUSH_ERR);
        s.expect_failed(IBV_EVENT_QP_REQ_ERR, 1);
    }
    expect_service();
}

/// Immediate Data takes a receive and leaves its memory alone.
void expect_immediate(session& s, std::uint64_t id, std::uint32_t length, std::uint32_t data) {
    const ibv_wc wc = s.next();
    EXPECT_EQ(wc.wr_id, id);
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(wc.byte_len, length);
    EXPECT_EQ(softrnic::immediate_of(wc), data);
}

TEST(ImmediateData, rfc7306_6_3_is_received) {
    session s;
    const region open = arena::get().layout().open;
    const std::array all{make_immediate(1, 0x01020304),
                         make_write(open.stag, open.base, pattern(8)),
                         make_immediate(2, 0xffffffff, op::immediate_se), make_send(3, pattern(9))};
    s.wire.send(fpdus(all));
    expect_immediate(s, 1, 0, 0x01020304);
    expect_immediate(s, 2, 8, 0xffffffff);
    s.expect_receive(3, 9);
}

TEST(ImmediateData, rfc7306_6_2_of_the_verbs_side) {
    session s;
    must(s.end.qp().write_with_immediate(arena::get().outbox(pattern(8)),
                                         {.addr = their_base, .rkey = their_stag}, 0x01020304,
                                         {.id = 3}));
    EXPECT_EQ(describe(s.wire.read_segment()),
              describe(make_write(their_stag, their_base, pattern(8))));
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_immediate(1, 0x01020304)));
    s.expect_status(3, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace wirepeer
