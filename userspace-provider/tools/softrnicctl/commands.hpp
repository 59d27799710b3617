// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What changes links, now and at boot. softrnicctl(8) says what each command does.
#pragma once

#include <string>

#include "outcome.hpp"

namespace softrnic::ctl {

maybe_problem add(const std::string& name, const std::string& netdev);
maybe_problem del(const std::string& name);

maybe_problem enable(const std::string& name, const std::string& netdev);
maybe_problem disable(const std::string& name);

/// For the unit of a network device: its link is there afterwards, or is gone.
maybe_problem start(const std::string& netdev);
maybe_problem stop(const std::string& netdev);

}  // namespace softrnic::ctl
