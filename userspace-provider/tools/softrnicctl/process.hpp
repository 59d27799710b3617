// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Programs of the system, run to their end.
#pragma once

#include <string>
#include <vector>

#include "outcome.hpp"

namespace softrnic::ctl {

struct ended_process {
    /// As the shell has it: 128 and its number for a signal.
    int status = 0;
    /// What it has printed and complained of, without the last line end.
    std::string output;
};

/// Runs a program of the system's folders in the C locale. A problem: it cannot be run at all.
outcome<ended_process> run_program(std::vector<std::string> command);

}  // namespace softrnic::ctl
