// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What is wrong with a link. Nothing here looks at the system.
#pragma once

#include <string>
#include <vector>

#include "link.hpp"

namespace softrnic::ctl {

struct finding {
    std::string what;
    /// A command that mends it, with words in capitals for what only the user knows.
    std::string mend;
};

/// All that is wrong with one of these, which are all there are.
std::vector<finding> diagnose(const link_report& link, const std::vector<link_report>& all);

}  // namespace softrnic::ctl
