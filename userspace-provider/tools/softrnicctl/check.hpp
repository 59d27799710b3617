// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What doctor looks at. Each function looks at one part of the system, and has a check for each
/// thing that it has found out, or could not find out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "link.hpp"

namespace softrnic::ctl {

enum class verdict { ok, wrong, unknown };

struct check {
    ctl::verdict verdict;
    std::string topic;
    std::string what;
    /// A command: one that mends it, or one that shows more.
    std::string mend{};
};

using checks = std::vector<check>;

/// Kernel, headers, module, signature.
checks check_module();
/// Provider and libibverbs, and whether they open these links.
checks check_provider(const std::vector<link>& links);
/// What programs need of the host: device files, memory, names of devices, a port.
checks check_programs(const std::vector<link_report>& links, std::optional<unsigned> port);
checks check_firewall();
/// Links, and the files and units of those that come at boot.
checks check_links(const std::vector<link_report>& links, const wanted_links& wanted);

/// How softrnic gets installed here.
std::string install_command();
/// How a provider gets installed here that fits libibverbs and the module.
std::string install_provider_command();
/// What to do if a provider and the module do not fit: the module may be older than what is
/// installed.
std::string mend_misfit_command();

}  // namespace softrnic::ctl
