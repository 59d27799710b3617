// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// MPA connection set-up frames, RFC 5044 section 7.1 and RFC 6581.
#include <gtest/gtest.h>

#include <cerrno>
#include <string_view>

#include "wire.hpp"

namespace {

constexpr std::string_view request_key = "MPA ID Req Frame";
constexpr std::string_view reply_key = "MPA ID Rep Frame";

byte_vector frame_bytes(std::string_view key, int flags, int revision, int private_len) {
    byte_vector bytes(key.begin(), key.end());
    for (const int b : {flags, revision, private_len >> 8, private_len})
        bytes.push_back(static_cast<std::uint8_t>(b));
    return bytes;
}

int decode(const byte_vector& bytes, bool reply, srn_mpa_frame* f) {
    return srn_mpa_get_frame(exact_copy(bytes).data(), reply, f);
}

byte_vector encode(const srn_mpa_frame& f, std::uint32_t ulp_private_len) {
    byte_vector out(SRN_MPA_FRAME + SRN_MPA_ENHANCED, 0xaa);
    const std::uint32_t length = srn_mpa_put_frame(out.data(), &f, ulp_private_len);
    EXPECT_LE(length, out.size());
    out.resize(length);
    return out;
}

byte_vector operator+(byte_vector a, const byte_vector& b) {
    append(a, b);
    return a;
}

TEST(MpaFrame, LiteralRequest) {
    const srn_mpa_frame f{.reply = false, .crc = true, .revision = 1};
    EXPECT_EQ(encode(f, 0x0102),
              (byte_vector{0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52, 0x65, 0x71,
                           0x20, 0x46, 0x72, 0x61, 0x6d, 0x65, 0x40, 0x01, 0x01, 0x02}));
}

TEST(MpaFrame, LiteralEnhancedReply) {
    const srn_mpa_frame f{.reply = true,
                          .reject = true,
                          .revision = 2,
                          .enhanced = true,
                          .peer_to_peer = true,
                          .rtr_read = true,
                          .ird = 0x1234,
                          .ord = 0x0123};
    EXPECT_EQ(encode(f, 3), (byte_vector{0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
                                         0x65, 0x70, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65,
                                         0x30, 0x02, 0x00, 0x07, 0x92, 0x34, 0x41, 0x23}));
}

// Every flag byte, revision and kind of frame; the meaning of each bit by the figure.
TEST(MpaFrame, DecodesEveryFlagByte) {
    for (int flags = 0; flags < 256; flags++) {
        for (const int revision : {1, 2, 3, 255}) {
            for (const bool reply : {false, true}) {
                SCOPED_TRACE(testing::Message() << flags << ' ' << revision << ' ' << reply);
                srn_mpa_frame f;
                ASSERT_EQ(decode(frame_bytes(reply ? reply_key : request_key, flags, revision, 4),
                                 reply, &f),
                          0);
                srn_mpa_frame want{};
                want.reply = reply;
                want.markers = flags & 0x80;
                want.crc = flags & 0x40;
                want.reject = reply && (flags & 0x20);
                want.enhanced = revision >= 2 && (flags & 0x10);
                want.revision = static_cast<std::uint8_t>(revision);
                want.private_len = 4;
                EXPECT_EQ(f, want);
            }
        }
    }
}

TEST(MpaFrame, RefusesAnotherKey) {
    srn_mpa_frame f;
    const byte_vector request = frame_bytes(request_key, 0, 1, 0);
    EXPECT_EQ(decode(request, false, &f), 0);
    EXPECT_EQ(decode(request, true, &f), -EPROTO);
    const byte_vector reply = frame_bytes(reply_key, 0, 1, 0);
    EXPECT_EQ(decode(reply, true, &f), 0);
    EXPECT_EQ(decode(reply, false, &f), -EPROTO);
    for (std::size_t i = 0; i < SRN_MPA_KEY_LEN; i++) {
        for (int bit = 0; bit < 8; bit++) {
            byte_vector bad = request;
            bad[i] = static_cast<std::uint8_t>(bad[i] ^ 1 << bit);
            EXPECT_EQ(decode(bad, false, &f), -EPROTO) << i << '.' << bit;
        }
    }
}

TEST(MpaFrame, RefusesRevisionZero) {
    srn_mpa_frame f;
    EXPECT_EQ(decode(frame_bytes(request_key, 0x40, 0, 0), false, &f), -EPROTO);
    EXPECT_EQ(decode(frame_bytes(reply_key, 0x50, 0, 4), true, &f), -EPROTO);
}

TEST(MpaFrame, LimitsPrivateData) {
    for (const int length : {0, 1, 3, 4, 5, 511, 512, 513, 0x1000, 0x8000, 0xffff}) {
        for (const int revision : {1, 2}) {
            for (const int flags : {0x40, 0x50}) {
                SCOPED_TRACE(testing::Message() << length << ' ' << revision << ' ' << flags);
                const bool enhanced = revision == 2 && flags == 0x50;
                const bool good = length <= 512 && (!enhanced || length >= 4);
                srn_mpa_frame f;
                EXPECT_EQ(decode(frame_bytes(request_key, flags, revision, length), false, &f),
                          good ? 0 : -EPROTO);
                if (good) {
                    EXPECT_EQ(f.private_len, length);
                }
            }
        }
    }
}

TEST(MpaEnhanced, RefusesTruncation) {
    const byte_vector words{0x80, 0x01, 0x80, 0x01};
    for (std::size_t n = 0; n <= words.size(); n++) {
        srn_mpa_frame f{};
        const exact_copy part(byte_span(words).first(n));
        EXPECT_EQ(srn_mpa_get_enhanced(part.data(), part.size(), &f), n < 4 ? -EPROTO : 0);
    }
}

// RFC 6581 section 9: A B and IRD, C D and ORD.
TEST(MpaEnhanced, DecodesEveryFlag) {
    for (int flags = 0; flags < 16; flags++) {
        for (const int depth : {0, 1, 0x2a55, 0x3ffe, SRN_MPA_NO_DEPTH}) {
            SCOPED_TRACE(testing::Message() << flags << ' ' << depth);
            const bool a = flags & 8;
            const int ird = (flags >> 2 & 3) << 14 | depth;
            const int ord = (flags & 3) << 14 | (depth ^ 0x1555);
            const byte_vector words{
                static_cast<std::uint8_t>(ird >> 8), static_cast<std::uint8_t>(ird),
                static_cast<std::uint8_t>(ord >> 8), static_cast<std::uint8_t>(ord)};
            srn_mpa_frame f{};
            ASSERT_EQ(srn_mpa_get_enhanced(exact_copy(words).data(), 4, &f), 0);
            EXPECT_EQ(f.peer_to_peer, a);
            EXPECT_EQ(f.rtr_send, a && (flags & 4));
            EXPECT_EQ(f.rtr_write, a && (flags & 2));
            EXPECT_EQ(f.rtr_read, a && (flags & 1));
            EXPECT_EQ(f.ird, depth);
            EXPECT_EQ(f.ord, depth ^ 0x1555);
        }
    }
}

TEST(MpaEnhanced, KeepsTheRestOfTheFrame) {
    srn_mpa_frame f;
    ASSERT_EQ(decode(frame_bytes(request_key, 0xd0, 2, 77), false, &f), 0);
    const byte_vector words{0x80, 0x05, 0x40, 0x06};
    ASSERT_EQ(srn_mpa_get_enhanced(words.data(), 4, &f), 0);
    EXPECT_EQ(f, (srn_mpa_frame{.reply = false,
                                .markers = true,
                                .crc = true,
                                .reject = false,
                                .revision = 2,
                                .private_len = 77,
                                .enhanced = true,
                                .peer_to_peer = true,
                                .rtr_send = false,
                                .rtr_write = false,
                                .rtr_read = true,
                                .ird = 5,
                                .ord = 6}));
}

// A depth that does not fit is cut; it must not turn into flags.
TEST(MpaEnhanced, DepthNeverReachesTheFlags) {
    const srn_mpa_frame f{.revision = 2, .enhanced = true, .ird = 0xffff, .ord = 0xc001};
    const byte_vector bytes = encode(f, 0);
    ASSERT_EQ(bytes.size(), 24U);
    EXPECT_EQ(byte_vector(bytes.begin() + 20, bytes.end()), (byte_vector{0x3f, 0xff, 0x00, 0x01}));
}

// RFC 6581 section 9.2: without A, the sender clears B, C and D.
TEST(MpaEnhanced, NoRtrWithoutPeerToPeer) {
    const srn_mpa_frame f{.revision = 2,
                          .enhanced = true,
                          .peer_to_peer = false,
                          .rtr_send = true,
                          .rtr_write = true,
                          .rtr_read = true,
                          .ird = 1,
                          .ord = 2};
    EXPECT_EQ(encode(f, 0), frame_bytes(request_key, 0x10, 2, 4) + byte_vector({0, 1, 0, 2}));
}

// RFC 5044 section 7.1.1: R is set to zero in a request.
TEST(MpaFrame, RequestNeverRejects) {
    const srn_mpa_frame f{.reply = false, .reject = true, .revision = 1};
    EXPECT_EQ(encode(f, 0), frame_bytes(request_key, 0, 1, 0));
}

TEST(MpaFrame, EveryCombinationSurvivesARoundTrip) {
    for (unsigned bits = 0; bits < 1u << 9; bits++) {
        srn_mpa_frame f{};
        f.reply = bits & 1;
        f.markers = bits & 2;
        f.crc = bits & 4;
        f.reject = f.reply && (bits & 8);
        f.enhanced = bits & 16;
        f.revision = f.enhanced ? 2 : 1;
        f.peer_to_peer = f.enhanced && (bits & 32);
        f.rtr_send = f.peer_to_peer && (bits & 64);
        f.rtr_write = f.peer_to_peer && (bits & 128);
        f.rtr_read = f.peer_to_peer && (bits & 256);
        f.ird = f.enhanced ? static_cast<std::uint16_t>(bits * 31) : 0;
        f.ord = f.enhanced ? static_cast<std::uint16_t>(bits * 17 + 1) : 0;
        const std::uint32_t largest = SRN_MPA_MAX_PRIVATE - (f.enhanced ? SRN_MPA_ENHANCED : 0);
        for (const std::uint32_t ulp_private_len : {0u, 1u, largest}) {
            const byte_vector bytes = encode(f, ulp_private_len);
            ASSERT_EQ(bytes.size(), f.enhanced ? 24U : 20U);
            srn_mpa_frame back;
            ASSERT_EQ(decode(bytes, f.reply, &back), 0);
            if (back.enhanced) {
                ASSERT_EQ(srn_mpa_get_enhanced(bytes.data() + SRN_MPA_FRAME, 4, &back), 0);
            }
            srn_mpa_frame want = f;
            want.private_len = static_cast<std::uint16_t>(ulp_private_len + bytes.size() - 20);
            EXPECT_EQ(back, want) << "combination " << bits;
        }
    }
}

}  // namespace
