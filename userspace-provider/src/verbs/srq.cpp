// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/srq.hpp"

#include <rdma/ib_user_verbs.h>

#include <cerrno>
#include <cstdint>
#include <mutex>

#include "util/memory.hpp"
#include "uverbs/message.hpp"
#include "verbs/doorbell.hpp"
#include "verbs/pd.hpp"

namespace softrnic::provider {
namespace {

int map_ring(shared_receive_queue& srq, const srn_uresp_create_srq& ours,
             std::uint32_t limit) noexcept {
    if (const int error = srq.memory.open(srq.srq.context->cmd_fd, ours.map)) return error;
    const std::uint32_t control_size = size_or(ours.ctrl_size, SRN_SRQ_CTRL_SIZE_1);
    const ring_shape shape{ours.depth, ours.rq_offset, ours.rq_stride};
    if (control_size < SRN_SRQ_CTRL_SIZE_1 || !srq.memory.holds(control_size, shape) ||
        limit > ours.depth || !fits_entry(ours.rq_stride, SRN_RECV_WQE_HEADER, ours.max_sge)) {
        return EPROTO;
    }
    auto* control = srq.memory.at<srn_srq_ctrl>(0);
    srq.queue.ring = producer_ring({
        .prod = &control->prod,
        .cons = &control->cons,
        .kick = &control->kick,
        .taken = nullptr,
        .silent = nullptr,
        .polled = nullptr,
        .slots = srq.memory.at<std::byte>(ours.rq_offset),
        .depth = ours.depth,
        .stride = ours.rq_stride,
        .limit = limit,
    });
    srq.queue.max_sge = ours.max_sge;
    return 0;
}

/// Under the queue's lock. The kernel has moved the receives. @memory is what they leave.
int follow(shared_receive_queue& srq, const srn_uresp_resize_srq& ours, std::uint32_t limit,
           mapping& memory) noexcept {
    producer_ring& ring = srq.queue.ring;
    int error = memory.open(srq.srq.context->cmd_fd, ours.map);
    if (error == 0 && (!memory.holds(0, {ours.depth, 0, ring.stride()}) || limit > ours.depth))
        error = EPROTO;
    if (error != 0) {
        ring.close();
        return error;
    }
    ring.move_to(memory.at<std::byte>(0), ours.depth, limit);
    srq.ring_memory.swap(memory);
    return 0;
}

int resize_srq(shared_receive_queue& srq, ibv_srq_attr& attr, int mask) noexcept {
    request<ib_uverbs_modify_srq, srn_ureq_modify_srq> req;
    srn_uresp_resize_srq ours{};
    req.put({.response = reinterpret_cast<std::uintptr_t>(&ours),
             .response_size = sizeof(ours),
             .reserved = 0});
    // Unmapped without the lock.
    mapping memory;
    const std::lock_guard guard(srq.queue.lock);
    if (const int error = ibv_cmd_modify_srq(&srq.srq, &attr, mask, req.data(), sizeof(req)))
        return error;
    return follow(srq, ours, attr.max_wr, memory);
}

}  // namespace

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) noexcept {
    auto srq = make<shared_receive_queue>();
    if (!srq) return fail(ENOMEM);
    request<ib_uverbs_create_srq> req;
    response<ib_uverbs_create_srq_resp, srn_uresp_create_srq> resp;
    if (const int error = ibv_cmd_create_srq(pd, &srq->srq, attr, req.data(), sizeof(req),
                                             resp.data(), sizeof(resp))) {
        return fail(error);
    }
    if (single_threaded(pd)) srq->queue.lock.disable();
    if (const int error = map_ring(*srq, resp.driver(), attr->attr.max_wr)) {
        ibv_cmd_destroy_srq(&srq->srq);
        return fail(error);
    }
    return &srq.release()->srq;
}

int modify_srq(ibv_srq* base, ibv_srq_attr* attr, int mask) noexcept {
    if ((mask & IBV_SRQ_MAX_WR) != 0) return resize_srq(*srq_of(base), *attr, mask);
    request<ib_uverbs_modify_srq> req;
    return ibv_cmd_modify_srq(base, attr, mask, req.data(), sizeof(req));
}

int query_srq(ibv_srq* base, ibv_srq_attr* attr) noexcept {
    request<ib_uverbs_query_srq> req;
    return ibv_cmd_query_srq(base, attr, req.data(), sizeof(req));
}

int destroy_srq(ibv_srq* base) noexcept {
    // Waits until every event of this queue is acknowledged.
    if (const int error = ibv_cmd_destroy_srq(base)) return error;
    reclaim(srq_of(base));
    return 0;
}

int post_srq_recv(ibv_srq* base, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) noexcept {
    return srq_of(base)->queue.post(wr, bad_wr, [base](std::uint32_t) {
        const int refused = ring(*base);
        // The device is going, and queue pairs that are left may take what was posted. Receives
        // that nobody takes have no completions anyway.
        return refused == EIO ? 0 : refused;
    });
}

}  // namespace softrnic::provider
