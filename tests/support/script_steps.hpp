// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// How a program and the script that runs it go on step by step: the program says how far it is,
/// and the script sends SIGUSR1.
#pragma once

#include <string>

namespace support {

/// One line, at once.
void say(const std::string& what);

/// To be called before there are threads: the signal then waits for wait_for_signal().
void block_signal();
void wait_for_signal();

}  // namespace support
