// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What the scripted peer knows of the verbs side's memory and queues.
#pragma once

#include <cstdint>

namespace wirepeer {

struct region {
    std::uint32_t stag = 0;
    std::uint64_t base = 0;
    std::uint32_t size = 0;

    [[nodiscard]] std::uint64_t end() const { return base + size; }
};

struct scene {
    region open;        // remote read and write
    region read_only;   // remote read
    region write_only;  // remote write
    region local_only;  // local write
    region atomic;      // remote atomics
    region foreign;     // open, but of another protection domain
    region gone;        // was open, and has been deregistered
};

/// Receives that are posted on the verbs side, and the bytes that each can take.
inline constexpr std::uint32_t receives = 4;
inline constexpr std::uint32_t receive_size = 64;

/// An STag whose index nobody has reached, and one of a region with another key.
inline constexpr std::uint32_t unused_stag = 0x7fffff55;
constexpr std::uint32_t with_wrong_key(std::uint32_t stag) {
    return stag ^ 1;
}

}  // namespace wirepeer
