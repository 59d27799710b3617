// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Markers (RFC 5044 section 4.3): where a sender puts them, and how a receiver finds and checks
// them, at every offset that they can have within an FPDU.
#include <gtest/gtest.h>

#include "stream.hpp"

namespace {

/// A sender with markers, which writes whole FPDUs.
class sender {
public:
    explicit sender(bool crc) { srn_framer_init(&framer_, crc, true); }

    /// A Send of `payload` bytes that are all `fill`, written in pieces of `piece` bytes.
    void send(std::uint32_t payload, std::uint8_t fill = 0, std::size_t piece = 1 << 16) {
        byte_vector body(SRN_UNTAGGED_HEADER);
        srn_rdmap_put_untagged(reinterpret_cast<srn_wire_untagged*>(body.data()), SRN_OP_SEND, 0,
                               ++msn_, 0, payload, true);
        body.resize(body.size() + payload, fill);
        byte_vector out(body.size() + SRN_MAX_TRAILER +
                        SRN_MARKER_LEN * SRN_MAX_MARKERS(static_cast<std::uint32_t>(body.size())));
        std::uint32_t n = srn_framer_begin(&framer_, out.data());
        for (std::size_t at = 0; at < body.size(); at += piece) {
            const std::size_t take = std::min(piece, body.size() - at);
            n += srn_framer_put(&framer_, out.data() + n, body.data() + at,
                                static_cast<std::uint32_t>(take));
        }
        n += srn_framer_end(&framer_, out.data() + n);
        EXPECT_LE(n, out.size());
        stream.insert(stream.end(), out.begin(), out.begin() + n);
        starts.push_back(framer_.fpdu);
    }

    byte_vector stream;
    std::vector<std::uint32_t> starts;  ///< of the length fields

private:
    srn_framer framer_{};
    std::uint32_t msn_ = 0;
};

/// The second FPDU of the specification's example has a marker in it.
constexpr std::uint32_t first_payload = 492 - 4 - SRN_UNTAGGED_HEADER - 4;

TEST(Marker, AsTheSpecificationShowsIt) {
    sender s(true);
    s.send(24);
    EXPECT_EQ(s.stream,
              (byte_vector{0, 0, 0, 0, 0, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0,    0,    0,    0,   0, 0,
                           0, 1, 0, 0, 0, 0,    0,    0,    0, 0, 0, 0, 0,    0,    0,    0,   0, 0,
                           0, 0, 0, 0, 0, 0,    0,    0,    0, 0, 0, 0, 0x52, 0x23, 0x99, 0x83}));
    sender t(true);
    t.send(first_payload);
    ASSERT_EQ(t.stream.size(), 492U);
    t.send(24);
    const byte_vector second(t.stream.begin() + 492, t.stream.end());
    EXPECT_EQ(second, (byte_vector{0, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0, 0,    0,    0,    0,
                                   0, 0,    2,    0,    0, 0, 0, 0, 0, 0,    20,   0,    0,
                                   0, 0,    0,    0,    0, 0, 0, 0, 0, 0,    0,    0,    0,
                                   0, 0,    0,    0,    0, 0, 0, 0, 0, 0x84, 0x92, 0x58, 0x98}));
}

TEST(Marker, StandsAtEach512thByteAndPointsBack) {
    sender s(true);
    for (std::uint32_t size = 0; size < 3000; size += 37) s.send(size, 0xff);
    std::size_t fpdu = 0;
    for (std::size_t at = 0; at < s.stream.size(); at += SRN_MARKER_INTERVAL) {
        // In the FPDU that begins last before it, or in front of one.
        while (fpdu + 1 < s.starts.size() && s.starts[fpdu + 1] <= at + SRN_MARKER_LEN) ++fpdu;
        const std::uint32_t back =
            at < s.starts[fpdu] ? 0 : static_cast<std::uint32_t>(at) - s.starts[fpdu];
        EXPECT_EQ(s.stream[at], 0);
        EXPECT_EQ(s.stream[at + 1], 0);
        EXPECT_EQ(s.stream[at + 2] << 8 | s.stream[at + 3], static_cast<int>(back)) << at;
    }
}

class MarkedStream : public testing::TestWithParam<bool> {};

/// By the length of the first FPDU the second one meets the marker at each offset that it can.
TEST_P(MarkedStream, IsUnderstoodWithAMarkerAtEachOffset) {
    for (std::uint32_t size = 0; size < 1100; ++size) {
        sender s(GetParam());
        s.send(size, 0xa5);
        s.send(61, 0x5a);
        s.send(0);
        receiver r(GetParam(), true);
        ASSERT_TRUE(r.feed(s.stream)) << size << r.broken_rule();
        ASSERT_EQ(r.complete_fpdus().size(), 3U) << size;
        EXPECT_EQ(r.fpdus()[0].payload, byte_vector(size, 0xa5));
        EXPECT_EQ(r.fpdus()[1].payload, byte_vector(61, 0x5a));
        EXPECT_EQ(r.fpdus()[2].header.msn, 3U);
        EXPECT_TRUE(r.at_boundary());
    }
}

/// However it comes in, and however it was written.
TEST_P(MarkedStream, IsUnderstoodInPiecesOfAnySize) {
    for (const std::size_t piece : {1U, 2U, 3U, 5U, 13U, 511U, 512U, 513U, 4096U}) {
        sender s(GetParam());
        for (const std::uint32_t size : {0U, 1U, 480U, 484U, 488U, 1441U, 5000U, 65000U})
            s.send(size, static_cast<std::uint8_t>(size), piece);
        receiver r(GetParam(), true);
        for (std::size_t at = 0; at < s.stream.size(); at += piece) {
            const std::size_t take = std::min(piece, s.stream.size() - at);
            ASSERT_TRUE(r.feed(byte_span(s.stream).subspan(at, take))) << piece;
        }
        EXPECT_EQ(r.broken_rule(), "");
        EXPECT_EQ(r.complete_fpdus().size(), 8U) << piece;
        EXPECT_EQ(r.fpdus()[7].payload, byte_vector(65000, static_cast<std::uint8_t>(65000)));
    }
}

INSTANTIATE_TEST_SUITE_P(Crc, MarkedStream, testing::Bool(),
                         [](const auto& crc) { return crc.param ? "With" : "Without"; });

constexpr srn_term_code bad_marker{SRN_LAYER_LLP, SRN_LLP_MPA, SRN_MPA_LENGTH_MARKER};
constexpr srn_term_code bad_crc{SRN_LAYER_LLP, SRN_LLP_MPA, SRN_MPA_CRC};

TEST(Marker, ThatPointsElsewhereIsAnError) {
    for (const int delta : {4, -4, 512, 1024}) {
        sender s(false);
        s.send(2000);
        const int back = (s.stream[514] << 8 | s.stream[515]) + delta;
        s.stream[514] = static_cast<std::uint8_t>(back >> 8);
        s.stream[515] = static_cast<std::uint8_t>(back);
        receiver r(false, true);
        EXPECT_FALSE(r.feed(s.stream));
        EXPECT_EQ(r.error(), bad_marker) << delta;
    }
}

TEST(Marker, BetweenFpdusMustBeZero) {
    sender s(false);
    s.send(0);
    s.stream[3] = 4;
    receiver r(false, true);
    EXPECT_FALSE(r.feed(s.stream));
    EXPECT_EQ(r.error(), bad_marker);
}

/// RFC 5044 section 4.3: the bottom two bits count as zero.
TEST(Marker, HasTwoBitsThatDoNotMatter) {
    sender s(false);
    s.send(2000);
    s.stream[3] |= 3;
    s.stream[515] |= 3;
    receiver r(false, true);
    EXPECT_TRUE(r.feed(s.stream));
    EXPECT_EQ(r.complete_fpdus().size(), 1U);
}

TEST(Marker, IsCoveredByTheCrc) {
    // Either half of a marker: within an FPDU, and in front of one. RFC 5044 section 8 has it that
    // a pointer is only wrong where the CRC is right.
    for (const std::size_t at : {512U, 514U, 515U, 0U, 2U}) {
        sender s(true);
        s.send(2000);
        s.stream[at] ^= 4;
        receiver r(true, true);
        EXPECT_FALSE(r.feed(s.stream)) << at;
        EXPECT_EQ(r.error(), bad_crc) << at;
    }
}

/// A sender that computes its CRC over a marker of its own making. Only behind the CRC is it known
/// that the marker was sent so.
TEST(Marker, ThatPointsElsewhereUnderAGoodCrcIsAnErrorAtTheEnd) {
    for (const std::size_t at : {3U, 515U, 1027U}) {
        sender s(true);
        s.send(2000);
        s.stream[at] ^= 4;
        byte_span body(s.stream);
        body = body.first(body.size() - SRN_CRC_LEN);
        s.stream = with_trailer({body.begin(), body.end()}, true);
        receiver r(true, true);
        EXPECT_TRUE(r.feed(byte_span(s.stream).first(s.stream.size() - 1))) << at;
        EXPECT_FALSE(r.feed(byte_span(s.stream).last(1))) << at;
        EXPECT_EQ(r.error(), bad_marker) << at;
        EXPECT_EQ(r.complete_fpdus().size(), 0U) << at;
    }
}

TEST(Marker, StreamThatHasFailedStaysSo) {
    sender s(false);
    s.send(0);
    s.stream[3] = 4;
    receiver r(false, true);
    EXPECT_FALSE(r.feed(s.stream));
    srn_fpdu_event event{};
    const exact_copy more(s.stream);
    EXPECT_EQ(srn_fpdu_parse(&r.parser(), more.data(), more.size(), &event), 0U);
    EXPECT_EQ(event.type, SRN_FPDU_ERROR);
    EXPECT_EQ(event.term, (srn_term_code{SRN_LAYER_LLP, SRN_LLP_MPA, SRN_MPA_LOCAL_CATASTROPHIC}));
}

TEST(Marker, CutInTwoIsNoBoundary) {
    sender s(true);
    s.send(512 - 4 - SRN_UNTAGGED_HEADER - 4);
    ASSERT_EQ(s.stream.size(), 512U);
    s.send(0);
    receiver r(true, true);
    ASSERT_TRUE(r.feed(byte_span(s.stream).first(512)));
    EXPECT_TRUE(r.at_boundary());
    ASSERT_TRUE(r.feed(byte_span(s.stream).subspan(512, 2)));
    EXPECT_FALSE(r.at_boundary());
    ASSERT_TRUE(r.feed(byte_span(s.stream).subspan(514)));
    EXPECT_EQ(r.complete_fpdus().size(), 2U);
}

TEST(Mulpdu, LeavesRoomForMarkers) {
    for (std::uint32_t mss = SRN_MIN_MSS; mss < 65540; ++mss) {
        const std::uint32_t body = SRN_MPA_LENGTH + srn_framer_mulpdu(mss, true);
        const std::uint32_t markers = ((mss & ~3U) + SRN_MARKER_INTERVAL - 1) / SRN_MARKER_INTERVAL;
        ASSERT_LE(body + srn_fpdu_pad(body) + SRN_CRC_LEN + markers * SRN_MARKER_LEN, mss);
    }
}

}  // namespace
