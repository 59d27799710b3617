// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// One program of files that are compiled for different standards.
#include "mixed_standards.hpp"

#include <gtest/gtest.h>

namespace {

using softrnic::address;

TEST(MixedStandards, AreTwo) {
    EXPECT_GT(later_standard::standard(), __cplusplus);
}

TEST(MixedStandards, ResultsComeOver) {
    const softrnic::result<int> good = later_standard::half(66);
    ASSERT_TRUE(good);
    EXPECT_EQ(*good, 33);
    const softrnic::result<int> bad = later_standard::half(3);
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, EDOM);
    EXPECT_STREQ(bad.error().operation, "half");
}

TEST(MixedStandards, ResultsGoOver) {
    const auto text = later_standard::text_of(address::resolve("192.0.2.1", 1));
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, "192.0.2.1:1");
    const auto none = later_standard::text_of(softrnic::failure({ENODEV, "x"}));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ENODEV);
}

// Of an inline function that both sides call the program has one.
TEST(MixedStandards, ShareTheLibrary) {
    const auto here = address::resolve("2001:db8::1", 7471);
    ASSERT_TRUE(here);
    const auto there = later_standard::resolved("2001:db8::1");
    ASSERT_TRUE(there);
    EXPECT_EQ(here->text(), *there);
}

}  // namespace
