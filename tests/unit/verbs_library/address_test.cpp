// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "softrnic/address.hpp"

#include <gtest/gtest.h>

// Every header of the library in one program, so that they are known to fit together.
#include "softrnic/softrnic.hpp"

namespace {

using softrnic::address;

TEST(Address, ResolvesBothFamilies) {
    const auto v4 = address::resolve("192.0.2.1", "7471");
    ASSERT_TRUE(v4);
    EXPECT_EQ(v4->family(), AF_INET);
    EXPECT_EQ(v4->port(), 7471);
    EXPECT_EQ(v4->text(), "192.0.2.1:7471");
    const auto v6 = address::resolve("2001:db8::1", 20);
    ASSERT_TRUE(v6);
    EXPECT_EQ(v6->family(), AF_INET6);
    EXPECT_EQ(v6->text(), "[2001:db8::1]:20");
}

TEST(Address, ChangesItsPort) {
    for (const char* host : {"192.0.2.1", "2001:db8::1"}) {
        const address a = *address::resolve(host, 0);
        EXPECT_EQ(a.port(), 0);
        EXPECT_EQ(a.with_port(65535).port(), 65535);
        EXPECT_EQ(a.port(), 0);
    }
    EXPECT_TRUE(address().with_port(5).empty());
}

TEST(Address, EmptyMeansNoSockaddr) {
    EXPECT_EQ(address().native(), nullptr);
    EXPECT_EQ(address().text(), "none");
    EXPECT_TRUE(address(nullptr).empty());
    sockaddr unix_socket{};
    unix_socket.sa_family = AF_UNIX;
    EXPECT_TRUE(address(&unix_socket).empty());
}

TEST(Address, RefusesNonsense) {
    const auto r = address::resolve("192.0.2.1", "no-such-service-name");
    ASSERT_FALSE(r);
    EXPECT_STREQ(r.error().operation, "getaddrinfo");
}

TEST(Address, EmptyHostIsEveryLocalAddress) {
    const auto any = address::resolve("", 7471);
    ASSERT_TRUE(any);
    EXPECT_EQ(any->port(), 7471);
}

}  // namespace
