// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Private data by which queue pairs that are brought up by hand find each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "wire.hpp"

namespace {

srn_bring_up example() {
    srn_bring_up b{.has_sq_psn = true,
                   .source_qpn = 0x00123456,
                   .dest_qpn = 0x00fedcba,
                   .sq_psn = 0x00010203,
                   .rq_psn = 0x00a0b0c0};
    for (std::uint8_t i = 0; i < SRN_GID_LEN; i++) {
        b.source_gid[i] = static_cast<std::uint8_t>(0x10 + i);
        b.dest_gid[i] = static_cast<std::uint8_t>(0x80 + i);
    }
    return b;
}

byte_vector encode(const srn_bring_up& b) {
    byte_vector out(SRN_BRING_UP_LEN, 0xaa);
    EXPECT_EQ(srn_bring_up_put(out.data(), &b), SRN_BRING_UP_LEN);
    return out;
}

int decode(const byte_vector& bytes, srn_bring_up* b) {
    return srn_bring_up_get(exact_copy(bytes).data(), static_cast<std::uint32_t>(bytes.size()), b);
}

const byte_vector literal = {
    0x73, 0x72, 0x6e, 0x51, 0x01, 0x01, 0x00, 0x00,              // magic, version, flags
    0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19,  // source GID
    0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,                          //
    0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89,  // destination GID
    0x8a, 0x8b, 0x8c, 0x8d, 0x8e, 0x8f,                          //
    0x00, 0x12, 0x34, 0x56, 0x00, 0xfe, 0xdc, 0xba,              // numbers
    0x00, 0x01, 0x02, 0x03, 0x00, 0xa0, 0xb0, 0xc0};             // sequence numbers

TEST(BringUp, Literal) {
    EXPECT_EQ(encode(example()), literal);
}

TEST(BringUp, TellsThatItAnswers) {
    srn_bring_up b = example();
    b.answers = true;
    const byte_vector bytes = encode(b);
    EXPECT_EQ(bytes[5], 0x03);
    srn_bring_up got{};
    ASSERT_EQ(decode(bytes, &got), 0);
    EXPECT_TRUE(got.answers);
    ASSERT_EQ(decode(literal, &got), 0);
    EXPECT_FALSE(got.answers);
}

srn_bring_up with_nonce() {
    srn_bring_up b = example();
    b.has_nonce = true;
    for (std::uint8_t i = 0; i < SRN_BRING_UP_NONCE; i++)
        b.nonce[i] = static_cast<std::uint8_t>(0xf0 + i);
    return b;
}

TEST(BringUp, NonceFollows) {
    byte_vector expected = literal;
    expected[5] = 0x05;
    for (std::uint8_t i = 0; i < SRN_BRING_UP_NONCE; i++)
        expected.push_back(static_cast<std::uint8_t>(0xf0 + i));
    const srn_bring_up b = with_nonce();
    byte_vector bytes(SRN_BRING_UP_PROVEN, 0xaa);
    EXPECT_EQ(srn_bring_up_put(bytes.data(), &b), SRN_BRING_UP_PROVEN);
    EXPECT_EQ(bytes, expected);

    srn_bring_up back{};
    ASSERT_EQ(decode(bytes, &back), 0);
    EXPECT_TRUE(back.has_nonce);
    EXPECT_TRUE(std::equal(back.nonce, back.nonce + SRN_BRING_UP_NONCE, b.nonce));
    ASSERT_EQ(decode(literal, &back), 0);
    EXPECT_FALSE(back.has_nonce);

    for (bytes.pop_back(); bytes.size() >= literal.size(); bytes.pop_back())
        EXPECT_EQ(decode(bytes, &back), -EPROTO) << bytes.size() << " bytes";
}

TEST(BringUp, ProofFollowsTheNonce) {
    byte_vector bytes(SRN_BRING_UP_PROVEN + SRN_BRING_UP_PROOF + 1);
    for (const std::size_t more : {0U, 1U}) {
        const auto length = static_cast<std::uint32_t>(bytes.size() - 1 + more);
        EXPECT_EQ(srn_bring_up_get_proof(bytes.data(), length), bytes.data() + SRN_BRING_UP_PROVEN);
    }
    EXPECT_EQ(srn_bring_up_get_proof(bytes.data(), SRN_BRING_UP_PROVEN + SRN_BRING_UP_PROOF - 1),
              nullptr);
}

TEST(BringUp, UnknownSequenceNumberIsNotTold) {
    srn_bring_up b = example();
    b.has_sq_psn = false;
    byte_vector expected = literal;
    expected[5] = 0;
    std::fill(expected.begin() + 48, expected.begin() + 52, std::uint8_t{0});
    EXPECT_EQ(encode(b), expected);
}

TEST(BringUp, RoundTripAlsoWithMoreBehindIt) {
    for (const std::size_t more : {0U, 1U, 100U}) {
        byte_vector bytes = literal;
        bytes.resize(bytes.size() + more, 0x55);
        srn_bring_up back{};
        ASSERT_EQ(decode(bytes, &back), 0);
        EXPECT_TRUE(back.has_sq_psn);
        EXPECT_EQ(encode(back), literal);
    }
}

TEST(BringUp, LaterVersionIsUnderstood) {
    byte_vector bytes = literal;
    bytes[4] = 2;
    srn_bring_up back{};
    EXPECT_EQ(decode(bytes, &back), 0);
}

TEST(BringUp, WhatItIsNot) {
    srn_bring_up back{};
    for (std::size_t length = 0; length < literal.size(); length++)
        EXPECT_EQ(
            decode(byte_vector(literal.begin(), literal.begin() + static_cast<int>(length)), &back),
            -EPROTO)
            << length << " bytes";
    for (std::size_t i = 0; i < 4; i++) {
        byte_vector bytes = literal;
        bytes[i] ^= 1;
        EXPECT_EQ(decode(bytes, &back), -EPROTO) << "magic, byte " << i;
    }
    byte_vector bytes = literal;
    bytes[4] = 0;
    EXPECT_EQ(decode(bytes, &back), -EPROTO) << "version 0";
}

}  // namespace
