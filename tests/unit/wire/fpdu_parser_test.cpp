// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The FPDU parser: the same FPDUs come out however the stream is cut, and nothing of an FPDU that
// is damaged passes for good. receiver in stream.hpp checks the order of events on the way.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "stream.hpp"

namespace {

constexpr srn_term_code bad_crc{2, 0, 2};
constexpr srn_term_code bad_length{2, 0, 3};

// One FPDU of each opcode, of each payload length modulo 4, with and without the L bit.
std::vector<fpdu_recipe> every_kind(bool crc) {
    std::vector<fpdu_recipe> recipes;
    for (unsigned op = 0; op < SRN_OP_COUNT; op++) {
        fpdu_recipe r;
        r.op = static_cast<srn_rdmap_opcode>(op);
        r.payload = pattern(op == SRN_OP_SEND_SE ? 0 : op * 5, op);
        r.msn = op + 1;
        r.mo = op * 1000;
        r.stag = 0xab000000 + op;
        r.to = 0xfedcba9876543210 + op;
        r.last = op % 3 != 0;
        r.crc = crc;
        recipes.push_back(r);
    }
    return recipes;
}

struct test_stream {
    byte_vector bytes;
    cut_list ends;  // of the FPDUs
    fpdu_list fpdus;
};

test_stream stream_of(const std::vector<fpdu_recipe>& recipes) {
    test_stream s;
    for (const fpdu_recipe& r : recipes) {
        received_fpdu want;
        want.header_bytes = fpdu_body(r);
        want.header_bytes.resize(want.header_bytes.size() - r.payload.size());
        srn_rdmap_get_header(want.header_bytes.data(), &want.header);
        want.payload = r.payload;
        want.complete = true;
        s.fpdus.push_back(want);
        append(s.bytes, make_fpdu(r));
        s.ends.push_back(s.bytes.size());
    }
    return s;
}

void expect_whole(const receiver& r, const test_stream& s) {
    EXPECT_EQ(r.broken_rule(), "");
    EXPECT_FALSE(r.error()) << *r.error();
    EXPECT_EQ(r.fpdus(), s.fpdus);
    EXPECT_EQ(r.consumed(), s.bytes.size());
    EXPECT_TRUE(r.at_boundary());
}

class FpduStream : public testing::TestWithParam<bool> {
protected:
    const bool crc = GetParam();
    const test_stream stream = stream_of(every_kind(crc));
};

TEST_P(FpduStream, InOnePiece) {
    expect_whole(receive(stream.bytes, crc), stream);
}

TEST_P(FpduStream, CutInTwoAnywhere) {
    for (std::size_t cut = 0; cut <= stream.bytes.size(); cut++) {
        SCOPED_TRACE(cut);
        expect_whole(receive(stream.bytes, crc, {cut}), stream);
    }
}

TEST_P(FpduStream, CutInThreeAnywhere) {
    // The first FPDUs alone; all of them would be 100,000 cuts.
    auto recipes = every_kind(crc);
    recipes.resize(4);
    const test_stream few = stream_of(recipes);
    for (std::size_t a = 0; a <= few.bytes.size(); a++) {
        for (std::size_t b = a; b <= few.bytes.size(); b++) {
            SCOPED_TRACE(testing::Message() << a << ' ' << b);
            expect_whole(receive(few.bytes, crc, {a, b}), few);
        }
    }
}

TEST_P(FpduStream, ByteByByte) {
    expect_whole(receive(stream.bytes, crc, every_byte(stream.bytes.size())), stream);
}

TEST_P(FpduStream, CutAtRandom) {
    std::mt19937 random(20071001);
    for (int round = 0; round < 1000; round++) {
        cut_list cuts(random() % 40);
        for (std::size_t& cut : cuts) cut = random() % (stream.bytes.size() + 1);
        std::sort(cuts.begin(), cuts.end());
        SCOPED_TRACE(testing::PrintToString(cuts));
        expect_whole(receive(stream.bytes, crc, cuts), stream);
    }
}

TEST_P(FpduStream, IsAtABoundaryBetweenFpdusOnly) {
    receiver r(crc);
    EXPECT_TRUE(r.at_boundary());
    for (std::size_t i = 0; i < stream.bytes.size(); i++) {
        ASSERT_TRUE(r.feed(byte_span(stream.bytes).subspan(i, 1)));
        const bool end =
            std::find(stream.ends.begin(), stream.ends.end(), i + 1) != stream.ends.end();
        EXPECT_EQ(r.at_boundary(), end) << "after byte " << i;
    }
}

TEST_P(FpduStream, NothingIsNoEvent) {
    receiver r(crc);
    for (std::size_t i = 0; i < stream.bytes.size(); i++) {
        srn_fpdu_event event{};
        EXPECT_EQ(srn_fpdu_parse(&r.parser(), nullptr, 0, &event), 0U);
        EXPECT_EQ(event.type, SRN_FPDU_MORE);
        ASSERT_TRUE(r.feed(byte_span(stream.bytes).subspan(i, 1)));
    }
    expect_whole(r, stream);
}

TEST_P(FpduStream, LargestUlpdus) {
    for (std::size_t ulpdu = 65532; ulpdu <= 65535; ulpdu++) {
        for (const auto op : {SRN_OP_WRITE, SRN_OP_SEND}) {
            SCOPED_TRACE(testing::Message() << ulpdu << ' ' << srn_opcodes[op].name);
            const std::size_t header = op == SRN_OP_WRITE ? 14 : 18;
            const fpdu_recipe large{.op = op, .payload = pattern(ulpdu - header), .crc = crc};
            const fpdu_recipe small{.payload = pattern(3), .crc = crc};
            const test_stream s = stream_of({large, small});
            expect_whole(receive(s.bytes, crc), s);
            expect_whole(receive(s.bytes, crc, {1, 1448, 1449, 40000, s.ends[0] - 1}), s);
        }
    }
}

TEST_P(FpduStream, EveryPayloadLength) {
    for (std::size_t length = 0; length < 70; length++) {
        for (const auto op : {SRN_OP_READ_RESPONSE, SRN_OP_SEND_SE_INV}) {
            SCOPED_TRACE(length);
            const test_stream s =
                stream_of({{.op = op, .payload = pattern(length), .crc = crc},
                           {.op = SRN_OP_SEND, .payload = pattern(length + 1), .crc = crc}});
            expect_whole(receive(s.bytes, crc), s);
            expect_whole(receive(s.bytes, crc, every_byte(s.bytes.size())), s);
        }
    }
}

// RFC 5044 section 4.2: with every length below that of the header that its T bit announces.
TEST_P(FpduStream, UlpduTooShortForItsHeader) {
    const std::size_t filler = 100;
    for (const bool tagged : {false, true}) {
        const unsigned header = tagged ? 14 : 18;
        for (unsigned ulpdu = 0; ulpdu <= header; ulpdu++) {
            SCOPED_TRACE(testing::Message() << tagged << ' ' << ulpdu);
            byte_vector body(SRN_MPA_LENGTH + ulpdu + filler);
            body[1] = static_cast<std::uint8_t>(ulpdu);
            body[2] = tagged ? 0xc1 : 0x41;
            // A good CRC where the receiver would look for it.
            repair_crcs(body);
            for (const auto& cuts : {cut_list{}, every_byte(body.size())}) {
                const receiver r = receive(body, crc, cuts);
                EXPECT_EQ(r.broken_rule(), "");
                if (ulpdu < header) {
                    ASSERT_TRUE(r.error());
                    EXPECT_EQ(*r.error(), bad_length);
                    EXPECT_TRUE(r.fpdus().empty());
                } else {
                    ASSERT_FALSE(r.fpdus().empty());
                    EXPECT_TRUE(r.fpdus()[0].complete);
                    EXPECT_TRUE(r.fpdus()[0].payload.empty());
                }
            }
        }
    }
}

// It is told as soon as it is known: three bytes are enough.
TEST_P(FpduStream, TooShortIsToldAtOnce) {
    const byte_vector three{0x00, 0x0d, 0xc1};
    const receiver r = receive(three, crc, {1, 2});
    ASSERT_TRUE(r.error());
    EXPECT_EQ(*r.error(), bad_length);
}

TEST_P(FpduStream, BrokenStaysBroken) {
    receiver r = receive(byte_vector{0x00, 0x00, 0x41}, crc);
    ASSERT_TRUE(r.error());
    EXPECT_FALSE(r.at_boundary());
    for (int again = 0; again < 3; again++) {
        srn_fpdu_event event{};
        EXPECT_EQ(srn_fpdu_parse(&r.parser(), stream.bytes.data(), 50, &event), 0U);
        EXPECT_EQ(event.type, SRN_FPDU_ERROR);
        EXPECT_EQ(srn_fpdu_parse(&r.parser(), nullptr, 0, &event), 0U);
        EXPECT_EQ(event.type, SRN_FPDU_ERROR);
    }
    // A new stream starts afresh.
    srn_fpdu_init(&r.parser(), crc, false);
    EXPECT_TRUE(r.at_boundary());
    srn_fpdu_event event{};
    srn_fpdu_parse(&r.parser(), stream.bytes.data(), 50, &event);
    EXPECT_EQ(event.type, SRN_FPDU_HEADER);
}

TEST_P(FpduStream, EndsInTheMiddle) {
    for (std::size_t n = 0; n < stream.bytes.size(); n++) {
        const byte_span part = byte_span(stream.bytes).first(n);
        const receiver whole = receive(part, crc);
        const receiver bytes = receive(part, crc, every_byte(n));
        EXPECT_FALSE(whole.error());
        EXPECT_EQ(whole.consumed(), n);
        EXPECT_EQ(whole.fpdus(), bytes.fpdus());
        EXPECT_EQ(whole.at_boundary(), bytes.at_boundary());
    }
}

// A message of each tagged and untagged kind in many segments, one after the other.
std::vector<fpdu_recipe> long_messages(bool crc) {
    std::vector<fpdu_recipe> recipes;
    for (const auto op : {SRN_OP_WRITE, SRN_OP_SEND, SRN_OP_READ_RESPONSE, SRN_OP_SEND_INV}) {
        std::uint32_t offset = 0;
        for (const std::uint32_t length : {9U, 1U, 2U, 3U, 40U, 8U}) {
            recipes.push_back({.op = op,
                               .payload = pattern(length, offset),
                               .mo = offset,
                               .stag = 0x1200,
                               .to = 0xfffffffff0U + offset,
                               .last = length == 8,
                               .crc = crc});
            offset += length;
        }
    }
    return recipes;
}

TEST_P(FpduStream, MiddlesInOneStep) {
    const test_stream s = stream_of(long_messages(crc));
    const receiver r = receive(s.bytes, crc, {}, false, receiver::pace::strides);
    expect_whole(r, s);
    // All but the first and the last one of each message.
    EXPECT_EQ(r.strides(), s.fpdus.size() - 2 * 4);
    EXPECT_EQ(r.wholes(), 2U * 4);
    for (std::size_t a = 0; a <= s.bytes.size(); a++) {
        SCOPED_TRACE(a);
        expect_whole(receive(s.bytes, crc, {a}, false, receiver::pace::strides), s);
    }
    const auto bytewise = every_byte(s.bytes.size());
    const receiver in_bytes = receive(s.bytes, crc, bytewise, false, receiver::pace::strides);
    EXPECT_EQ(in_bytes.strides() + in_bytes.wholes(), 0U);
}

TEST_P(FpduStream, WholeOnesInOneStep) {
    const receiver r = receive(stream.bytes, crc, {}, false, receiver::pace::strides);
    expect_whole(r, stream);
    EXPECT_EQ(r.wholes() + r.strides(), stream.fpdus.size());
    for (std::size_t a = 0; a <= stream.bytes.size(); a++) {
        SCOPED_TRACE(a);
        expect_whole(receive(stream.bytes, crc, {a}, false, receiver::pace::strides), stream);
    }
}

// Whatever bit is wrong: in one step comes out what comes out step by step.
TEST_P(FpduStream, DamagedInOneStep) {
    test_stream s = stream_of(long_messages(crc));
    s.bytes.insert(s.bytes.end(), stream.bytes.begin(), stream.bytes.end());
    for (std::size_t bit = 0; bit < s.bytes.size() * 8; bit++) {
        byte_vector bytes = s.bytes;
        bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ 1 << bit % 8);
        const receiver steps = receive(bytes, crc);
        const receiver strides = receive(bytes, crc, {}, false, receiver::pace::strides);
        EXPECT_EQ(strides.broken_rule(), "") << "bit " << bit;
        EXPECT_EQ(strides.fpdus(), steps.fpdus()) << "bit " << bit;
        EXPECT_EQ(strides.error(), steps.error()) << "bit " << bit;
        EXPECT_EQ(strides.at_boundary(), steps.at_boundary()) << "bit " << bit;
    }
}

TEST_P(FpduStream, NoneInOneStepAmongMarkers) {
    receiver r(crc, true, receiver::pace::strides);
    r.feed(stream.bytes);
    EXPECT_EQ(r.strides() + r.wholes(), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, FpduStream, testing::Bool(),
                         [](const auto& i) { return i.param ? "crc" : "no_crc"; });

// The first FPDU of the stream, and enough behind it that a length which grew finds its end.
class DamagedFpdu : public testing::TestWithParam<srn_rdmap_opcode> {
protected:
    [[nodiscard]] byte_vector damaged(std::size_t bit) const {
        byte_vector bytes = fpdu;
        bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ 1 << bit % 8);
        bytes.resize(bytes.size() + 66000, 0x5a);
        return bytes;
    }
    const byte_vector fpdu = make_fpdu({.op = GetParam(), .payload = pattern(21), .stag = 77});
};

TEST_P(DamagedFpdu, IsCaughtBeforeItsHeaderWhenInOnePiece) {
    for (std::size_t bit = 0; bit < fpdu.size() * 8; bit++) {
        const byte_vector bytes = damaged(bit);
        srn_fpdu_parser p;
        srn_fpdu_init(&p, true, false);
        srn_fpdu_event event{};
        srn_fpdu_parse(&p, bytes.data(), static_cast<std::uint32_t>(bytes.size()), &event);
        EXPECT_EQ(event.type, SRN_FPDU_ERROR) << "bit " << bit;
        EXPECT_EQ(event.term, bad_crc) << "bit " << bit;
    }
}

TEST_P(DamagedFpdu, IsCaughtBeforeItsEndWhenInPieces) {
    for (std::size_t bit = 0; bit < fpdu.size() * 8; bit++) {
        const byte_vector bytes = damaged(bit);
        for (const auto& cuts : {cut_list{1}, {2}, {3}, {19}, {30}}) {
            const receiver r = receive(bytes, true, cuts);
            EXPECT_EQ(r.broken_rule(), "");
            ASSERT_TRUE(r.error()) << "bit " << bit;
            EXPECT_TRUE(*r.error() == bad_crc || *r.error() == bad_length) << "bit " << bit;
            EXPECT_TRUE(r.complete_fpdus().empty()) << "bit " << bit;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, DamagedFpdu, testing::Values(SRN_OP_WRITE, SRN_OP_SEND_INV),
                         [](const auto& i) {
                             return i.param == SRN_OP_WRITE ? "tagged" : "untagged";
                         });

TEST(FpduCrc, OfALaterFpduIsCaughtToo) {
    const test_stream s = stream_of(every_kind(true));
    for (std::size_t at = 0; at < s.bytes.size(); at++) {
        byte_vector bytes = s.bytes;
        bytes[at] ^= 0x10;
        bytes.resize(bytes.size() + 66000, 0x5a);
        const auto intact = static_cast<std::size_t>(
            std::upper_bound(s.ends.begin(), s.ends.end(), at) - s.ends.begin());
        const receiver r = receive(bytes, true);
        ASSERT_TRUE(r.error());
        EXPECT_EQ(*r.error(), bad_crc);
        EXPECT_EQ(r.fpdus(), fpdu_list(s.fpdus.begin(),
                                       s.fpdus.begin() + static_cast<std::ptrdiff_t>(intact)));
    }
}

TEST(FpduCrc, IsVerifiedEarlyOnlyInOnePiece) {
    const byte_vector fpdu = make_fpdu({.payload = pattern(21)});
    const auto verified_at_header = [&fpdu](std::size_t cut) {
        srn_fpdu_parser p;
        srn_fpdu_init(&p, true, false);
        srn_fpdu_event event{};
        auto at = srn_fpdu_parse(&p, fpdu.data(), static_cast<std::uint32_t>(cut), &event);
        if (event.type == SRN_FPDU_MORE)
            srn_fpdu_parse(&p, fpdu.data() + at, static_cast<std::uint32_t>(fpdu.size()) - at,
                           &event);
        EXPECT_EQ(event.type, SRN_FPDU_HEADER);
        return p.crc_verified;
    };
    for (std::size_t cut = 1; cut < fpdu.size(); cut++)
        EXPECT_FALSE(verified_at_header(cut)) << "cut at " << cut;
    EXPECT_TRUE(verified_at_header(fpdu.size()));
}

// A peer on this host can change what it has sent while it is looked at. Whatever is read, the
// payload is no longer than the length field can say.
TEST(FpduHeader, LengthIsReadOnce) {
    std::array<std::uint8_t, 64> bytes{};
    std::atomic_ref length(reinterpret_cast<std::uint16_t&>(bytes[0]));
    std::jthread peer([&](const std::stop_token& stop) {
        for (std::uint16_t value = 0; !stop.stop_requested(); value = ~value)
            length.store(value, std::memory_order_relaxed);
    });
    for (int i = 0; i < 2'000'000; i++) {
        srn_fpdu_parser p;
        srn_fpdu_init(&p, true, false);
        srn_fpdu_event event{};
        srn_fpdu_parse(&p, bytes.data(), bytes.size(), &event);
        ASSERT_LE(p.payload_len, 0xffffU) << "after " << i;
    }
}

// Somebody who has seen all pieces of an FPDU vouches for that one, and no other.
TEST(FpduCrc, IsVouchedForOnce) {
    const byte_vector fpdu = make_fpdu({.payload = pattern(30)});
    const std::uint8_t* const field = fpdu.data() + fpdu.size() - SRN_CRC_LEN;
    ASSERT_EQ(srn_fpdu_up_to_crc(fpdu.data()), fpdu.size() - SRN_CRC_LEN);
    const std::uint32_t crc = crc32c(SRN_CRC_SEED, fpdu.data(), srn_fpdu_up_to_crc(fpdu.data()));
    srn_fpdu_parser p;
    srn_fpdu_init(&p, true, false);
    srn_fpdu_vouch(&p, crc, field);
    for (const bool vouched : {true, false}) {
        srn_fpdu_event event{};
        std::size_t payload = 0;
        for (std::size_t at = 0; at < fpdu.size();) {
            const auto piece =
                static_cast<std::uint32_t>(std::min<std::size_t>(fpdu.size() - at, 7));
            at += srn_fpdu_parse(&p, fpdu.data() + at, piece, &event);
            ASSERT_NE(event.type, SRN_FPDU_ERROR);
            if (event.type == SRN_FPDU_HEADER) {
                EXPECT_EQ(srn_fpdu_in_doubt(&p), !vouched);
            }
            if (event.type == SRN_FPDU_PAYLOAD) payload += event.len;
        }
        EXPECT_EQ(event.type, SRN_FPDU_END);
        EXPECT_EQ(payload, 30U);
    }
}

// A header that comes by another way leaves the parser between two FPDUs, with nothing in doubt.
TEST_P(FpduStream, BetweenHeadersFromElsewhere) {
    srn_fpdu_parser p;
    srn_fpdu_init(&p, crc, false);
    std::size_t at = 0;
    for (std::size_t i = 0; i < stream.fpdus.size(); ++i) {
        SCOPED_TRACE(i);
        const received_fpdu& other = stream.fpdus[stream.fpdus.size() - 1 - i];
        std::array<std::uint8_t, SRN_MAX_HEADER> header{};
        std::copy(other.header_bytes.begin(), other.header_bytes.end(), header.begin());
        srn_fpdu_set_header(&p, header.data(), 60000);
        EXPECT_TRUE(srn_fpdu_at_boundary(&p));
        EXPECT_FALSE(srn_fpdu_in_doubt(&p));
        EXPECT_FALSE(srn_fpdu_in_message(&p));
        EXPECT_EQ(p.header_len, other.header_bytes.size());
        EXPECT_EQ(p.payload_len, 60000U);
        EXPECT_EQ(p.rdmap, other.header);
        srn_fpdu_event event{};
        while (at < stream.ends[i]) {
            at += srn_fpdu_parse(&p, stream.bytes.data() + at,
                                 static_cast<std::uint32_t>(stream.ends[i] - at), &event);
            ASSERT_NE(event.type, SRN_FPDU_ERROR);
        }
        EXPECT_EQ(event.type, SRN_FPDU_END);
        EXPECT_EQ(p.rdmap, stream.fpdus[i].header);
    }
}

// One FPDU that was verified early does not vouch for the next one.
TEST(FpduCrc, IsVerifiedForEachFpdu) {
    byte_vector bytes = make_fpdu({.payload = pattern(8)});
    const std::size_t first = bytes.size();
    append(bytes, make_fpdu({.payload = pattern(9)}));
    bytes.back() ^= 1;
    for (std::size_t cut = first; cut < bytes.size(); cut++) {
        const receiver r = receive(bytes, true, {cut});
        ASSERT_TRUE(r.error()) << "cut at " << cut;
        EXPECT_EQ(*r.error(), bad_crc);
        EXPECT_EQ(r.complete_fpdus().size(), 1U);
    }
}

// RFC 5044 section 7.1.1: when not in use the field is valid regardless of its contents. Padding
// is ignored by the receiver, but for the CRC.
TEST(FpduCrc, IsNotLookedAtWhenOff) {
    const fpdu_recipe recipe{.payload = pattern(21), .crc = false};
    test_stream s = stream_of({recipe, recipe});
    for (std::size_t i = s.ends[0] - 5; i < s.ends[0]; i++) s.bytes[i] = 0xa5;
    expect_whole(receive(s.bytes, false), s);
    expect_whole(receive(s.bytes, false, every_byte(s.bytes.size())), s);
}

TEST(FpduCrc, CoversPaddingThatIsNotZero) {
    test_stream s = stream_of({{.payload = pattern(21)}});
    s.bytes[s.bytes.size() - 5] = 0xa5;
    EXPECT_TRUE(receive(s.bytes, true).error());
    repair_crcs(s.bytes);
    expect_whole(receive(s.bytes, true), s);
    expect_whole(receive(s.bytes, true, every_byte(s.bytes.size())), s);
}

}  // namespace
