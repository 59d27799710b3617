// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Shared receive queues.
#pragma once

#include <infiniband/verbs.h>

#include "abi/libibverbs_private.hpp"
#include "softrnic-abi.h"
#include "util/mapping.hpp"
#include "verbs/receive_queue.hpp"

namespace softrnic::provider {

struct shared_receive_queue : verbs_srq {
    mapping memory;
    mapping ring_memory;  ///< of the receives, if the queue has been resized
    alignas(SRN_LINE) receive_queue queue;
};

inline shared_receive_queue* srq_of(ibv_srq* base) noexcept {
    return static_cast<shared_receive_queue*>(reinterpret_cast<verbs_srq*>(base));
}

// Verbs.
ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) noexcept;
int modify_srq(ibv_srq* base, ibv_srq_attr* attr, int mask) noexcept;
int query_srq(ibv_srq* base, ibv_srq_attr* attr) noexcept;
int destroy_srq(ibv_srq* base) noexcept;
int post_srq_recv(ibv_srq* base, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) noexcept;

}  // namespace softrnic::provider
