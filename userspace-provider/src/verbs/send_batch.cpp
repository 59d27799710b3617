// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/send_batch.hpp"

#include "verbs/context.hpp"
#include "verbs/cq.hpp"
#include "verbs/doorbell.hpp"
#include "verbs/qp.hpp"

namespace softrnic::provider {
namespace {

/// Remembers to ring for it. False if it cannot wait for that.
bool wait_to_ring(queue_pair& qp) noexcept {
    if (context_of(qp.qp.context)->never_lazy) return false;
    completion_queue& sends = *cq_of(qp.qp.send_cq);
    const bool waits = sends.lazy.add(qp.sq.lazy, sends.ring);
    if (qp.qp.recv_cq == nullptr || qp.qp.recv_cq == qp.qp.send_cq) return waits;
    return cq_of(qp.qp.recv_cq)->lazy_receivers.add(qp.sq.lazy_receiver) && waits;
}

}  // namespace

int ring_for(queue_pair& qp, srn_kick kick) noexcept {
    if (kick == SRN_KICK_NOT || (kick == SRN_KICK_LAZY && wait_to_ring(qp))) return 0;
    return ring(qp.qp, doorbell::send);
}

}  // namespace softrnic::provider
