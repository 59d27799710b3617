// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Queue pairs. Making one is in qp.cpp, posting to it in post.cpp and wr_api.cpp.
#pragma once

#include <infiniband/verbs.h>

#include "abi/libibverbs_private.hpp"
#include "softrnic-abi.h"
#include "util/mapping.hpp"
#include "verbs/polled_sends.hpp"
#include "verbs/receive_queue.hpp"
#include "verbs/send_queue.hpp"
#include "verbs/wr_api.hpp"

namespace softrnic::provider {

/// The two queues are on lines of their own, for the threads that send and those that receive, and
/// so is what those write that poll.
struct queue_pair : verbs_qp {
    mapping memory;
    alignas(SRN_LINE) send_queue sq;
    wr_section section;  ///< of ibv_wr_start(); guarded by the lock of sq
    alignas(SRN_LINE) receive_queue rq;
    alignas(SRN_LINE) polled_sends polled;  ///< used under the lock of the send queue's CQ
};

inline queue_pair* qp_of(ibv_qp* base) noexcept {
    return static_cast<queue_pair*>(reinterpret_cast<verbs_qp*>(base));
}

// Verbs.
ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) noexcept;
ibv_qp* create_qp_ex(ibv_context* base, ibv_qp_init_attr_ex* attr) noexcept;
int query_qp(ibv_qp* base, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init_attr) noexcept;
int modify_qp(ibv_qp* base, ibv_qp_attr* attr, int mask) noexcept;
int modify_qp_rate_limit(ibv_qp* base, ibv_qp_rate_limit_attr* limit) noexcept;
int destroy_qp(ibv_qp* base) noexcept;
int post_send(ibv_qp* base, ibv_send_wr* wr, ibv_send_wr** bad_wr) noexcept;
int post_recv(ibv_qp* base, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) noexcept;

}  // namespace softrnic::provider
