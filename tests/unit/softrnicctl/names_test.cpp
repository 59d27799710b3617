// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "names.hpp"

#include <gtest/gtest.h>

namespace softrnic::ctl {
namespace {

TEST(LinkName, IsSafeInShellsAndFileNames) {
    for (const char* good : {"srn0", "0", "a.b_c-d", "iwx525400123456"})
        EXPECT_TRUE(valid_link_name(good)) << good;
    for (const char* bad : {"", ".", "..", ".hidden", "-f", "_x", "a b", "a/b", "srn%d", "a\nb",
                            "a\\b", "ä", "a;b", "a'b"})
        EXPECT_FALSE(valid_link_name(bad)) << bad;
    EXPECT_TRUE(valid_link_name(std::string(31, 'x')));
    EXPECT_FALSE(valid_link_name(std::string(32, 'x')));
    EXPECT_FALSE(valid_link_name(std::string_view("srn\0", 4)));
}

TEST(NetdevName, IsAnyThatTheKernelTakesWithoutControlCharacters) {
    for (const char* good :
         {"eth0", "eth0.7", "a-b", "a\"b", "a'b", "ä", "wlan@0", "fifteen-charact"})
        EXPECT_TRUE(valid_netdev_name(good)) << good;
    for (const char* bad : {"", ".", "..", "a/b", "a b", "a:b", "a\tb", "a\nb", "a\x1b[0m", "\x7f",
                            "sixteen-characte"})
        EXPECT_FALSE(valid_netdev_name(bad)) << bad;
    EXPECT_FALSE(valid_netdev_name(std::string_view("e\0", 2)));
}

// What systemd-escape of systemd 252 prints.
TEST(UnitInstance, IsEscapedAsSystemdDoes) {
    EXPECT_EQ(escape_unit_instance("eth0"), "eth0");
    EXPECT_EQ(escape_unit_instance("eth0.7"), "eth0.7");
    EXPECT_EQ(escape_unit_instance("a-b"), "a\\x2db");
    EXPECT_EQ(escape_unit_instance("a/b"), "a-b");
    EXPECT_EQ(escape_unit_instance(".a"), "\\x2ea");
    EXPECT_EQ(escape_unit_instance("a@b'%"), "a\\x40b\\x27\\x25");
    EXPECT_EQ(escape_unit_instance("ä"), "\\xc3\\xa4");
    EXPECT_EQ(unit_of("eth-0"), "softrnic-link@eth\\x2d0.service");
}

TEST(RenamedByUdev, AreNamesOfPlacesAndNumbers) {
    for (const char* renamed : {"iwo1", "iwp3s0", "iwp3s0f1", "iwP1p3s0", "iws1", "iwp3s0f1v2",
                                "iwx020000fffe000001", "iwx020000000001"})
        EXPECT_TRUE(renamed_by_udev(renamed)) << renamed;
    for (const char* chosen : {"srn0", "iwarp-storage-1", "iw0", "iwx", "iw", "rocep3s0"})
        EXPECT_FALSE(renamed_by_udev(chosen)) << chosen;
}

TEST(Printable, KeepsTerminalsSafe) {
    EXPECT_EQ(printable("eth0 ä"), "eth0 ä");
    EXPECT_EQ(printable("a\x1b[31m\n\x7f"), "a?[31m??");
}

}  // namespace
}  // namespace softrnic::ctl
