// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "counters.hpp"

#include <fstream>
#include <stdexcept>
#include <thread>

#include "fixture.hpp"

namespace verbs_test {

std::uint64_t counter(const std::string& name) {
    const std::string device_name = ibv_get_device_name(device().native()->device);
    std::ifstream file("/sys/class/infiniband/" + device_name + "/ports/1/hw_counters/" + name);
    std::uint64_t value = 0;
    if (!(file >> value)) throw std::runtime_error("no counter " + name);
    return value;
}

void settle_counters() {
    std::this_thread::sleep_for(30ms);
}

}  // namespace verbs_test
