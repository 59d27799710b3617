// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The counters of the link, which is both ends here.
#pragma once

#include <cstdint>
#include <string>

namespace verbs_test {

/// One of the link's hw_counters, as the core has read it last.
std::uint64_t counter(const std::string& name);

/// Waits until the core reads them anew: it keeps values for 10 ms.
void settle_counters();

}  // namespace verbs_test
