// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Atomic operations: their layout, and their arithmetic against the bit by bit definition of
// RFC 7306 section 5.1.
#include <gtest/gtest.h>

#include <random>

#include "wire.hpp"

namespace {

constexpr std::uint64_t all = ~0ULL;

/// One field after the other, one bit after the other, as the RFC writes it.
std::uint64_t add_by_bits(std::uint64_t a, std::uint64_t b, std::uint64_t mask) {
    std::uint64_t result = 0;
    unsigned carry = 0;
    for (int bit = 0; bit < 64; ++bit) {
        const auto sum =
            carry + static_cast<unsigned>(a >> bit & 1) + static_cast<unsigned>(b >> bit & 1);
        result |= static_cast<std::uint64_t>(sum & 1) << bit;
        carry = (mask >> bit & 1) != 0 ? 0 : sum >> 1;
    }
    return result;
}

std::uint64_t fetch_add(std::uint64_t original, std::uint64_t data, std::uint64_t mask) {
    const srn_atomic a{.code = SRN_ATOMIC_FETCH_ADD, .data = data, .mask = mask};
    return srn_atomic_result(&a, original);
}

std::uint64_t cmp_swap(std::uint64_t original, std::uint64_t compare, std::uint64_t compare_mask,
                       std::uint64_t data, std::uint64_t mask) {
    const srn_atomic a{.code = SRN_ATOMIC_CMP_SWAP,
                       .data = data,
                       .mask = mask,
                       .compare = compare,
                       .compare_mask = compare_mask};
    return srn_atomic_result(&a, original);
}

TEST(Atomic, FetchAddOfOneField) {
    EXPECT_EQ(fetch_add(5, 7, 0), 12U);
    EXPECT_EQ(fetch_add(all, 1, 0), 0U);
    EXPECT_EQ(fetch_add(0xffffffff, 1, 0), 0x100000000U);
    EXPECT_EQ(fetch_add(10, static_cast<std::uint64_t>(-3), 0), 7U);
}

TEST(Atomic, FetchAddOfSeveralFields) {
    // Two counters of 32 bits: neither carries into the other.
    EXPECT_EQ(fetch_add(0xffffffffffffffff, 0x0000000100000001, 0x8000000080000000), 0U);
    // Each bit a field of its own: an exclusive or.
    EXPECT_EQ(fetch_add(0xf0f0, 0xff00, all), 0x0ff0U);
}

TEST(Atomic, FetchAddIsWhatTheRfcWrites) {
    std::mt19937_64 random(7306);
    for (int i = 0; i < 100'000; ++i) {
        const std::uint64_t a = random(), b = random();
        // NOLINTNEXTLINE(misc-redundant-expression): each call gives another number
        const std::uint64_t mask = i % 3 == 0 ? 0 : random() & random();
        ASSERT_EQ(fetch_add(a, b, mask), add_by_bits(a, b, mask))
            << std::hex << a << ' ' << b << ' ' << mask;
    }
}

TEST(Atomic, CmpSwap) {
    EXPECT_EQ(cmp_swap(5, 5, all, 9, all), 9U);
    EXPECT_EQ(cmp_swap(5, 6, all, 9, all), 5U);
    // Equal where it is looked at.
    EXPECT_EQ(cmp_swap(0x1105, 0x2205, 0xff, 0x9999, all), 0x9999U);
    // Only some bits are replaced.
    EXPECT_EQ(cmp_swap(0x1234, 0x1234, all, 0xffff, 0x00f0), 0x12f4U);
    // Without anything to compare it is a swap.
    EXPECT_EQ(cmp_swap(1, 2, 0, 3, all), 3U);
}

TEST(Atomic, Layout) {
    const srn_atomic a{.code = SRN_ATOMIC_CMP_SWAP,
                       .id = 0x01020304,
                       .stag = 0x11121314,
                       .to = 0x2122232425262728,
                       .data = 0x3132333435363738,
                       .mask = 0x4142434445464748,
                       .compare = 0x5152535455565758,
                       .compare_mask = 0x6162636465666768};
    byte_vector bytes(sizeof(srn_wire_atomic_request));
    srn_atomic_put(reinterpret_cast<srn_wire_atomic_request*>(bytes.data()), &a);
    byte_vector expected{0, 0, 0, 2, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14};
    for (int field = 2; field <= 6; ++field)
        for (int i = 1; i <= 8; ++i) expected.push_back(static_cast<std::uint8_t>(field << 4 | i));
    EXPECT_EQ(bytes, expected);

    srn_atomic back{};
    srn_atomic_get(exact_copy(bytes).data(), &back);
    EXPECT_EQ(back.code, a.code);
    EXPECT_EQ(back.id, a.id);
    EXPECT_EQ(back.stag, a.stag);
    EXPECT_EQ(back.to, a.to);
    EXPECT_EQ(back.data, a.data);
    EXPECT_EQ(back.mask, a.mask);
    EXPECT_EQ(back.compare, a.compare);
    EXPECT_EQ(back.compare_mask, a.compare_mask);
}

TEST(Atomic, TwoOperationsAreKnown) {
    for (unsigned code = 0; code <= SRN_ATOMIC_CODE_MASK; ++code) {
        const srn_atomic a{.code = static_cast<std::uint8_t>(code)};
        EXPECT_EQ(srn_atomic_known(&a), code == SRN_ATOMIC_FETCH_ADD || code == SRN_ATOMIC_CMP_SWAP)
            << code;
    }
}

TEST(Atomic, OnlyTheLowFourBitsAreTheCode) {
    byte_vector bytes(sizeof(srn_wire_atomic_request));
    srn_atomic a{};
    bytes[0] = 0xff;
    bytes[3] = 0xf2;
    srn_atomic_get(bytes.data(), &a);
    EXPECT_EQ(a.code, SRN_ATOMIC_CMP_SWAP);
    EXPECT_TRUE(srn_atomic_known(&a));
    for (const std::uint8_t code :
         {std::uint8_t{1}, std::uint8_t{3}, std::uint8_t{4}, std::uint8_t{15}}) {
        a.code = code;
        EXPECT_FALSE(srn_atomic_known(&a)) << int{code};
    }
}

}  // namespace
