// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Would a codec be seen that reads beside its input?
#include <gtest/gtest.h>

#include "wire.hpp"

#ifndef __has_feature
#define __has_feature(x) 0
#endif

namespace {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
class ExactCopy : public testing::TestWithParam<std::size_t> {
protected:
    static bool readable(const std::uint8_t* at) { return !__asan_address_is_poisoned(at); }
};

TEST_P(ExactCopy, IsReadableAndNothingBesideIt) {
    const byte_vector bytes = pattern(GetParam());
    const exact_copy before(bytes);
    const exact_copy copy(bytes);
    const exact_copy behind(bytes);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), copy.data()));
    for (std::size_t i = 0; i < bytes.size(); i++) ASSERT_TRUE(readable(copy.data() + i)) << i;
    for (std::size_t i = 0; i < 16; i++)
        EXPECT_FALSE(readable(copy.data() + bytes.size() + i)) << i << " behind";
    for (std::size_t i = 1; i <= 16; i++)
        EXPECT_FALSE(readable(copy.data() - i)) << i << " in front";
}

TEST_P(ExactCopy, IsGoneWithItsScope) {
    const byte_vector bytes = pattern(GetParam());
    const std::uint8_t* gone = nullptr;
    {
        const exact_copy copy(bytes);
        gone = copy.data();
    }
    // The next one is elsewhere.
    const exact_copy next(bytes);
    for (std::size_t i = 0; i < bytes.size(); i++)
        // That it is freed is the point. NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete)
        ASSERT_FALSE(readable(gone + i)) << i;
}

// The longest does not fit in the room that the others are lent from.
INSTANTIATE_TEST_SUITE_P(Sizes, ExactCopy, testing::Values(0, 1, 7, 8, 9, 16, 20, 1000, 40000));

TEST(ExactCopyRoom, ComesRoundAndIsNotLentTwice) {
    const byte_vector bytes = pattern(100);
    const exact_copy longer_than_the_others(bytes);
    for (unsigned i = 0; i < 2000; i++) {
        const byte_vector other = pattern(100, i);
        const exact_copy copy(other);
        ASSERT_TRUE(std::equal(other.begin(), other.end(), copy.data())) << i;
        ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), longer_than_the_others.data())) << i;
    }
}
#endif

}  // namespace
