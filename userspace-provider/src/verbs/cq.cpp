// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/cq.hpp"

#include <rdma/ib_user_verbs.h>

#include <cerrno>
#include <cstdint>
#include <mutex>

#include "util/memory.hpp"
#include "uverbs/ioctl.hpp"
#include "uverbs/message.hpp"
#include "verbs/pd.hpp"
#include "verbs/poll.hpp"

namespace softrnic::provider {
namespace {

struct request_cq {
    std::uint32_t entries;
    std::uint32_t vector;
    ibv_comp_channel* channel;  ///< or null
    std::uint32_t flags;        ///< enum ib_uverbs_ex_create_cq_flags
};

int create_in_kernel(ibv_cq& cq, const request_cq& wanted, srn_uresp_create_cq& ours) noexcept {
    // What events name the queue by.
    const auto user_handle = std::uint64_t{reinterpret_cast<std::uintptr_t>(&cq)};
    std::uint32_t granted = 0;

    uverbs_ioctl<9> call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
    const ib_uverbs_attr& handle = call.new_object(UVERBS_ATTR_CREATE_CQ_HANDLE);
    call.in(UVERBS_ATTR_CREATE_CQ_CQE, wanted.entries);
    call.in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, user_handle);
    call.in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, wanted.vector);
    if (wanted.channel != nullptr) {
        call.fd(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, wanted.channel->fd);
    }
    if (wanted.flags != 0) call.in(UVERBS_ATTR_CREATE_CQ_FLAGS, wanted.flags);
    call.fd(UVERBS_ATTR_CREATE_CQ_EVENT_FD, cq.context->async_fd);
    call.out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, granted);
    call.out(UVERBS_ATTR_UHW_OUT, ours);
    if (const int error = call.call(cq.context->cmd_fd)) return error;

    cq.handle = static_cast<std::uint32_t>(handle.data);
    cq.cqe = static_cast<int>(granted);
    return 0;
}

int map_ring(completion_queue& cq, const srn_uresp_create_cq& ours) noexcept {
    if (const int error = cq.memory.open(cq.cq.context->cmd_fd, ours.map)) return error;
    const std::uint32_t control = size_or(ours.ctrl_size, SRN_CQ_CTRL_SIZE_1);
    const std::uint32_t stride = size_or(ours.cqe_stride, SRN_CQE_SIZE_1);
    if (control < SRN_CQ_CTRL_SIZE_1 || stride < SRN_CQE_SIZE_1 ||
        !cq.memory.holds(control, {ours.depth, ours.cqe_offset, stride})) {
        return EPROTO;
    }
    cq.ring = completion_ring(cq.memory.at<srn_cq_ctrl>(0),
                              cq.memory.at<std::byte>(ours.cqe_offset), ours.depth, stride);
    return 0;
}

/// Under the queue's lock. The kernel has moved the completions. @memory is what they leave.
int follow(completion_queue& cq, const srn_uresp_resize_cq& ours, mapping& memory) noexcept {
    int error = memory.open(cq.cq.context->cmd_fd, ours.map);
    if (error == 0 &&
        (ours.cqe_stride < SRN_CQE_SIZE_1 || !memory.holds(0, {ours.depth, 0, ours.cqe_stride}))) {
        error = EPROTO;
    }
    if (error != 0) {
        cq.ring.lose();
        return error;
    }
    cq.ring.move_to(memory.at<std::byte>(0), ours.depth, ours.cqe_stride);
    cq.ring_memory.swap(memory);
    return 0;
}

owner<completion_queue> make_cq(ibv_context* base, const request_cq& wanted) noexcept {
    auto cq = make<completion_queue>();
    if (!cq) return fail(ENOMEM);
    // libibverbs sets these when the queue is handed to it; destroying one needs them earlier.
    cq->cq.context = base;
    cq->cq.mutex = PTHREAD_MUTEX_INITIALIZER;
    cq->cq.cond = PTHREAD_COND_INITIALIZER;

    srn_uresp_create_cq ours{};
    if (const int error = create_in_kernel(cq->cq, wanted, ours)) return fail(error);
    if (const int error = map_ring(*cq, ours)) {
        ibv_cmd_destroy_cq(&cq->cq);
        return fail(error);
    }
    return cq;
}

}  // namespace

ibv_cq* create_cq(ibv_context* base, int entries, ibv_comp_channel* channel, int vector) noexcept {
    if (entries <= 0 || vector < 0) return fail(EINVAL);
    auto cq = make_cq(base, {static_cast<std::uint32_t>(entries),
                             static_cast<std::uint32_t>(vector), channel, 0});
    return cq ? &cq.release()->cq : nullptr;
}

ibv_cq_ex* create_cq_ex(ibv_context* base, ibv_cq_init_attr_ex* attr) noexcept {
    constexpr std::uint64_t times = std::uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP} |
                                    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
    constexpr std::uint32_t known = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
    const bool has_flags = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
    const std::uint32_t flags = has_flags ? attr->flags : 0;
    if ((attr->wc_flags & ~(IBV_WC_STANDARD_FLAGS | times)) != 0 ||
        (attr->comp_mask & ~known) != 0 ||
        (flags & ~std::uint32_t{IBV_CREATE_CQ_ATTR_SINGLE_THREADED}) != 0) {
        return fail(EOPNOTSUPP);
    }
    const bool has_domain = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0;
    if (attr->cqe == 0 || (has_domain && !is_parent_domain(attr->parent_domain)))
        return fail(EINVAL);

    const bool timed = (attr->wc_flags & times) != 0;
    auto cq = make_cq(base, {attr->cqe, attr->comp_vector, attr->channel,
                             timed ? std::uint32_t{IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION} : 0U});
    if (!cq) return nullptr;
    if (flags != 0 || (has_domain && single_threaded(attr->parent_domain))) {
        cq->lock.disable();
        cq->polled.guard_itself();
    }
    enable_iteration(*cq);
    return &cq.release()->cq_ex;
}

void hold(ibv_cq& base) noexcept {
    cq_of(&base)->holders.fetch_add(1, std::memory_order_relaxed);
}

void release(ibv_cq& base) noexcept {
    if (cq_of(&base)->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) reclaim(cq_of(&base));
}

int resize_cq(ibv_cq* base, int entries) noexcept {
    if (entries <= 0) return EINVAL;
    completion_queue& cq = *cq_of(base);
    request<ib_uverbs_resize_cq> req;
    response<ib_uverbs_resize_cq_resp, srn_uresp_resize_cq> resp;
    // Unmapped without the lock.
    mapping memory;
    const std::lock_guard guard(cq.lock);
    if (cq.ring.lost()) return EIO;
    if (const int error =
            ibv_cmd_resize_cq(base, entries, req.data(), sizeof(req), resp.data(), sizeof(resp))) {
        return error;
    }
    return follow(cq, resp.driver(), memory);
}

int destroy_cq(ibv_cq* base) noexcept {
    // Waits until every event of this queue is acknowledged.
    if (const int error = ibv_cmd_destroy_cq(base)) return error;
    release(*base);
    return 0;
}

}  // namespace softrnic::provider
