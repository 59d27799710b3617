// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "die.hpp"

#include <cstdio>
#include <cstdlib>

namespace support {

void die(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    // Other threads may run: their objects are not destroyed under them.
    std::fflush(nullptr);
    std::_Exit(2);
}

}  // namespace support
