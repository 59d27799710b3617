// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Posting work to a queue pair.
#include <cerrno>
#include <mutex>

#include "verbs/context.hpp"
#include "verbs/cq.hpp"
#include "verbs/doorbell.hpp"
#include "verbs/qp.hpp"

namespace softrnic::provider {
namespace {

struct posted {
    int error;      ///< of the request that *bad_wr names; those before it are posted
    srn_kick kick;  ///< whether the kernel wants to be told
};

/// A lazy kernel is told of so many requests or bytes at the latest.
constexpr std::uint32_t lazy_batch = 128;
constexpr std::uint64_t lazy_bytes = 512U << 10U;

posted post_to(send_queue& sq, ibv_send_wr* wr, ibv_send_wr** bad_wr) noexcept {
    posted result{0, SRN_KICK_NOT};
    bool pushed = false;
    std::uint32_t flags = 0;
    const std::lock_guard guard(sq.lock);
    // A hint, to refuse what the kernel would refuse. A QP in error takes requests and flushes
    // them.
    const bool idle = load_relaxed(sq.state) == SRN_QP_IDLE;
    std::uint64_t bytes =
        sq.ring.unseen() == 0 ? 0 : sq.waiting_bytes.load(std::memory_order_relaxed);
    for (; wr != nullptr; wr = wr->next) {
        encoded request;
        if (idle) {
            request.error = EINVAL;
        } else if (sq.ring.full()) {
            request.error = ENOMEM;
        } else {
            request = encode_send(*wr, sq.limits, sq.ring.slot());
        }
        if (request.error != 0) {
            result.error = request.error;
            *bad_wr = wr;
            break;
        }
        bytes += request.listed;
        flags |= wr->send_flags;
        sq.ring.push();
        pushed = true;
    }
    sq.waiting_bytes.store(bytes, std::memory_order_relaxed);
    if (pushed) result.kick = sq.ring.publish();
    if (result.kick == SRN_KICK_NOW) return result;
    // Who has filled the queue wants it emptied, and a solicited message is not to be late.
    const bool now = result.error == ENOMEM || (flags & IBV_SEND_SOLICITED) != 0;
    const std::uint32_t enough = now ? 1 : lazy_batch;
    const std::uint32_t unseen = sq.ring.unseen();
    if (unseen >= enough || (unseen > 0 && bytes >= lazy_bytes)) result.kick = SRN_KICK_NOW;
    return result;
}

/// Remembers to ring for it. False if it cannot wait for that.
bool wait_to_ring(queue_pair& qp) noexcept {
    if (context_of(qp.qp.context)->never_lazy) return false;
    completion_queue& sends = *cq_of(qp.qp.send_cq);
    const bool waits = sends.lazy.add(qp.sq.lazy, sends.ring);
    if (qp.qp.recv_cq == nullptr || qp.qp.recv_cq == qp.qp.send_cq) return waits;
    return cq_of(qp.qp.recv_cq)->lazy_receivers.add(qp.sq.lazy_receiver) && waits;
}

}  // namespace

int post_send(ibv_qp* base, ibv_send_wr* wr, ibv_send_wr** bad_wr) noexcept {
    queue_pair& qp = *qp_of(base);
    posted result = post_to(qp.sq, wr, bad_wr);
    if (result.kick == SRN_KICK_LAZY && !wait_to_ring(qp)) result.kick = SRN_KICK_NOW;
    // Outside of the lock: the kernel transmits in this call.
    if (result.kick == SRN_KICK_NOW) {
        if (const int error = ring(*base, doorbell::send)) {
            *bad_wr = wr;
            return error;
        }
    }
    return result.error;
}

int post_recv(ibv_qp* base, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) noexcept {
    // There is no queue here: waiting for room, as ENOMEM suggests, would be for ever.
    if (base->srq != nullptr) {
        *bad_wr = wr;
        return EINVAL;
    }
    const receive_queue::posted result = qp_of(base)->rq.post(wr, bad_wr);
    if (result.doorbell_asked) {
        if (const int error = ring(*base, doorbell::receive)) {
            *bad_wr = wr;
            return error;
        }
    }
    return result.error;
}

}  // namespace softrnic::provider
