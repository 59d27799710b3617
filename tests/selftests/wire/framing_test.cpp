// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Markers at every place of an FPDU, in both directions, and connections without CRC: RFC 5044
// sections 4.2 to 4.4.
#include "framing.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace wirepeer {
namespace {

constexpr std::uint32_t their_stag = 0xa1b2c3d4;
constexpr std::uint64_t their_base = 0x1122334455667788;

/// Places of a marker in an FPDU of so many bytes: in front of it, within, and before its CRC.
std::vector<std::size_t> places_in(const segment& s) {
    std::vector<std::size_t> all;
    for (std::size_t at = 0; at < fpdu(s).size(); at += 4) all.push_back(at);
    return all;
}

/// The peer's next FPDU is going to begin there.
void fill_out(framed_session& f, std::size_t position) {
    const region open = arena::get().layout().open;
    f.wire.send(make_write(open.stag, open.base, bytes(filler(f.wire.out(), position))));
}

class Framing : public ::testing::TestWithParam<agreement> {};

// Messages in both directions, and an orderly end.
TEST_P(Framing, rfc5044_7_1_1_as_agreed_on) {
    framed_session f(GetParam());
    const bytes there = pattern(900), back = pattern(1999, 9);
    const region open = arena::get().layout().open;
    must(f.s.end.qp().send(arena::get().outbox(back), {.id = 7}));
    EXPECT_EQ(describe(f.wire.read_segment()), describe(make_send(1, back)));
    f.s.expect_status(7, IBV_WC_SUCCESS);
    f.wire.send(make_write(open.stag, open.base, there));
    f.wire.send(make_send(1, pattern(20)));
    f.s.expect_receive(1, 20);
    EXPECT_EQ(hex(arena::get().inbox_bytes(0, 20)), hex(pattern(20)));
    EXPECT_EQ(hex(arena::get().bytes_of(open).first(900)), hex(there));
    f.wire.send(make_read_request(
        1, {.sink_stag = 3, .size = 900, .source_stag = open.stag, .source_to = open.base}));
    EXPECT_EQ(describe(f.wire.read_segment()), describe(make_read_response(3, 0, there)));
    f.s.wire.finish();
    f.s.expect_ended(2);
    f.s.wire.expect_closed();
}

// A violation is answered in the framing that the peer wants.
TEST_P(Framing, rfc5044_7_1_1_terminate) {
    framed_session f(GetParam());
    const segment bad = make_write(unused_stag, 0, pattern(5));
    f.wire.send(bad);
    EXPECT_EQ(describe(f.wire.read_segment()),
              describe(make_terminate(terminate_payload({1, 1, 0}, term_headers::ddp, bad))));
    f.s.wire.expect_closed();
    f.s.expect_failed(IBV_EVENT_QP_ACCESS_ERR, 1);
}

std::vector<agreement> agreements() {
    std::vector<agreement> all;
    for (unsigned bits = 0; bits < 16; ++bits)
        all.push_back({.crc = (bits & 1) != 0,
                       .markers_to_verbs = (bits & 2) != 0,
                       .markers_from_verbs = (bits & 4) != 0,
                       .peer = bits & 8 ? role::responder : role::initiator});
    return all;
}

INSTANTIATE_TEST_SUITE_P(, Framing, ::testing::ValuesIn(agreements()),
                         ::testing::PrintToStringParamName());

/// With CRC and without.
class Markers : public ::testing::TestWithParam<bool> {};

TEST_P(Markers, rfc5044_4_3_at_every_place_of_a_send) {
    const auto places = places_in(make_send(1, pattern(9)));
    framed_session f({.crc = GetParam(), .markers_to_verbs = true}, 64);
    std::uint32_t number = 0;
    for (const std::size_t place : places) {
        SCOPED_TRACE("marker at byte " + std::to_string(place));
        fill_out(f, marker_interval - place);
        ++number;
        f.wire.send(make_send(number, pattern(9, number)));
        f.s.expect_receive(number, 9);
        EXPECT_EQ(hex(arena::get().inbox_bytes((number - 1) * receive_size, 9)),
                  hex(pattern(9, number)));
        if (HasFailure()) return;
    }
}

TEST_P(Markers, rfc5044_4_3_at_every_place_of_a_write) {
    const region open = arena::get().layout().open;
    framed_session f({.crc = GetParam(), .markers_to_verbs = true}, 64);
    std::uint32_t number = 0;
    for (const std::size_t place : places_in(make_write(0, 0, pattern(11)))) {
        SCOPED_TRACE("marker at byte " + std::to_string(place));
        fill_out(f, marker_interval - place);
        ++number;
        f.wire.send(make_write(open.stag, open.base, pattern(11, number)));
        f.wire.send(make_send(number, {}));
        f.s.expect_receive(number, 0);
        EXPECT_EQ(hex(arena::get().bytes_of(open).first(11)), hex(pattern(11, number)));
        if (HasFailure()) return;
    }
}

TEST_P(Markers, rfc5044_4_3_at_every_place_of_a_read_request) {
    framed_session f({.crc = GetParam(), .markers_to_verbs = true});
    const region open = arena::get().layout().open;
    std::ranges::copy(pattern(open.size), arena::get().bytes_of(open).begin());
    const read_request r{
        .sink_stag = 3, .size = 5, .source_stag = open.stag, .source_to = open.base + 512};
    std::uint32_t number = 0;
    for (const std::size_t place : places_in(make_read_request(1, r))) {
        SCOPED_TRACE("marker at byte " + std::to_string(place));
        // Into the part that is not read.
        fill_out(f, marker_interval - place);
        f.wire.send(make_read_request(++number, r));
        EXPECT_EQ(describe(f.wire.read_segment()),
                  describe(make_read_response(3, 0, pattern(5, 512))));
        if (HasFailure()) return;
    }
}

// However TCP cuts the FPDU and the marker in it.
TEST_P(Markers, rfc5044_4_3_cut_at_every_byte) {
    framed_session f({.crc = GetParam(), .markers_to_verbs = true}, 64);
    const std::size_t length = fpdu(make_send(1, pattern(9))).size() + marker_length;
    for (std::size_t cut = 1; cut < length; ++cut) {
        SCOPED_TRACE("cut at " + std::to_string(cut));
        const auto number = static_cast<std::uint32_t>(cut);
        fill_out(f, marker_interval - 16);
        f.wire.send_cut(make_send(number, pattern(9, number)), cut);
        f.s.expect_receive(number, 9);
        if (HasFailure()) return;
    }
}

// Of the verbs side: framed_wire looks at each marker.
TEST_P(Markers, rfc5044_4_3_sent_at_every_place) {
    framed_session f({.crc = GetParam(), .markers_from_verbs = true});
    std::uint32_t number = 0;
    // The other way round: the first FPDU shall not end where a marker is due, which Wireshark,
    // who is shown this (tests/interop/wireshark.sh), gets wrong.
    auto places = places_in(make_send(1, pattern(9)));
    std::ranges::reverse(places);
    for (const std::size_t place : places) {
        SCOPED_TRACE("marker at byte " + std::to_string(place));
        const bytes zeros(filler(f.wire.in(), marker_interval - place));
        must(f.s.end.qp().write(arena::get().outbox(zeros),
                                {.addr = their_base, .rkey = their_stag}, {.id = 1}));
        EXPECT_EQ(describe(f.wire.read_segment()),
                  describe(make_write(their_stag, their_base, zeros)));
        f.s.expect_status(1, IBV_WC_SUCCESS);
        EXPECT_EQ(f.wire.in().position() % marker_interval,
                  (marker_interval - place) % marker_interval);
        ++number;
        must(f.s.end.qp().send(arena::get().outbox(pattern(9, number)), {.id = 2}));
        EXPECT_EQ(describe(f.wire.read_segment()), describe(make_send(number, pattern(9, number))));
        f.s.expect_status(2, IBV_WC_SUCCESS);
        if (HasFailure()) return;
    }
}

// Section 4.5: with its markers, an FPDU still fits a segment of TCP.
TEST_P(Markers, rfc5044_4_5_count_for_the_segment) {
    for (const int mss : {536, 1000, 1460}) {
        SCOPED_TRACE("MSS " + std::to_string(mss));
        framed_session f({.crc = GetParam(), .markers_from_verbs = true}, receives, mss);
        const bytes text = pattern(70'001);
        must(f.s.end.qp().send(arena::get().outbox(text), {.id = 5}));
        bytes got;
        for (bool last = false; !last;) {
            const std::size_t before = f.wire.in().position();
            const segment part = f.wire.read_segment();
            EXPECT_EQ(part.mo, got.size());
            EXPECT_LE(f.wire.in().position() - before, static_cast<std::size_t>(mss));
            append(got, part.payload);
            last = part.last;
        }
        EXPECT_TRUE(got == text);
        f.s.expect_status(5, IBV_WC_SUCCESS);
    }
}

INSTANTIATE_TEST_SUITE_P(, Markers, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "crc" : "nocrc"; });

/// A marker that is changed before the CRC is made.
struct spoiled_marker {
    const char* name;
    /// How far behind the start of its FPDU it stands.
    std::size_t place;
    void (*spoil)(bytes& marker);
};

std::ostream& operator<<(std::ostream& to, const spoiled_marker& m) {
    return to << m.name;
}

const spoiled_marker wrong_markers[] = {
    {"rfc5044_8_too_far_back", 20, [](bytes& m) { m[3] = 24; }},
    {"rfc5044_8_not_far_enough", 20, [](bytes& m) { m[3] = 16; }},
    {"rfc5044_8_farther_than_the_stream_goes", 20, [](bytes& m) { m[2] = 0xff; }},
    {"rfc5044_8_as_if_it_was_in_front", 20, [](bytes& m) { m[3] = 0; }},
    {"rfc5044_8_in_front_as_if_it_was_within", 0, [](bytes& m) { m[3] = 20; }},
    {"rfc5044_8_in_the_header", 4, [](bytes& m) { m[3] = 8; }},
    {"rfc5044_8_before_the_crc", 32, [](bytes& m) { m[3] = 28; }},
};

class WrongMarker : public ::testing::TestWithParam<std::tuple<spoiled_marker, bool>> {};

TEST_P(WrongMarker, EndsWithTerminate) {
    const auto& [wrong, crc] = GetParam();
    {
        framed_session f({.crc = crc, .markers_to_verbs = true});
        fill_out(f, marker_interval - wrong.place);
        f.wire.send(make_send(1, pattern(9)), wrong.spoil);
        EXPECT_EQ(describe(f.wire.read_segment()),
                  describe(make_terminate(terminate_payload({2, 0, 3}, term_headers::none, {}))));
        f.s.wire.expect_closed();
        f.s.expect_failed(IBV_EVENT_QP_REQ_ERR, 1);
    }
    expect_service();
}

INSTANTIATE_TEST_SUITE_P(, WrongMarker,
                         ::testing::Combine(::testing::ValuesIn(wrong_markers), ::testing::Bool()),
                         [](const auto& test) {
                             return std::string(std::get<0>(test.param).name) +
                                    (std::get<1>(test.param) ? "_crc" : "_nocrc");
                         });

// Section 8: a marker is only wrong where the CRC is right; else it is the CRC that is.
TEST(SpoiledMarker, rfc5044_8_on_its_way) {
    for (const std::size_t place : {std::size_t{0}, std::size_t{20}}) {
        SCOPED_TRACE("marker at byte " + std::to_string(place));
        framed_session f({.markers_to_verbs = true});
        fill_out(f, marker_interval - place);
        fpdu_stream out = f.wire.out();
        bytes sent = out.next(make_send(1, pattern(9)));
        sent[place + 3] ^= 4;
        f.s.wire.send(sent);
        EXPECT_EQ(describe(f.wire.read_segment()),
                  describe(make_terminate(terminate_payload({2, 0, 2}, term_headers::none, {}))));
        f.s.wire.expect_closed();
        f.s.expect_failed(IBV_EVENT_QP_REQ_ERR, 1);
    }
}

// Section 4.2: what a receiver has to ignore.
TEST(SpoiledMarker, rfc5044_4_2_reserved_bits_are_ignored) {
    framed_session f({.markers_to_verbs = true});
    fill_out(f, marker_interval - 20);
    f.wire.send(make_send(1, pattern(9)), [](bytes& m) { m[0] = m[1] = 0xff; });
    f.s.expect_receive(1, 9);
    fill_out(f, marker_interval - 20);
    f.wire.send(make_send(2, pattern(9)), [](bytes& m) { m[3] |= 3; });
    f.s.expect_receive(2, 9);
}

// Section 7.1.1: the field is there, and whatever it holds is right.
TEST(NoCrc, rfc5044_7_1_1_any_crc_is_right) {
    framed_session f({.crc = false});
    bytes sent = fpdu_stream({.crc = false}).next(make_send(1, pattern(9)));
    std::fill(sent.end() - crc_length, sent.end(), std::uint8_t{0x5a});
    f.s.wire.send(sent);
    f.s.expect_receive(1, 9);
}

// If one of both asks for CRCs there are CRCs, whichever it is.
TEST(NoCrc, rfc5044_7_1_1_unless_the_peer_wants_it) {
    const link_setting off("crc", false);
    for (const role peer : {role::initiator, role::responder}) {
        session s(usual_options(peer));
        // In a reply it says what has been settled on.
        EXPECT_EQ(s.theirs.crc, peer == role::initiator);
        s.wire.send(make_send(1, pattern(20)));
        s.expect_receive(1, 20);
        must(s.end.qp().send(arena::get().outbox(pattern(3)), {.id = 7}));
        EXPECT_EQ(describe(s.wire.read_segment()), describe(make_send(1, pattern(3))));
        bytes wrong = fpdu(make_send(2, pattern(5)));
        wrong.back() ^= 1;
        s.wire.send(wrong);
        s.expect_terminate(terminate_payload({2, 0, 2}, term_headers::none, {}));
    }
}

// Programs poll the end of a Write. Without CRC the rest of a segment is placed as it comes.
TEST(NoCrc, the_end_of_a_write_appears_at_once) {
    constexpr std::size_t size = 256, polled = 48, header = 16;
    const bytes text(size, 0x5a);
    framed_session f({.crc = false});
    const region open = arena::get().layout().open;
    std::uint64_t at = 0;
    std::uint32_t number = 0;
    for (const std::size_t missing : {1U, 20U, 47U}) {
        const bytes all = fpdu(make_write(open.stag, open.base + at, text));
        const std::size_t cut = header + size - missing;
        const auto target = arena::get().bytes_of(open).subspan(at, size);
        const auto end = target.last(polled);
        f.s.wire.send(byte_view(all).first(cut));
        for (int i = 0; i < 5000 && target[size - polled - 1] == 0; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        EXPECT_EQ(hex(target.first(size - polled)), hex(byte_view(text).first(size - polled)));
        EXPECT_EQ(std::ranges::count(end, 0), std::ptrdiff_t{polled}) << missing << " are missing";
        f.s.wire.send(byte_view(all).subspan(cut));
        f.wire.send(make_send(++number, pattern(20)));
        f.s.expect_receive(number, 20);
        EXPECT_EQ(hex(target), hex(text));
        at += size;
    }
}

/// The segments of the message that comes next, one behind another, put together.
bytes read_parts(framed_session& f, std::size_t& largest) {
    bytes all;
    largest = 0;
    for (bool last = false; !last;) {
        const segment part = f.wire.read_segment();
        EXPECT_EQ(part.tagged ? part.to : part.mo, all.size());
        largest = std::max(largest, ulpdu(part).size());
        append(all, part.payload);
        last = part.last;
    }
    return all;
}

/// By the longest segment of TCP.
class LargeFpdus : public ::testing::TestWithParam<int> {
protected:
    static constexpr std::size_t limit = 64'768;

private:
    link_setting large_{"large_fpdus", true};
};

// Section 3: what MPA may hand on at most. A segment of TCP is no limit, where the link says so.
TEST_P(LargeFpdus, rfc5044_3_up_to_the_limit) {
    const bytes text = pattern(200'001);
    std::size_t largest = 0;
    framed_session f({.crc = false}, receives, GetParam());
    must(f.s.end.qp().send(arena::get().outbox(text), {.id = 5}));
    EXPECT_TRUE(read_parts(f, largest) == text);
    EXPECT_LE(largest, limit);
    EXPECT_GT(largest, limit * 9 / 10);
    f.s.expect_status(5, IBV_WC_SUCCESS);

    must(f.s.end.qp().write(arena::get().outbox(text), {.addr = 0, .rkey = their_stag}, {.id = 6}));
    EXPECT_TRUE(read_parts(f, largest) == text);
    EXPECT_LE(largest, limit);
    EXPECT_GT(largest, limit * 9 / 10);
    f.s.expect_status(6, IBV_WC_SUCCESS);
}

TEST_P(LargeFpdus, rfc5044_3_of_a_read_response) {
    const bytes text = pattern(200'001);
    auto source = must(softrnic::buffer::create(arena::get().domain(), text.size(),
                                                softrnic::access::remote_read));
    std::ranges::copy(std::as_bytes(std::span(text)), source.bytes().begin());
    const softrnic::remote_slice named = source.remote();
    std::size_t largest = 0;
    framed_session f({.crc = false}, receives, GetParam());
    f.wire.send(make_read_request(1, {.sink_stag = 3,
                                      .size = static_cast<std::uint32_t>(text.size()),
                                      .source_stag = named.rkey,
                                      .source_to = named.addr}));
    EXPECT_TRUE(read_parts(f, largest) == text);
    EXPECT_LE(largest, limit);
    EXPECT_GT(largest, limit * 9 / 10);
}

// With CRCs, too.
TEST_P(LargeFpdus, rfc5044_4_5_with_crc) {
    const auto mss = static_cast<std::size_t>(GetParam());
    const bytes text = pattern(200'001);
    std::size_t largest = 0;
    framed_session f({}, receives, GetParam());
    must(f.s.end.qp().send(arena::get().outbox(text), {.id = 5}));
    EXPECT_TRUE(read_parts(f, largest) == text);
    EXPECT_GT(largest, mss + mss / 2);
    EXPECT_GT(largest, 20'000U);
    f.s.expect_status(5, IBV_WC_SUCCESS);
}

// Where there are markers they come as often as ever.
TEST_P(LargeFpdus, rfc5044_4_5_but_not_with_markers) {
    framed_session f({.crc = false, .markers_from_verbs = true}, receives, GetParam());
    const bytes text = pattern(20'000);
    std::size_t largest = 0;
    must(f.s.end.qp().send(arena::get().outbox(text), {.id = 5}));
    EXPECT_TRUE(read_parts(f, largest) == text);
    EXPECT_LT(largest, static_cast<std::size_t>(GetParam()));
    f.s.expect_status(5, IBV_WC_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(, LargeFpdus, ::testing::Values(536, 1001, 1460, 8948),
                         [](const auto& test) { return "mss_" + std::to_string(test.param); });

}  // namespace
}  // namespace wirepeer
