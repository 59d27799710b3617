// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Stands in for libibverbs' commands and for the kernel module behind them: hands out queues whose
/// rings lie in a memory file, and answers doorbells as a test tells it to.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "softrnic-abi.h"
#include "verbs/context.hpp"

namespace softrnic::provider::test {

struct rung {
    std::uint32_t command;  ///< IB_USER_VERBS_CMD_POST_*
    std::uint32_t qp_handle;
    bool by_ioctl;
};

/// The completion of a Send.
inline srn_cqe a_send(std::uint64_t id, std::uint32_t qp_number = 9) {
    return {.wr_id = id,
            .timestamp = 0,
            .byte_len = 0,
            .qp_num = qp_number,
            .ex = 0,
            .status = IBV_WC_SUCCESS,
            .opcode = IBV_WC_SEND,
            .flags = 0};
}

/// One at a time exists; the fake commands use it.
class fake_kernel {
public:
    fake_kernel();
    fake_kernel(const fake_kernel&) = delete;
    fake_kernel& operator=(const fake_kernel&) = delete;
    ~fake_kernel();

    ibv_context* context() { return &context_.context; }

    /// The next doorbells fail with these; 0 is success. After them all succeed.
    std::deque<int> doorbell_errors;
    std::vector<rung> doorbells;
    /// What the next doorbells complete, one each.
    std::deque<srn_cqe> completed_by_doorbells;

    /// What create commands answer. Tests may make nonsense of it.
    srn_uresp_create_qp qp{};
    srn_uresp_create_srq srq{};
    srn_uresp_create_cq cq{};
    srn_uresp_resize_cq resized_cq{};
    srn_uresp_resize_srq resized_srq{};
    std::uint32_t next_qp_number = 1234;
    std::uint32_t cq_flags = 0;  ///< that the newest CQ was asked for with
    int objects = 0;             ///< QPs, SRQs and CQs that exist

    /// The kernel's view of the newest queue of each kind.
    srn_qp_ctrl& qp_control() { return *at<srn_qp_ctrl>(qp.map.key); }
    srn_srq_ctrl& srq_control() { return *at<srn_srq_ctrl>(srq.map.key); }
    srn_cq_ctrl& cq_control() { return *at<srn_cq_ctrl>(cq.map.key); }
    srn_send_wqe& send_wqe(std::uint32_t i) {
        return *at<srn_send_wqe>(qp.map.key + qp.sq_offset + i * qp.sq_stride);
    }
    srn_recv_wqe& recv_wqe(std::uint32_t i) {
        return *at<srn_recv_wqe>(qp.map.key + qp.rq_offset + i * qp.rq_stride);
    }
    srn_recv_wqe& srq_wqe(std::uint32_t i) {
        return *at<srn_recv_wqe>(srq.map.key + srq.rq_offset + i * srq.rq_stride);
    }
    /// In the ring of a queue that has been resized.
    srn_recv_wqe& moved_srq_wqe(std::uint32_t i) {
        return *at<srn_recv_wqe>(resized_srq.map.key + i * srq.rq_stride);
    }
    srn_cqe& cqe(std::uint32_t index) { return cq_is_resized_ ? new_cqe(index) : first_cqe(index); }
    /// As the module moves what has not been polled.
    void move_cqes();
    void complete(const srn_cqe& entry);

    [[nodiscard]] int fd() const { return fd_; }
    int ring(const rung& bell);

private:
    template <class T>
    T* at(std::uint64_t offset) {
        return reinterpret_cast<T*>(memory_ + offset);
    }

    srn_cqe& first_cqe(std::uint32_t index) {
        const std::size_t stride = cq.cqe_stride != 0 ? cq.cqe_stride : sizeof(srn_cqe);
        return *at<srn_cqe>(cq.map.key + cq.cqe_offset + (index & (cq.depth - 1)) * stride);
    }
    srn_cqe& new_cqe(std::uint32_t index) {
        const std::size_t slot = index & (resized_cq.depth - 1);
        return *at<srn_cqe>(resized_cq.map.key + slot * resized_cq.cqe_stride);
    }

    int fd_;
    std::byte* memory_;
    bool cq_is_resized_ = false;
    device_context context_{};
};

extern fake_kernel* the_kernel;

}  // namespace softrnic::provider::test
