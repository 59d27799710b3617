// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// result, error, handle and flags: the values that every call of the library returns or takes.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "softrnic/flags.hpp"
#include "softrnic/handle.hpp"

namespace {

using softrnic::access;
using softrnic::failure;
using softrnic::result;
using softrnic::send_flag;

result<int> half(int n) {
    if (n % 2 != 0) return softrnic::detail::fail(EDOM, "half");
    return n / 2;
}

TEST(Result, HoldsAValue) {
    const result<int> r = half(4);
    ASSERT_TRUE(r);
    EXPECT_EQ(*r, 2);
    EXPECT_EQ(r.value_or(9), 2);
}

TEST(Result, HoldsAnErrorWithItsOperation) {
    const result<int> r = half(3);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, EDOM);
    EXPECT_STREQ(r.error().operation, "half");
    EXPECT_EQ(r.error().error_code(), std::errc::argument_out_of_domain);
    EXPECT_EQ(r.error().message().rfind("half: ", 0), 0U);
    EXPECT_EQ(r.value_or(9), 9);
}

TEST(Result, MovesMoveOnlyValues) {
    result<std::unique_ptr<int>> a = std::make_unique<int>(5);
    result<std::unique_ptr<int>> b = std::move(a);
    ASSERT_TRUE(b);
    const std::unique_ptr<int> taken = std::move(*b);
    EXPECT_EQ(*taken, 5);
}

TEST(Result, AssignsAcrossStates) {
    result<std::string> r = failure({ENOENT, "open"});
    r = std::string(100, 'x');
    ASSERT_TRUE(r);
    EXPECT_EQ(r->size(), 100U);
    const result<std::string> bad = failure({EPERM, "write"});
    r = bad;
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, EPERM);
    result<std::string> copy = result<std::string>(std::string("y"));
    r = copy;
    EXPECT_EQ(*r, "y");
    EXPECT_EQ(*copy, "y");
}

TEST(Result, OfVoid) {
    const result<void> good;
    EXPECT_TRUE(good);
    const result<void> bad = softrnic::detail::check(-ENOMEM, "post");
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, ENOMEM) << "a negative errno becomes a positive one";
    EXPECT_TRUE(softrnic::detail::check(0, "post"));
}

TEST(Result, ChainsUntilTheFirstFailure) {
    EXPECT_EQ(*half(8).and_then(half), 2);
    EXPECT_EQ(half(6).and_then(half).error().code, EDOM);
}

TEST(Error, IsNeverZero) {
    errno = 0;
    EXPECT_EQ(softrnic::detail::last_error("x").code, EIO);
}

int closed = 0;
int close_it(int* object) {
    ++closed;
    return *object;
}

class owner : public softrnic::handle<int, &close_it> {
public:
    explicit owner(int* object) : handle(object) {}
};

TEST(Handle, ClosesOnceAndReportsFailure) {
    closed = 0;
    int good = 0;
    int busy = EBUSY;
    {
        owner a(&good);
        owner b = std::move(a);
        EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): that is what is tested
        EXPECT_EQ(b.native(), &good);
        EXPECT_TRUE(b.close());
        EXPECT_EQ(closed, 1);
    }
    EXPECT_EQ(closed, 1);
    owner c(&busy);
    EXPECT_EQ(c.close().error().code, EBUSY);
    owner d(&good);
    d = owner(&good);
    EXPECT_EQ(closed, 3) << "assignment closes what it replaces";
    EXPECT_EQ(d.release(), &good);
    EXPECT_TRUE(d.close());
    EXPECT_EQ(closed, 3) << "a released object is not closed";
}

TEST(Flags, Combine) {
    constexpr access rights = access::local_write | access::remote_read;
    static_assert(softrnic::to_native(rights) == (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
    static_assert(any(rights & access::remote_read));
    static_assert(!any(rights & access::remote_write));
    static_assert((rights ^ access::remote_read) == access::local_write);
    static_assert((rights & ~access::local_write) == access::remote_read);
    send_flag flags = send_flag::signaled;
    flags |= send_flag::fence;
    EXPECT_EQ(softrnic::to_native(flags), IBV_SEND_SIGNALED | IBV_SEND_FENCE);
    flags &= send_flag::fence;
    EXPECT_EQ(flags, send_flag::fence);
}

}  // namespace
