// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What becomes of work that was posted while the device went away.
#pragma once

#include <cstdint>

#include "ring/producer_ring.hpp"
#include "verbs/qp.hpp"

namespace softrnic::provider {

/// Whether the kernel has let go of the queue pair, because the device has gone.
bool is_gone(const queue_pair& qp) noexcept;

/// After a doorbell that has failed with `error`. If the device has gone, the kernel may still find
/// what was posted when it flushes the queue, so this waits until it has let go of the queue pair.
/// `end`: index behind what was posted to `ring`, which is one of the queue pair's. Returns 0 if
/// all of that has its completions, else the error, and it gets none.
int error_of_posted(const queue_pair& qp, int error, const producer_ring& ring,
                    std::uint32_t end) noexcept;

}  // namespace softrnic::provider
