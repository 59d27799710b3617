// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/qp.hpp"

#include <rdma/ib_user_verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "softrnic-abi.h"
#include "util/memory.hpp"
#include "uverbs/message.hpp"
#include "verbs/context.hpp"
#include "verbs/cq.hpp"
#include "verbs/pd.hpp"

namespace softrnic::provider {
namespace {

static_assert(offsetof(ibv_qp_init_attr, sq_sig_all) == offsetof(ibv_qp_init_attr_ex, sq_sig_all));
static_assert(offsetof(ibv_qp_init_attr, cap) == offsetof(ibv_qp_init_attr_ex, cap));

/// Whether the kernel tells what completes without a completion.
bool counts_silent(const queue_pair& qp) noexcept {
    return (context_of(qp.qp.context)->features & SRN_FEATURE_SQ_SILENT) != 0;
}

std::uint32_t control_size(const srn_uresp_create_qp& ours) noexcept {
    return size_or(ours.ctrl_size, SRN_QP_CTRL_SIZE_1);
}

int set_up_send(queue_pair& qp, const srn_uresp_create_qp& ours,
                const ibv_qp_init_attr& attr) noexcept {
    auto* control = qp.memory.at<srn_qp_ctrl>(0);
    qp.sq.state = &control->state;
    qp.sq.lazy.qp = qp.sq.lazy_receiver.qp = &qp;
    if (ours.sq_depth == 0) return 0;  // the ring stays full
    const ring_shape shape{ours.sq_depth, ours.sq_offset, ours.sq_stride};
    if (!qp.memory.holds(control_size(ours), shape) || attr.cap.max_send_wr > ours.sq_depth ||
        !fits_entry(ours.sq_stride, SRN_SEND_WQE_HEADER, ours.sq_max_sge) ||
        !fits_inline(ours.sq_stride, SRN_SEND_WQE_HEADER, ours.sq_max_inline)) {
        return EPROTO;
    }
    qp.sq.ring = producer_ring({
        .prod = &control->sq_prod,
        .cons = &control->sq_cons,
        .kick = &control->sq_kick,
        .taken = &control->sq_taken,
        .silent = &control->sq_silent,
        .polled = counts_silent(qp) ? &qp.polled.count : nullptr,
        .slots = qp.memory.at<std::byte>(ours.sq_offset),
        .depth = ours.sq_depth,
        .stride = ours.sq_stride,
        .limit = attr.cap.max_send_wr,
    });
    qp.sq.limits = {ours.sq_max_sge, ours.sq_max_inline, attr.sq_sig_all != 0};
    return 0;
}

int set_up_receive(queue_pair& qp, const srn_uresp_create_qp& ours,
                   const ibv_qp_init_attr& attr) noexcept {
    if (ours.rq_depth == 0) return 0;  // the ring stays full
    const ring_shape shape{ours.rq_depth, ours.rq_offset, ours.rq_stride};
    if (!qp.memory.holds(control_size(ours), shape) || attr.cap.max_recv_wr > ours.rq_depth ||
        !fits_entry(ours.rq_stride, SRN_RECV_WQE_HEADER, ours.rq_max_sge)) {
        return EPROTO;
    }
    auto* control = qp.memory.at<srn_qp_ctrl>(0);
    qp.rq.ring = producer_ring({
        .prod = &control->rq_prod,
        .cons = &control->rq_cons,
        .kick = &control->rq_kick,
        .taken = nullptr,
        .silent = nullptr,
        .polled = nullptr,
        .slots = qp.memory.at<std::byte>(ours.rq_offset),
        .depth = ours.rq_depth,
        .stride = ours.rq_stride,
        .limit = attr.cap.max_recv_wr,
    });
    qp.rq.max_sge = ours.rq_max_sge;
    return 0;
}

int set_up(queue_pair& qp, const srn_uresp_create_qp& ours, const ibv_qp_init_attr& attr) noexcept {
    if (const int error = qp.memory.open(qp.qp.context->cmd_fd, ours.map)) return error;
    if (control_size(ours) < SRN_QP_CTRL_SIZE_1 || !qp.memory.covers(control_size(ours)))
        return EPROTO;
    if (const int error = set_up_send(qp, ours, attr)) return error;
    return set_up_receive(qp, ours, attr);
}

int modify_in_kernel(ibv_qp* base, ibv_qp_attr* attr, int mask) noexcept {
    if ((mask & IBV_QP_RATE_LIMIT) != 0) {
        extended_request<ib_uverbs_ex_modify_qp> req;
        response<ib_uverbs_ex_modify_qp_resp> resp;
        return ibv_cmd_modify_qp_ex(base, attr, mask, req.data(), sizeof(req), resp.data(),
                                    sizeof(resp));
    }
    request<ib_uverbs_modify_qp> req;
    return ibv_cmd_modify_qp(base, attr, mask, req.data(), sizeof(req));
}

}  // namespace

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) noexcept {
    auto qp = make<queue_pair>();
    if (!qp) return fail(ENOMEM);
    request<ib_uverbs_create_qp> req;
    response<ib_uverbs_create_qp_resp, srn_uresp_create_qp> resp;
    // On success attr->cap is what the kernel granted.
    if (const int error = ibv_cmd_create_qp(pd, &qp->qp, attr, req.data(), sizeof(req), resp.data(),
                                            sizeof(resp))) {
        return fail(error);
    }
    if (single_threaded(pd)) {
        qp->sq.lock.disable();
        qp->rq.lock.disable();
    }
    if (const int error = set_up(*qp, resp.driver(), *attr)) {
        ibv_cmd_destroy_qp(&qp->qp);
        return fail(error);
    }
    for (ibv_cq* queue : {attr->send_cq, attr->recv_cq})
        if (queue != nullptr) hold(*queue);
    if (attr->send_cq != nullptr) watch_sends(*attr->send_cq, *qp);
    return &qp.release()->qp;
}

ibv_qp* create_qp_ex(ibv_context* /*base*/, ibv_qp_init_attr_ex* attr) noexcept {
    constexpr std::uint32_t known =
        IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    const auto has = [attr](std::uint32_t field) { return (attr->comp_mask & field) != 0; };
    if (has(~known)) return fail(EOPNOTSUPP);
    if (!has(IBV_QP_INIT_ATTR_PD)) return fail(EINVAL);
    if (has(IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags != 0) return fail(EOPNOTSUPP);
    const bool wr_api = has(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
    if (wr_api && (attr->send_ops_flags & ~supported_send_ops) != 0) return fail(EOPNOTSUPP);
    // It begins as the other one does.
    ibv_qp* qp = create_qp(attr->pd, reinterpret_cast<ibv_qp_init_attr*>(attr));
    if (qp != nullptr && wr_api) enable_wr_api(*qp_of(qp));
    return qp;
}

int query_qp(ibv_qp* base, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init_attr) noexcept {
    request<ib_uverbs_query_qp> req;
    return ibv_cmd_query_qp(base, attr, mask, init_attr, req.data(), sizeof(req));
}

int modify_qp(ibv_qp* base, ibv_qp_attr* attr, int mask) noexcept {
    if (const int error = modify_in_kernel(base, attr, mask)) return error;
    if ((mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_RESET)
        purge_completions(*qp_of(base));
    return 0;
}

int modify_qp_rate_limit(ibv_qp* base, ibv_qp_rate_limit_attr* limit) noexcept {
    // Bursts and packet sizes are TCP's business.
    if (limit->comp_mask != 0 || limit->max_burst_sz != 0 || limit->typical_pkt_sz != 0)
        return EINVAL;
    ibv_qp_attr attr{};
    attr.rate_limit = limit->rate_limit;
    return modify_qp(base, &attr, IBV_QP_RATE_LIMIT);
}

int destroy_qp(ibv_qp* base) noexcept {
    send_queue& sq = qp_of(base)->sq;
    if (base->send_cq != nullptr) cq_of(base->send_cq)->lazy.remove(sq.lazy);
    if (base->recv_cq != nullptr) cq_of(base->recv_cq)->lazy_receivers.remove(sq.lazy_receiver);
    // Waits until every event of this QP is acknowledged.
    if (const int error = ibv_cmd_destroy_qp(base)) return error;
    // A completion may carry an address in its wr_id that is freed next. Another QP does not get
    // this number so soon.
    forget(*qp_of(base));
    for (ibv_cq* queue : {base->send_cq, base->recv_cq})
        if (queue != nullptr) release(*queue);
    reclaim(qp_of(base));
    return 0;
}

}  // namespace softrnic::provider
