// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What stands between the network and a listening program: base chains of nf_tables, which
/// nftables, iptables-nft, firewalld and ufw all use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check.hpp"

namespace softrnic::ctl {

/// A chain that incoming packets to this host go through.
struct input_chain {
    /// As nft(8) has it, such as "inet filter input".
    std::string name;
    bool drops = false;  ///< what no rule lets through
    bool has_rules = false;
};

/// What these chains do to connections. Nothing here looks at the system.
check judge_firewall(const std::vector<input_chain>& chains);

}  // namespace softrnic::ctl
