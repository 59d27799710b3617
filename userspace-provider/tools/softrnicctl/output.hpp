// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Links as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "link.hpp"

namespace softrnic::ctl {

/// A table with a line for each link.
std::string list_as_text(const std::vector<link_report>& links);
std::string list_as_json(const std::vector<link_report>& links);

/// All that there is to say about some of the links, which are all there are.
std::string status_as_text(const std::vector<link_report>& shown,
                           const std::vector<link_report>& all);
std::string status_as_json(const std::vector<link_report>& shown,
                           const std::vector<link_report>& all);

}  // namespace softrnic::ctl
