// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The table of set-up frames: all that an honest peer may send, and what nobody may.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "codec.hpp"

namespace wirepeer {

/// A name for a case, of letters and digits.
std::string name_of(const mpa_frame& f);

/// Every request that a responder has to accept.
std::vector<mpa_frame> good_requests();
/// Every reply that an initiator has to be content with.
std::vector<mpa_frame> good_replies();

/// What a set-up frame must not be, RFC 5044 section 7.1.1: changes of a good one that is enhanced.
struct bad_frame {
    const char* name;
    void (*change)(bytes& frame);
};
inline std::ostream& operator<<(std::ostream& out, const bad_frame& b) {
    return out << b.name;
}
std::span<const bad_frame> bad_set_up_frames();

}  // namespace wirepeer
