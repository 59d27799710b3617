// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What the module says in the kernel's log. Kernels that give it no way to explain an error to who
/// asked have the reason there.
#pragma once

#include <string>
#include <vector>

#include "descriptor.hpp"

namespace softrnic::ctl {

class kernel_log {
public:
    /// From now on. Who may not read the log will find nothing in it.
    kernel_log();

    /// What the module has said since then, or since the last call.
    std::vector<std::string> news();

private:
    descriptor log_;
};

}  // namespace softrnic::ctl
