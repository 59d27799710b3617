// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The units that keep links.
#pragma once

#include <string>

#include "outcome.hpp"

namespace softrnic::ctl {

/// Whether systemd is process 1 here, so that units can be started.
bool systemd_runs() noexcept;

/// "systemctl VERB UNIT". If now is true and systemd runs, this starts or stops it as well.
maybe_problem switch_unit(const std::string& verb, const std::string& unit, bool now);

}  // namespace softrnic::ctl
