// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// All checks, one after the other.
#pragma once

#include <optional>
#include <string>

#include "check.hpp"

namespace softrnic::ctl {

/// Looks at all. Without a port, whether one is free is not known.
checks examine(std::optional<unsigned> port);

/// A line for each.
std::string checks_as_text(const checks& found);

/// How many are wrong.
std::size_t count_wrong(const checks& found);

}  // namespace softrnic::ctl
