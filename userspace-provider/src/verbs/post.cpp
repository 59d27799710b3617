// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Posting work to a queue pair.
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "verbs/doorbell.hpp"
#include "verbs/gone.hpp"
#include "verbs/qp.hpp"
#include "verbs/send_batch.hpp"

namespace softrnic::provider {
namespace {

struct posted {
    int error;          ///< of the request that *bad_wr names; those before it are posted
    srn_kick kick;      ///< whether the kernel wants to be told
    std::uint32_t end;  ///< index behind them
};

posted post_to(send_queue& sq, ibv_send_wr* wr, ibv_send_wr** bad_wr) noexcept {
    const std::lock_guard guard(sq.lock);
    send_batch batch(sq);
    int error = 0;
    for (; wr != nullptr; wr = wr->next) {
        encoded request{batch.refusal()};
        if (request.error == 0) request = encode_send(*wr, sq.limits, batch.slot());
        if (request.error != 0) {
            error = request.error;
            *bad_wr = wr;
            break;
        }
        batch.push(wr->send_flags);
        batch.add_bytes(request.listed);
    }
    const srn_kick kick = batch.finish(error);
    return {error, kick, sq.ring.end()};
}

}  // namespace

int post_send(ibv_qp* base, ibv_send_wr* wr, ibv_send_wr** bad_wr) noexcept {
    queue_pair& qp = *qp_of(base);
    const posted result = post_to(qp.sq, wr, bad_wr);
    const int refused = ring_for(qp, result.kick);
    if (refused == 0) return result.error;
    if (const int error = error_of_posted(qp, refused, qp.sq.ring, result.end)) {
        *bad_wr = wr;
        return error;
    }
    return result.error;
}

int post_recv(ibv_qp* base, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) noexcept {
    // There is no queue here: waiting for room, as ENOMEM suggests, would be for ever.
    if (base->srq != nullptr) {
        *bad_wr = wr;
        return EINVAL;
    }
    queue_pair& qp = *qp_of(base);
    const int error = qp.rq.post(wr, bad_wr, [&qp](std::uint32_t end) {
        const int refused = ring(qp.qp, doorbell::receive);
        return refused == 0 ? 0 : error_of_posted(qp, refused, qp.rq.ring, end);
    });
    // Nobody makes room any more.
    return error == ENOMEM && is_gone(qp) ? EIO : error;
}

}  // namespace softrnic::provider
