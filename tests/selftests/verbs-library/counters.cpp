// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "counters.hpp"

#include <thread>

#include "fixture.hpp"
#include "link_counter.hpp"

namespace verbs_test {

std::uint64_t counter(const std::string& name) {
    return support::link_counter(ibv_get_device_name(device().native()->device), name);
}

void settle_counters() {
    std::this_thread::sleep_for(30ms);
}

}  // namespace verbs_test
