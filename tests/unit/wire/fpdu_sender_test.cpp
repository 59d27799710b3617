// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What a sender of FPDUs computes: MULPDU, padding, trailer.
#include <gtest/gtest.h>

#include "stream.hpp"

namespace {

std::uint32_t fpdu_length(std::uint32_t ulpdu) {
    const std::uint32_t body = SRN_MPA_LENGTH + ulpdu;
    return body + srn_fpdu_pad(body) + SRN_CRC_LEN;
}

// RFC 5044 section 4.5: an FPDU fits the MSS; ours leaves less than 4 bytes of it.
TEST(Mulpdu, FillsTheMss) {
    for (std::uint32_t mss = SRN_MIN_MSS; mss < SRN_MAX_FPDU; mss++) {
        const std::uint32_t length = fpdu_length(srn_framer_mulpdu(mss, false));
        ASSERT_LE(length, mss);
        ASSERT_GT(length + 4, mss);
        ASSERT_EQ(srn_fpdu_pad(SRN_MPA_LENGTH + srn_framer_mulpdu(mss, false)), 0U)
            << "padding at MSS " << mss;
    }
}

// RFC 5044 section 3.
TEST(Mulpdu, HasAnUpperBound) {
    EXPECT_EQ(SRN_MAX_ULPDU, 64768U);
    EXPECT_EQ(fpdu_length(SRN_MAX_ULPDU), SRN_MAX_FPDU);
    for (const std::uint32_t mss : {SRN_MAX_FPDU, 65483u, 65535u, 65540u, 0x7fffffffu, 0xffffffffu})
        EXPECT_EQ(srn_framer_mulpdu(mss, false), SRN_MAX_ULPDU) << mss;
}

TEST(Mulpdu, HasALowerBound) {
    for (std::uint32_t mss = 0; mss < SRN_MIN_MSS + 4; mss++)
        EXPECT_EQ(srn_framer_mulpdu(mss, false), SRN_MIN_MSS - 6) << mss;
    // RFC 5044 section 4.5: at least 128.
    EXPECT_GE(srn_framer_mulpdu(0, false), 128U);
}

TEST(Mulpdu, OfCommonLinks) {
    EXPECT_EQ(srn_framer_mulpdu(1460, false), 1454U);
    EXPECT_EQ(srn_framer_mulpdu(1448, false), 1442U);  // with timestamps
    EXPECT_EQ(srn_framer_mulpdu(8948, false), 8942U);  // jumbo frames
    EXPECT_EQ(srn_framer_mulpdu(1447, false), 1438U);  // 1444 and three bytes unused
}

TEST(FpduPad, FillsUpToFour) {
    EXPECT_EQ(srn_fpdu_pad(20), 0U);
    EXPECT_EQ(srn_fpdu_pad(21), 3U);
    EXPECT_EQ(srn_fpdu_pad(22), 2U);
    EXPECT_EQ(srn_fpdu_pad(23), 1U);
    for (std::uint32_t n = 0; n < 70000; n++) {
        ASSERT_EQ((n + srn_fpdu_pad(n)) % 4, 0U);
        ASSERT_LT(srn_fpdu_pad(n), 4U);
    }
}

// RFC 5044 figures 5 and 6, whose CRCs take in the markers: the byte order on the wire.
TEST(Trailer, CarriesTheCrcOfTheSpecification) {
    byte_vector body{0, 0, 0, 0, 0x00, 0x2a, 0x41, 0x43, 0, 0, 0, 0,
                     0, 0, 0, 0, 0,    0,    0,    1,    0, 0, 0, 0};
    body.resize(48);
    byte_vector fpdu = with_trailer(body, true);
    EXPECT_EQ(byte_vector(fpdu.begin() + 48, fpdu.end()), (byte_vector{0x52, 0x23, 0x99, 0x83}));

    body = {0x00, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0x14};
    body.resize(48);
    fpdu = with_trailer(body, true);
    EXPECT_EQ(byte_vector(fpdu.begin() + 48, fpdu.end()), (byte_vector{0x84, 0x92, 0x58, 0x98}));
}

TEST(Trailer, PadsWithZerosAndCoversThem) {
    for (std::size_t length = 20; length < 40; length++) {
        SCOPED_TRACE(length);
        const byte_vector body = pattern(length);
        byte_vector padded = body;
        padded.resize((length + 3) / 4 * 4);
        const byte_vector fpdu = with_trailer(body, true);
        ASSERT_EQ(fpdu.size(), padded.size() + SRN_CRC_LEN);
        EXPECT_TRUE(std::equal(padded.begin(), padded.end(), fpdu.begin()));
        const std::uint32_t crc =
            ~crc32c(SRN_CRC_SEED, padded.data(), static_cast<unsigned>(padded.size()));
        for (std::size_t i = 0; i < 4; i++)
            EXPECT_EQ(fpdu[padded.size() + i], static_cast<std::uint8_t>(crc >> (8 * i)));
    }
}

TEST(Trailer, IsZeroWithoutCrc) {
    for (std::uint32_t length = 20; length < 24; length++) {
        byte_vector out(SRN_MAX_TRAILER, 0xaa);
        const std::uint32_t n = srn_framer_put_trailer(out.data(), length, false, 0x12345678);
        EXPECT_EQ(n, srn_fpdu_pad(length) + SRN_CRC_LEN);
        EXPECT_EQ(byte_vector(out.begin(), out.begin() + n), byte_vector(n, 0));
    }
}

// Two ways to write the same FPDU.
TEST(Framer, WithoutMarkersWritesWhatASenderWithATrailerDoes) {
    for (const bool crc : {false, true}) {
        srn_framer framer;
        srn_framer_init(&framer, crc, false);
        for (const std::uint32_t length : {0U, 1U, 2U, 3U, 600U, 1500U}) {
            const byte_vector body = fpdu_body({.payload = pattern(length), .msn = length});
            byte_vector out(body.size() + SRN_MAX_TRAILER);
            std::uint32_t n = srn_framer_begin(&framer, out.data());
            EXPECT_EQ(n, 0U);
            n += srn_framer_put(&framer, out.data() + n, body.data(), SRN_UNTAGGED_HEADER);
            n += srn_framer_put(&framer, out.data() + n, body.data() + SRN_UNTAGGED_HEADER, length);
            n += srn_framer_end(&framer, out.data() + n);
            out.resize(n);
            EXPECT_EQ(out, with_trailer(body, crc)) << length;
        }
    }
}

}  // namespace
