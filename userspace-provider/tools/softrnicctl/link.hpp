// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Links that are there, and what is known of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "link_file.hpp"
#include "netdev.hpp"
#include "outcome.hpp"
#include "rdma_netlink.hpp"

namespace softrnic::ctl {

struct link {
    std::uint32_t index = 0;
    std::string name;
    rdma_port port;
};

/// All links of softrnic that this network namespace sees.
outcome<std::vector<link>> softrnic_links(rdma_netlink& kernel);

/// The link of this name, or on this network device.
const link* link_named(const std::vector<link>& links, std::string_view name) noexcept;
const link* link_on(const std::vector<link>& links, std::string_view netdev) noexcept;

/// "ACTIVE" and so on.
std::string_view state_name(std::uint8_t state) noexcept;

/// A link, or one that shall be there, with all that status tells of it.
struct link_report {
    std::string name;
    /// Of the link; if there is none, of its file.
    std::string netdev_name;
    bool there = false;
    bool at_boot = false;
    std::uint8_t state = 0;
    /// The first one.
    std::string gid{};
    /// By which rdma_cm of Linux before 6.4 finds the device.
    std::string cm_gid{};
    /// Of MPA, by name, as the kernel shows them: "0", "1" or a word.
    std::map<std::string, std::string> settings{};
    std::optional<netdev> device{};
    std::map<std::string, std::uint64_t> counters{};

    [[nodiscard]] std::uint64_t counter(const std::string& of) const;
    /// The sum of all counters that begin and end so, such as "tx_" and "_bytes".
    [[nodiscard]] std::uint64_t sum(std::string_view begin, std::string_view end) const;
};

/// What is there and what shall be there, by name.
std::vector<link_report> report_links(const std::vector<link>& links, const wanted_links& wanted);

}  // namespace softrnic::ctl
