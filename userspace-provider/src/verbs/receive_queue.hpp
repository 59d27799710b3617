// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What the receive queue of a QP and a shared receive queue have in common.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <mutex>

#include "ring/producer_ring.hpp"
#include "ring/recv_wqe.hpp"
#include "util/queue_lock.hpp"

namespace softrnic::provider {

struct receive_queue {
    queue_lock lock;  ///< of ring
    producer_ring ring;
    std::uint32_t max_sge = 0;

    struct posted {
        int error;            ///< of the request that *bad_wr names; those before it are posted
        bool doorbell_asked;  ///< the kernel wants to be told
        std::uint32_t end;    ///< index behind them
    };

    posted post(ibv_recv_wr* wr, ibv_recv_wr** bad_wr) noexcept {
        posted result{0, false, 0};
        bool pushed = false;
        const std::lock_guard guard(lock);
        for (; wr != nullptr; wr = wr->next) {
            result.error = ring.full() ? ENOMEM : encode_recv(*wr, max_sge, ring.slot());
            if (result.error != 0) {
                *bad_wr = wr;
                break;
            }
            ring.push();
            pushed = true;
        }
        if (pushed) result.doorbell_asked = ring.publish() != SRN_KICK_NOT;
        result.end = ring.end();
        return result;
    }

    /// As a verb: `ring_doorbell` tells the kernel if it wants to be told, of what is in front of
    /// an index, and returns an error.
    template <class Doorbell>
    int post(ibv_recv_wr* wr, ibv_recv_wr** bad_wr, Doorbell ring_doorbell) noexcept {
        const posted result = post(wr, bad_wr);
        if (result.doorbell_asked) {
            if (const int error = ring_doorbell(result.end)) {
                *bad_wr = wr;
                return error;
            }
        }
        return result.error;
    }
};

}  // namespace softrnic::provider
