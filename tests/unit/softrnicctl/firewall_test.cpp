// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "firewall.hpp"

#include <gtest/gtest.h>

namespace softrnic::ctl {
namespace {

TEST(Firewall, LetsAllInWithoutRules) {
    EXPECT_EQ(judge_firewall({}).verdict, verdict::ok);
    EXPECT_EQ(judge_firewall({{"inet filter input", false, false}}).verdict, verdict::ok);
}

TEST(Firewall, ThatDropsAllIsWrong) {
    const check found =
        judge_firewall({{"ip nat prerouting", false, true}, {"inet filter input", true, false}});
    EXPECT_EQ(found.verdict, verdict::wrong);
    EXPECT_EQ(found.mend, "nft insert rule inet filter input tcp dport PORT accept");
}

TEST(Firewall, WithRulesIsNotUnderstood) {
    const check rules = judge_firewall({{"ip filter INPUT", false, true}});
    EXPECT_EQ(rules.verdict, verdict::unknown);
    EXPECT_EQ(rules.mend, "nft list chain ip filter INPUT");
    const check drops =
        judge_firewall({{"ip nat prerouting", false, true}, {"inet filter input", true, true}});
    EXPECT_EQ(drops.verdict, verdict::unknown);
    EXPECT_EQ(drops.mend, "nft list chain inet filter input");
    EXPECT_NE(drops.what.find("nft insert rule inet filter input tcp dport PORT accept"),
              std::string::npos);
}

}  // namespace
}  // namespace softrnic::ctl
