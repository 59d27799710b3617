// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// From the receive requests of verbs to the entries of a receive or shared receive queue.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "softrnic-abi.h"

namespace softrnic::provider {

/// Writes @wr to @slot, which has room for @max_sge entries. Returns 0 or EINVAL.
inline int encode_recv(const ibv_recv_wr& wr, std::uint32_t max_sge, std::byte* slot) noexcept {
    const auto count = static_cast<std::uint32_t>(wr.num_sge);
    if (count > max_sge) return EINVAL;  // a negative one, too
    auto& wqe = *reinterpret_cast<srn_recv_wqe*>(slot);
    wqe.wr_id = wr.wr_id;
    wqe.num_sge = count;
    wqe.reserved = 0;
    if (count != 0) std::memcpy(wqe.sge, wr.sg_list, count * sizeof(srn_sge));
    return 0;
}

}  // namespace softrnic::provider
