// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The send queue of a queue pair.
#pragma once

#include <atomic>
#include <cstdint>

#include "ring/producer_ring.hpp"
#include "ring/send_wqe.hpp"
#include "util/queue_lock.hpp"
#include "verbs/lazy_doorbells.hpp"

namespace softrnic::provider {

struct send_queue {
    queue_lock lock;  ///< of ring
    producer_ring ring;
    send_limits limits{};
    std::uint32_t* state = nullptr;                ///< srn_qp_ctrl.state
    std::atomic<std::uint64_t> waiting_bytes = 0;  ///< posted since a lazy kernel had seen all
    lazy_doorbell lazy;                            ///< in the list of the send queue's CQ
    lazy_doorbell lazy_receiver;  ///< in that of the receive queue's CQ, if it is another one
};

}  // namespace softrnic::provider
