// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Slices as values and on the wire, private data, deadlines.
#include "softrnic/slice.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "softrnic/cm_channel.hpp"
#include "softrnic/deadline.hpp"

namespace {

using namespace std::chrono_literals;
using softrnic::deadline;
using softrnic::local_slice;
using softrnic::private_data;
using softrnic::remote_slice;

TEST(RemoteSlice, TravelsBigEndian) {
    constexpr remote_slice slice{0x0102030405060708, 0x1112131415161718, 0x21222324};
    constexpr remote_slice::wire_bytes bytes = slice.to_bytes();
    static_assert(bytes.size() == 20);
    EXPECT_EQ(std::to_integer<int>(bytes[0]), 0x01);
    EXPECT_EQ(std::to_integer<int>(bytes[7]), 0x08);
    EXPECT_EQ(std::to_integer<int>(bytes[8]), 0x11);
    EXPECT_EQ(std::to_integer<int>(bytes[16]), 0x21);
    EXPECT_EQ(std::to_integer<int>(bytes[19]), 0x24);
    static_assert(remote_slice::from_bytes(bytes) == slice);
}

TEST(RemoteSlice, KeepsTheHighBits) {
    constexpr remote_slice slice{UINT64_MAX, UINT64_MAX - 1, UINT32_MAX};
    static_assert(remote_slice::from_bytes(slice.to_bytes()) == slice);
}

TEST(Slices, HaveParts) {
    constexpr local_slice local{0x1000, 100, 7};
    static_assert(local.sub(10, 20) == local_slice{0x100a, 20, 7});
    constexpr remote_slice remote{0x2000, 100, 8};
    static_assert(remote.sub(100, 0) == remote_slice{0x2064, 0, 8});
    EXPECT_EQ(local_slice{}.length, 0U);
}

TEST(PrivateData, CopiesAndCuts) {
    std::vector<std::byte> bytes(300, std::byte{7});
    EXPECT_EQ(private_data{}.size(), 0U);
    EXPECT_EQ(private_data(bytes).size(), private_data::max_size);
    const private_data two{std::span(bytes).first(2)};
    bytes[0] = std::byte{9};
    EXPECT_EQ(two.bytes().size(), 2U);
    EXPECT_EQ(two.bytes()[0], std::byte{7});
}

TEST(Deadline, CountsDown) {
    EXPECT_EQ(deadline::never().poll_timeout(), -1);
    EXPECT_FALSE(deadline::never().expired());
    const deadline soon = 1h;
    EXPECT_GT(soon.poll_timeout(), 3'590'000);
    EXPECT_LE(soon.poll_timeout(), 3'600'000);
    const deadline past = -1s;
    EXPECT_TRUE(past.expired());
    EXPECT_EQ(past.poll_timeout(), 0);
    const deadline far = std::chrono::hours(24 * 365);
    EXPECT_EQ(far.poll_timeout(), INT_MAX) << "what poll(2) cannot say is cut, not wrapped";
}

template <class T>
class LongestWait : public ::testing::Test {};
using lengths =
    ::testing::Types<std::chrono::nanoseconds, std::chrono::microseconds, std::chrono::milliseconds,
                     std::chrono::seconds, std::chrono::hours, std::chrono::duration<double>,
                     std::chrono::duration<std::uint64_t, std::milli>>;
TYPED_TEST_SUITE(LongestWait, lengths);

TYPED_TEST(LongestWait, DoesNotWrap) {
    const deadline longest = TypeParam::max();
    EXPECT_FALSE(longest.expired());
    EXPECT_TRUE(longest.is_never());
    EXPECT_EQ(longest.poll_timeout(), -1);
    const deadline shortest = TypeParam::min();
    EXPECT_TRUE(shortest.expired() || shortest.poll_timeout() <= 1) << "it is 0 or less";
}

TEST(Deadline, MayBeLongOrLongPast) {
    const deadline century = std::chrono::hours(24 * 365 * 100);
    EXPECT_FALSE(century.expired());
    EXPECT_EQ(century.poll_timeout(), INT_MAX);
    const deadline long_past = deadline::clock::time_point::min();
    EXPECT_TRUE(long_past.expired());
    EXPECT_EQ(long_past.poll_timeout(), 0);
    const deadline infinite = std::chrono::duration<double>(HUGE_VAL);
    EXPECT_TRUE(infinite.is_never());
    const deadline nonsense = std::chrono::duration<double>(NAN);
    EXPECT_TRUE(nonsense.expired());
}

TEST(CmEvent, NamesAnErrno) {
    softrnic::cm_event event;
    event.type = RDMA_CM_EVENT_REJECTED;
    event.status = 28;
    EXPECT_EQ(event.error_code(), ECONNREFUSED);
    event.type = RDMA_CM_EVENT_ADDR_ERROR;
    event.status = -ETIMEDOUT;
    EXPECT_EQ(event.error_code(), ETIMEDOUT);
    event.type = RDMA_CM_EVENT_UNREACHABLE;
    event.status = 0;
    EXPECT_EQ(event.error_code(), EHOSTUNREACH);
}

}  // namespace
