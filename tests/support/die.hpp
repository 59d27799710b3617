// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The end of a program that cannot go on.
#pragma once

#include <string>

namespace support {

/// Says why and ends the program at once with status 2. Nothing is destroyed.
[[noreturn]] void die(const std::string& why);

}  // namespace support
