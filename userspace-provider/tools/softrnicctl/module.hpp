// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The kernel module.
#pragma once

#include <string>

#include "outcome.hpp"

namespace softrnic::ctl {

/// The running kernel, such as "6.1.0-56-amd64".
std::string kernel_release();

bool module_loaded() noexcept;

/// Loads the module, if it is not loaded.
maybe_problem load_module();

}  // namespace softrnic::ctl
