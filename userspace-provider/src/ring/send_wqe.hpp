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

struct encoded {
    int error = 0;             ///< or EINVAL for what verbs do not allow; the slot is then void
    std::uint64_t listed = 0;  ///< bytes that the scatter list names
};

/// Writes @wr to @slot, which has room for what @limits allow.
encoded encode_send(const ibv_send_wr& wr, const send_limits& limits, std::byte* slot) noexcept;

}  // namespace softrnic::provider
