// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// From the work requests of verbs to the entries of a send queue.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace softrnic::provider {

/// What one send queue accepts.
struct send_limits {
    std::uint32_t max_sge;
    std::uint32_t max_inline;
    bool signal_all;
};

/// Writes @wr to @slot, which has room for what @limits allow. Returns 0, or EINVAL for what verbs
/// do not allow; the slot's contents are then void.
int encode_send(const ibv_send_wr& wr, const send_limits& limits, std::byte* slot) noexcept;

/// Bytes that the scatter list in @slot, which encode_send() has written, names.
std::uint64_t listed_bytes(const std::byte* slot) noexcept;

}  // namespace softrnic::provider
