// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What a run of the fuzzer is about: two network namespaces with a device each.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "softrnic/address.hpp"

namespace fuzz_cm {

/// A namespace, the device in it and its addresses.
struct side {
    std::string network;
    std::string device_file;
    softrnic::address v4, v6;
};

struct plan {
    std::uint64_t seed;
    std::uint64_t seconds;
    /// Actors are on both sides, the scripted peer is on the second one.
    std::array<side, 2> sides;
};

/// Where actors listen, and where the peer does.
inline constexpr std::uint16_t actor_port = 7000, peer_port = 7100, ports = 6;

}  // namespace fuzz_cm
