// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Posting by function calls: ibv_wr_start(), ibv_wr_send(), ..., ibv_wr_complete().
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "softrnic-abi.h"
#include "verbs/send_batch.hpp"

namespace softrnic::provider {

struct queue_pair;

/// Where a thread is between ibv_wr_start() and ibv_wr_complete() or ibv_wr_abort().
struct wr_section {
    std::optional<send_batch> batch;
    srn_send_wqe* wqe = nullptr;  ///< the last request, if there is one and nothing is wrong
    int error = 0;                ///< the first one
};

/// The operations that a QP may be asked for: enum ibv_qp_create_send_ops_flags.
inline constexpr std::uint64_t supported_send_ops =
    std::uint64_t{IBV_QP_EX_WITH_RDMA_WRITE} | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
    IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
    IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
    IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;

/// Makes @qp an ibv_qp_ex, with all of these operations. Once, before its user has it.
void enable_wr_api(queue_pair& qp) noexcept;

}  // namespace softrnic::provider
