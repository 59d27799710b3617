// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The other end of the wire: TCP sockets that do at random what they should not, and now and then
/// what they should.
#pragma once

#include <cstdint>

#include "plan.hpp"
#include "shared.hpp"

namespace fuzz_cm {

/// Dials ports where actors may listen until it is over. `thread` is its number for the watchdog.
void dial_at_random(shared_state& all, const plan& p, std::size_t thread);
/// Takes connections at the ports that are the peer's.
void answer_at_random(shared_state& all, const plan& p, std::size_t thread);

}  // namespace fuzz_cm
