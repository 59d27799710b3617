// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Polling and arming a completion queue: no system call, but for doorbells that have waited.
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "verbs/cq.hpp"
#include "verbs/poll.hpp"
#include "verbs/qp.hpp"

namespace softrnic::provider {
namespace {

void convert(const srn_cqe& cqe, ibv_wc& wc) noexcept {
    wc.wr_id = cqe.wr_id;
    wc.status = static_cast<ibv_wc_status>(cqe.status);
    wc.opcode = static_cast<ibv_wc_opcode>(cqe.opcode);
    wc.vendor_err = 0;
    wc.byte_len = cqe.byte_len;
    wc.imm_data = cqe.ex;  // also invalidated_rkey: the same word
    wc.qp_num = cqe.qp_num;
    wc.src_qp = 0;
    wc.wc_flags = wc_flags(cqe);
    wc.pkey_index = 0;
    wc.slid = 0;
    wc.sl = 0;
    wc.dlid_path_bits = 0;
}

int take(completion_queue& cq, int count, ibv_wc* wc) noexcept {
    const std::lock_guard guard(cq.lock);
    ibv_wc* end = wc;
    const int polled = cq.ring.poll(count, [&end](const srn_cqe& cqe) { convert(cqe, *end++); });
    // Not before the entries are the kernel's again: it needs them for what is posted now.
    for (; wc != end; ++wc) {
        if (is_send(wc->opcode)) cq.polled.count(wc->qp_num, 1);
    }
    return polled;
}

/// Under the queue's lock.
void purge(completion_queue& cq, std::uint32_t qp_number) noexcept {
    std::uint32_t sends = 0;
    cq.ring.purge([&](const srn_cqe& cqe) {
        if (cqe.qp_num != qp_number) return false;
        if (is_send(static_cast<ibv_wc_opcode>(cqe.opcode))) ++sends;
        return true;
    });
    cq.polled.count(qp_number, sends);
}

}  // namespace

void watch_sends(ibv_cq& base, queue_pair& qp) noexcept {
    completion_queue& cq = *cq_of(&base);
    qp.polled.qp_number = qp.qp.qp_num;
    cq.polled.add(qp.polled);
}

void purge_completions(queue_pair& qp) noexcept {
    for (ibv_cq* base : {qp.qp.send_cq, qp.qp.recv_cq}) {
        if (base == nullptr) continue;
        const std::lock_guard guard(cq_of(base)->lock);
        purge(*cq_of(base), qp.qp.qp_num);
    }
}

void forget(queue_pair& qp) noexcept {
    purge_completions(qp);
    if (qp.qp.send_cq == nullptr) return;
    completion_queue& cq = *cq_of(qp.qp.send_cq);
    const std::lock_guard guard(cq.lock);
    cq.polled.remove(qp.polled);
}

void ring_before_poll(completion_queue& cq, std::uint32_t count) noexcept {
    // What this completes is returned with what others have completed: their next requests, which
    // the caller posts on account of that, come after it.
    if (cq.polled.several()) cq.lazy.ring_round(cq.ring, count);
}

bool ring_lazy(completion_queue& cq) noexcept {
    const bool rung = cq.lazy.ring_all();
    return cq.lazy_receivers.ring_own() || rung;
}

int poll_cq(ibv_cq* base, int count, ibv_wc* wc) noexcept {
    if (count <= 0) return 0;
    completion_queue& cq = *cq_of(base);
    ring_before_poll(cq, static_cast<std::uint32_t>(count));
    int polled = take(cq, count, wc);
    // There is nothing else to do. Often this completes something.
    if (polled == 0 && ring_lazy(cq)) polled = take(cq, count, wc);
    return polled < 0 ? -EIO : polled;
}

int req_notify_cq(ibv_cq* base, int solicited_only) noexcept {
    completion_queue& cq = *cq_of(base);
    // Who arms is about to sleep, after another poll: that finds what this completes.
    (void)ring_lazy(cq);
    cq.ring.arm(solicited_only != 0);
    return 0;
}

}  // namespace softrnic::provider
