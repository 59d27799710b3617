// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "link_counter.hpp"

#include <fstream>
#include <stdexcept>

namespace support {

std::uint64_t link_counter(const std::string& device, const std::string& name) {
    std::ifstream file("/sys/class/infiniband/" + device + "/ports/1/hw_counters/" + name);
    std::uint64_t value = 0;
    if (!(file >> value)) throw std::runtime_error("no counter " + name);
    return value;
}

}  // namespace support
