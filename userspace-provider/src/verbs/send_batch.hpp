// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Requests that are put into a send queue one by one and shown to the kernel all at once.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "softrnic-abi.h"
#include "verbs/send_queue.hpp"

namespace softrnic::provider {

/// From its construction to finish(), under the queue's lock.
class send_batch {
public:
    explicit send_batch(send_queue& sq) noexcept
        : sq_(&sq),
          refused_(refused_in(load_relaxed(sq.state))),
          waiting_bytes_(sq.ring.unseen() == 0 ? 0
                                               : sq.waiting_bytes.load(std::memory_order_relaxed)) {
    }

    /// Why there is no place for another request: EINVAL before the connection, EIO if the device
    /// has gone, ENOMEM if the queue is full, or 0.
    [[nodiscard]] int refusal() const noexcept {
        if (refused_ != 0) return refused_;
        return sq_->ring.full() ? ENOMEM : 0;
    }

    /// Where the next request goes. Only if there is no refusal().
    [[nodiscard]] std::byte* slot() const noexcept { return sq_->ring.slot(); }

    /// The slot has been filled.
    void push(unsigned send_flags) noexcept {
        flags_ |= send_flags;
        ++pushed_;
        sq_->ring.push();
    }

    /// The scatter lists of these requests name so many bytes more.
    void add_bytes(std::uint64_t listed) noexcept { bytes_ += listed; }

    /// Forgets the requests.
    void drop() noexcept {
        sq_->ring.take_back(pushed_);
        pushed_ = 0;
        bytes_ = 0;
        flags_ = 0;
    }

    /// Shows the requests to the kernel. @error: what has stopped the caller from adding more.
    /// Returns whether the kernel wants to be told: see ring_for().
    [[nodiscard]] srn_kick finish(int error) noexcept {
        const std::uint64_t bytes = waiting_bytes_ + bytes_;
        sq_->waiting_bytes.store(bytes, std::memory_order_relaxed);
        const srn_kick kick = pushed_ != 0 ? sq_->ring.publish() : SRN_KICK_NOT;
        if (kick == SRN_KICK_NOW) return kick;
        // Who has filled the queue wants it emptied, and a solicited message is not to be late.
        const bool now = error == ENOMEM || (flags_ & IBV_SEND_SOLICITED) != 0;
        const std::uint32_t enough = now ? 1 : lazy_batch;
        const std::uint32_t unseen = sq_->ring.unseen();
        return unseen >= enough || (unseen > 0 && bytes >= lazy_bytes) ? SRN_KICK_NOW : kick;
    }

private:
    /// A lazy kernel is told of so many requests or bytes at the latest.
    static constexpr std::uint32_t lazy_batch = 128;
    static constexpr std::uint64_t lazy_bytes = 512U << 10U;

    /// A hint, to refuse what the kernel would refuse. A QP in error takes requests and flushes
    /// them.
    static int refused_in(std::uint32_t state) noexcept {
        if (state == SRN_QP_IDLE) return EINVAL;
        return state == SRN_QP_GONE ? EIO : 0;
    }

    send_queue* sq_;
    int refused_;
    unsigned flags_ = 0;
    std::uint32_t pushed_ = 0;
    std::uint64_t waiting_bytes_;  ///< of requests before these
    std::uint64_t bytes_ = 0;
};

struct queue_pair;

/// Rings for @qp, now or later, as finish() has said. Without the queue's lock, since the kernel
/// transmits in this call. Returns 0 or an errno value, see ring().
int ring_for(queue_pair& qp, srn_kick kick) noexcept;

}  // namespace softrnic::provider
