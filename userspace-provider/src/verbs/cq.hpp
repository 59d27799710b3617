// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Completion queues. Making one is in cq.cpp, polling in poll.cpp and iterate.cpp.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>

#include "abi/libibverbs_private.hpp"
#include "ring/completion_ring.hpp"
#include "softrnic-abi.h"
#include "util/mapping.hpp"
#include "util/queue_lock.hpp"
#include "verbs/lazy_doorbells.hpp"
#include "verbs/polled_sends.hpp"

namespace softrnic::provider {

struct completion_queue : verbs_cq {
    mapping memory;
    mapping ring_memory;                ///< of ring's completions, if the queue has been resized
    alignas(SRN_LINE) queue_lock lock;  ///< of ring, except for arming, of polled and of current
    completion_ring ring;
    srn_cqe current{};  ///< from ibv_start_poll() on, which holds the lock
    polled_by_number polled;
    lazy_doorbells lazy;            ///< of those that send to this queue
    lazy_doorbells lazy_receivers;  ///< of those that only receive here
    /// The queue itself, and each queue of a queue pair that completes here. When the device is
    /// gone the kernel lets a program destroy a completion queue before its queue pairs.
    std::atomic<std::uint32_t> holders{1};
};

inline completion_queue* cq_of(ibv_cq* base) noexcept {
    return static_cast<completion_queue*>(reinterpret_cast<verbs_cq*>(base));
}

struct queue_pair;

/// Keeps the queue's memory, until release().
void hold(ibv_cq& base) noexcept;
void release(ibv_cq& base) noexcept;

/// Counts what is polled of @qp's sends, which complete into @base.
void watch_sends(ibv_cq& base, queue_pair& qp) noexcept;
/// Takes out what @qp has completed and nobody has polled. The kernel adds nothing for it any more.
void purge_completions(queue_pair& qp) noexcept;
/// The same, and the end of watch_sends().
void forget(queue_pair& qp) noexcept;

// Verbs.
ibv_cq* create_cq(ibv_context* base, int entries, ibv_comp_channel* channel, int vector) noexcept;
ibv_cq_ex* create_cq_ex(ibv_context* base, ibv_cq_init_attr_ex* attr) noexcept;
int resize_cq(ibv_cq* base, int entries) noexcept;
int destroy_cq(ibv_cq* base) noexcept;
int poll_cq(ibv_cq* base, int count, ibv_wc* wc) noexcept;
int req_notify_cq(ibv_cq* base, int solicited_only) noexcept;

}  // namespace softrnic::provider
