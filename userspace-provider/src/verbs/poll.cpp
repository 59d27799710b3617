// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Polling and arming a completion queue: no system call, but for doorbells that have waited.
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "verbs/cq.hpp"

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
    wc.wc_flags = 0;
    if ((cqe.flags & SRN_CQE_WITH_INV) != 0) wc.wc_flags |= IBV_WC_WITH_INV;
    if ((cqe.flags & SRN_CQE_WITH_IMM) != 0) wc.wc_flags |= IBV_WC_WITH_IMM;
    wc.pkey_index = 0;
    wc.slid = 0;
    wc.sl = 0;
    wc.dlid_path_bits = 0;
}

int take(completion_queue& cq, int count, ibv_wc* wc) noexcept {
    const std::lock_guard guard(cq.lock);
    return cq.ring.poll(count, [&wc](const srn_cqe& cqe) { convert(cqe, *wc++); });
}

void purge(completion_queue& cq, std::uint32_t qp_number) noexcept {
    const std::lock_guard guard(cq.lock);
    cq.ring.purge([qp_number](const srn_cqe& cqe) { return cqe.qp_num == qp_number; });
}

}  // namespace

void purge_completions(const ibv_qp& qp) noexcept {
    if (qp.send_cq != nullptr) purge(*cq_of(qp.send_cq), qp.qp_num);
    if (qp.recv_cq != nullptr && qp.recv_cq != qp.send_cq) purge(*cq_of(qp.recv_cq), qp.qp_num);
}

int poll_cq(ibv_cq* base, int count, ibv_wc* wc) noexcept {
    if (count <= 0) return 0;
    completion_queue& cq = *cq_of(base);
    int polled = take(cq, count, wc);
    // There is nothing else to do. Often this completes something.
    if (polled == 0 && cq.lazy.ring_all()) polled = take(cq, count, wc);
    return polled < 0 ? -EIO : polled;
}

int req_notify_cq(ibv_cq* base, int solicited_only) noexcept {
    completion_queue& cq = *cq_of(base);
    // Who arms is about to sleep, after another poll: that finds what this completes.
    (void)cq.lazy.ring_all();
    cq.ring.arm(solicited_only != 0);
    return 0;
}

}  // namespace softrnic::provider
