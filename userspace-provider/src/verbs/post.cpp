// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Posting work to a queue pair.
#include <cerrno>
#include <mutex>

#include "verbs/doorbell.hpp"
#include "verbs/qp.hpp"
#include "verbs/send_batch.hpp"

namespace softrnic::provider {
namespace {

struct posted {
    int error;      ///< of the request that *bad_wr names; those before it are posted
    srn_kick kick;  ///< whether the kernel wants to be told
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
    return {error, batch.finish(error)};
}

}  // namespace

int post_send(ibv_qp* base, ibv_send_wr* wr, ibv_send_wr** bad_wr) noexcept {
    queue_pair& qp = *qp_of(base);
    const posted result = post_to(qp.sq, wr, bad_wr);
    if (const int error = ring_for(qp, result.kick)) {
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
    return qp_of(base)->rq.post(wr, bad_wr, [base] { return ring(*base, doorbell::receive); });
}

}  // namespace softrnic::provider
