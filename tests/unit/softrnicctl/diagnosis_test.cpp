// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "diagnosis.hpp"

#include <gtest/gtest.h>

namespace softrnic::ctl {
namespace {

link_report healthy(const std::string& name, const std::string& netdev) {
    link_report link{.name = name, .netdev_name = netdev, .there = true, .state = 4};
    link.cm_gid = "0200:0000:0001:7372:0000:0000:0000:" + name;
    link.device = ctl::netdev{.name = netdev,
                              .up = true,
                              .carrier = true,
                              .addresses = {"10.0.0.1/24"},
                              .reachable = true};
    return link;
}

/// All that is wrong with the first, one after the other.
std::string wrong(const std::vector<link_report>& all) {
    std::string text;
    for (const finding& finding : diagnose(all.front(), all))
        text += "[" + finding.what + "|" + finding.mend + "]";
    return text;
}

TEST(Diagnosis, FindsNothingWithALinkThatWorks) {
    EXPECT_EQ(wrong({healthy("srn0", "eth0"), healthy("srn1", "eth1")}), "");
    link_report elsewhere = healthy("srn0", "");
    elsewhere.device.reset();
    EXPECT_EQ(wrong({elsewhere}), "");
}

TEST(Diagnosis, LooksAtTheNetworkDevice) {
    link_report link = healthy("srn0", "eth0");
    link.device->carrier = false;
    EXPECT_EQ(wrong({link}),
              "[eth0 has no carrier: look at the cable, or at the peer|ip link show eth0]");
    link.device->up = false;
    EXPECT_EQ(wrong({link}), "[eth0 is down|ip link set eth0 up]");
    link = healthy("srn0", "eth0");
    link.device->reachable = false;
    EXPECT_NE(wrong({link}).find("link-local addresses only"), std::string::npos);
    link.device->addresses.clear();
    EXPECT_EQ(wrong({link}),
              "[eth0 has no IP address, so no program can connect|"
              "ip address add ADDRESS/LENGTH dev eth0]");
}

TEST(Diagnosis, LooksAtTheGid) {
    link_report link = healthy("srn0", "eth0");
    link_report twin = healthy("srn1", "eth1");
    twin.cm_gid = link.cm_gid;
    EXPECT_EQ(wrong({link, twin}),
              "[its GID is that of srn1 as well|ip link set eth0 address MAC]");
    link.cm_gid = "0000:0000:0000:0000:0000:0000:0000:0000";
    EXPECT_EQ(wrong({link}),
              "[it has no GID, by which rdma_cm finds it|"
              "softrnicctl del srn0 && softrnicctl add srn0 eth0]");
}

TEST(Diagnosis, SaysWhyALinkIsAbsent) {
    link_report link{.name = "srn0", .netdev_name = "eth-0", .at_boot = true};
    EXPECT_EQ(wrong({link}), "[there is no network device eth-0|ip link show]");
    link.device = ctl::netdev{.name = "eth-0"};
    const std::string restart = "systemctl restart 'softrnic-link@eth\\x2d0.service'";
    EXPECT_EQ(wrong({link}), "[it is enabled, but not there|" + restart + "]");
    EXPECT_EQ(wrong({link, healthy("iwx0", "eth-0")}),
              "[eth-0 has the link iwx0 instead|" + restart + "]");
}

TEST(Diagnosis, QuotesNamesForTheShell) {
    link_report link = healthy("srn0", "a'b;c");
    link.device->up = false;
    EXPECT_EQ(wrong({link}), "[a'b;c is down|ip link set 'a'\\''b;c' up]");
}

}  // namespace
}  // namespace softrnic::ctl
