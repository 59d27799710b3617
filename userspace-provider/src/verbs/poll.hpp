// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What ibv_poll_cq() and ibv_start_poll() have in common.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "softrnic-abi.h"

namespace softrnic::provider {

struct completion_queue;

constexpr bool is_send(unsigned opcode) noexcept {
    return (opcode & IBV_WC_RECV) == 0;
}

/// In the terms of verbs.
constexpr unsigned wc_flags(const srn_cqe& cqe) noexcept {
    unsigned flags = 0;
    if ((cqe.flags & SRN_CQE_WITH_INV) != 0) flags |= IBV_WC_WITH_INV;
    if ((cqe.flags & SRN_CQE_WITH_IMM) != 0) flags |= IBV_WC_WITH_IMM;
    return flags;
}

/// The caller is about to poll up to so many. Without the queue's lock.
void ring_before_poll(completion_queue& cq, std::uint32_t count) noexcept;

/// The caller finds nothing to do here. What it has posted to those that only receive here may be
/// what it waits for the answers to; another thread may well go on posting to them. True if this
/// rang: there may be something now. Without the queue's lock.
bool ring_lazy(completion_queue& cq) noexcept;

/// Makes @cq an ibv_cq_ex. Once, before its user has it.
void enable_iteration(completion_queue& cq) noexcept;

}  // namespace softrnic::provider
