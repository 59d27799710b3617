// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "path.hpp"

#include "counters.hpp"
#include "settings.hpp"

namespace verbs_test {
namespace {

constexpr const char* recognised = "peers_recognised";
constexpr const char* bypassing = "connections_same_host";

std::uint64_t settled(const char* name) {
    settle_counters();
    return counter(name);
}

}  // namespace

bool bypasses_tcp() {
    return support::value_of_link_setting(ibv_get_device_name(device().native()->device),
                                          "same_host") != "off";
}

path_watch::path_watch() : recognised_(settled(recognised)), bypassing_(counter(bypassing)) {}

void path_watch::settle(std::size_t connections) const {
    const std::uint64_t ends = 2 * connections;
    const std::uint64_t direct = bypasses_tcp() ? ends : 0;
    for (const softrnic::deadline until = patience; !until.expired(); settle_counters())
        if (counter(recognised) >= recognised_ + ends && counter(bypassing) >= bypassing_ + direct)
            break;
    EXPECT_EQ(counter(recognised), recognised_ + ends);
    EXPECT_EQ(counter(bypassing), bypassing_ + direct);
}

pair connect_settled(const pair_options& options) {
    const path_watch watch;
    pair ends = connect_pair(options);
    watch.settle(1);
    return ends;
}

}  // namespace verbs_test
