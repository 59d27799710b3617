// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The table of what a peer must not send, and of the Terminate that has to answer it. Each case is
/// named by the section that forbids it. RFC 5041 section 7.2, RFC 5040 section 4.8 and RFC 5044
/// section 8 have the numbers.
#pragma once

#include <cstddef>
#include <ostream>
#include <span>
#include <vector>

#include "codec.hpp"
#include "scene.hpp"

namespace wirepeer {

/// Bytes that must never arrive anywhere: no pattern() has them.
inline constexpr std::uint8_t poison = 0xff;

/// What becomes of the receive that the message at fault would have taken.
enum class receive_fate : std::uint8_t { flushed, too_long, bad_invalidation };

/// Segments of which the last is at fault.
struct violation {
    const char* name;
    std::vector<segment> (*make)(const scene& at);
    term_code why;
    term_headers with = term_headers::ddp;
    receive_fate fate = receive_fate::flushed;
    std::uint32_t delivered = 0;  // good messages before
};
inline std::ostream& operator<<(std::ostream& out, const violation& v) {
    return out << v.name;
}
std::span<const violation> violations();

/// An FPDU that is none: MPA's own errors.
struct broken_fpdu {
    const char* name;
    bytes (*make)(const scene& at);
    term_code why;
};
inline std::ostream& operator<<(std::ostream& out, const broken_fpdu& b) {
    return out << b.name;
}
std::span<const broken_fpdu> broken_fpdus();

}  // namespace wirepeer
