// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Counters of a link.
#pragma once

#include <cstdint>
#include <string>

namespace support {

/// The hw_counter of that name of the link with this RDMA device, as the core has read it last,
/// which is up to 10 ms ago. Throws if there is none.
std::uint64_t link_counter(const std::string& device, const std::string& name);

}  // namespace support
