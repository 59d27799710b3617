// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Network devices of this network namespace.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace softrnic::ctl {

struct netdev {
    std::string name;
    bool up = false;
    bool carrier = false;
    unsigned mtu = 0;
    /// Hardware address, as "02:00:00:00:00:01"; empty if it has none.
    std::string hardware_address{};
    /// "10.0.0.1/24" and so on.
    std::vector<std::string> addresses{};
    /// Whether one of them is more than link-local.
    bool reachable = false;
};

/// Whether there is a network device of this name.
bool netdev_exists(const std::string& name) noexcept;

/// The name that the kernel shows for a network device, which may have been named by one of its
/// other names; the name as it is if there is no such device.
std::string own_name(const std::string& name);

/// What there is to know about it, if it exists.
std::optional<netdev> look_at_netdev(const std::string& name);

}  // namespace softrnic::ctl
