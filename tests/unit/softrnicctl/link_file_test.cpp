// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "link_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace softrnic::ctl {
namespace {

namespace fs = std::filesystem;

std::string netdev_in(std::string_view content) {
    outcome<wanted_link> link = parse_link_file("srn0", content);
    return link ? link->netdev : "! " + link.why().what;
}

TEST(LinkFile, SaysWhichNetworkDevice) {
    EXPECT_EQ(netdev_in("netdev = eth0\n"), "eth0");
    EXPECT_EQ(netdev_in("netdev=eth0"), "eth0");
    EXPECT_EQ(netdev_in("# a comment = this\n\n \t netdev\t=  a=b \t\n   # netdev = eth1\n"),
              "a=b");
}

TEST(LinkFile, IsRefusedWithTheLineThatIsWrong) {
    EXPECT_EQ(netdev_in(""), "! no line says netdev = …");
    EXPECT_EQ(netdev_in("# netdev = eth0\n"), "! no line says netdev = …");
    EXPECT_EQ(netdev_in("\nnetdev eth0"), "! line 2: it is not of the form KEY = VALUE");
    EXPECT_EQ(netdev_in("netdev = eth0\nmtu = 1500"), "! line 2: unknown key \"mtu\"");
    EXPECT_EQ(netdev_in("netdev = eth0\nnetdev = eth0"), "! line 2: netdev is there twice");
    EXPECT_EQ(netdev_in("netdev ="), "! line 1: no network device can be called \"\"");
    EXPECT_EQ(netdev_in("netdev = a b"), "! line 1: no network device can be called \"a b\"");
    EXPECT_EQ(netdev_in("netdev = eth0\r\n"),
              "! line 1: no network device can be called \"eth0?\"");
    EXPECT_EQ(netdev_in("netdev = ../../x"),
              "! line 1: no network device can be called \"../../x\"");
    EXPECT_EQ(netdev_in("= eth0"), "! line 1: unknown key \"\"");
    EXPECT_EQ(netdev_in("\x1b[2Jnetdev = eth0"), "! line 1: unknown key \"?[2Jnetdev\"");
    EXPECT_EQ(netdev_in(std::string_view("netdev = e\0x\n", 13)),
              "! line 1: no network device can be called \"e?x\"");
}

TEST(LinkFile, ComesBackAsItWasWritten) {
    for (const char* netdev : {"eth0", "a=b", "#", "a#b", "'\"\\"}) {
        outcome<wanted_link> link = parse_link_file("srn0", format_link_file({"srn0", netdev}));
        ASSERT_TRUE(link) << link.why().what;
        EXPECT_EQ(*link, (wanted_link{"srn0", netdev}));
    }
}

// Whatever is in it, nothing but a name that a device can have comes out.
TEST(LinkFile, MayHoldRubbish) {
    constexpr std::string_view pieces[] = {"netdev",
                                           "=",
                                           " ",
                                           "\n",
                                           "\t",
                                           "#",
                                           "eth0",
                                           "\r",
                                           "\x1b",
                                           "/",
                                           "ä",
                                           "..",
                                           std::string_view("\0", 1)};
    std::mt19937 random(1);
    for (int round = 0; round < 20000; round++) {
        std::string content;
        for (auto n = random() % 12; n > 0; n--) content += pieces[random() % std::size(pieces)];
        outcome<wanted_link> link = parse_link_file("srn0", content);
        if (!link) continue;
        EXPECT_EQ(link->name, "srn0");
        EXPECT_EQ(link->netdev.find_first_of(" \n\t\r\x1b/"), std::string::npos) << content;
        EXPECT_FALSE(link->netdev.empty());
    }
}

class LinkFiles : public testing::Test {
protected:
    LinkFiles() {
        std::string pattern = testing::TempDir() + "links-XXXXXX";
        EXPECT_NE(mkdtemp(pattern.data()), nullptr);
        root_ = pattern;
    }
    ~LinkFiles() override { fs::remove_all(root_); }

    void file(const std::string& name, const std::string& content) {
        fs::create_directories(folder());
        std::ofstream(folder() + "/" + name) << content;
    }
    [[nodiscard]] std::string folder() const { return root_ / "links.d"; }

    fs::path root_;
};

TEST_F(LinkFiles, AreNoneWithoutTheFolder) {
    const wanted_links wanted = read_link_files(folder());
    EXPECT_TRUE(wanted.links.empty());
    EXPECT_TRUE(wanted.problems.empty());
}

TEST_F(LinkFiles, AreWrittenReadAndRemoved) {
    ASSERT_FALSE(write_link_file(folder(), {"srn1", "eth1"}));
    ASSERT_FALSE(write_link_file(folder(), {"srn0", "eth0"}));
    ASSERT_FALSE(write_link_file(folder(), {"srn0", "eth2"}));
    const wanted_links wanted = read_link_files(folder());
    EXPECT_TRUE(wanted.problems.empty());
    EXPECT_EQ(wanted.links, (std::vector<wanted_link>{{"srn0", "eth2"}, {"srn1", "eth1"}}));
    ASSERT_NE(wanted.named("srn1"), nullptr);
    EXPECT_EQ(wanted.named("srn1")->netdev, "eth1");
    EXPECT_EQ(wanted.on("eth2"), wanted.named("srn0"));
    EXPECT_EQ(wanted.on("eth0"), nullptr);
    EXPECT_EQ(fs::status(link_file_path(folder(), "srn0")).permissions(), fs::perms(0644));

    EXPECT_FALSE(remove_link_file(folder(), "srn0"));
    EXPECT_FALSE(remove_link_file(folder(), "srn1"));
    EXPECT_FALSE(remove_link_file(folder(), "srn1"));
    EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(LinkFiles, OfOthersAreLeftAlone) {
    file("README", "netdev = eth0\n");
    file("srn0.conf~", "netdev = eth0\n");
    file(".conf", "netdev = eth0\n");
    const wanted_links wanted = read_link_files(folder());
    EXPECT_TRUE(wanted.links.empty());
    EXPECT_TRUE(wanted.problems.empty());
}

TEST_F(LinkFiles, ThatMakeNoSenseDoNotHideTheOthers) {
    file("a b.conf", "netdev = eth0\n");
    file("srn0.conf", "nothing\n");
    file("srn1.conf", "netdev = eth1\n");
    file("srn2.conf", "netdev = eth1\n");
    file("srn3.conf", "netdev = eth3\n" + std::string(100000, '#'));
    fs::create_directories(folder() + "/srn4.conf");
    ASSERT_EQ(mkfifo((folder() + "/srn5.conf").c_str(), 0600), 0);
    fs::create_symlink("nowhere", folder() + "/srn6.conf");
    const wanted_links wanted = read_link_files(folder());
    EXPECT_EQ(wanted.links, (std::vector<wanted_link>{{"srn1", "eth1"}}));
    std::vector<std::string> told;
    for (const problem& problem : wanted.problems)
        told.push_back(problem.what.substr(folder().size() + 1));
    EXPECT_EQ(told,
              (std::vector<std::string>{
                  "a b.conf: no link can have this name",
                  "srn0.conf: line 1: it is not of the form KEY = VALUE",
                  "srn3.conf: it cannot be read, or is too large", "srn4.conf: it is not a file",
                  "srn5.conf: it is not a file", "srn6.conf: No such file or directory",
                  "srn2.conf: eth1 has the link srn1 already"}));
}

TEST_F(LinkFiles, LeaveNothingWhenTheyCannotBeWritten) {
    std::ofstream(root_ / "links.d") << "in the way";
    const maybe_problem bad = write_link_file(folder(), {"srn0", "eth0"});
    ASSERT_TRUE(bad);
    EXPECT_NE(bad->what.find("Not a directory"), std::string::npos) << bad->what;
}

}  // namespace
}  // namespace softrnic::ctl
