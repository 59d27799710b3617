// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// libibverbs' table of the operations of a provider.
///
/// libibverbs copies every slot that is not null. The order is alphabetical and new operations are
/// put in between, so the table is keyed by the rdma-core version, not by the private ABI number:
/// it grew twice while that number stayed the same. Operations that this provider does not have are
/// typeless; libibverbs then answers EOPNOTSUPP for them.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#ifndef SRN_RDMA_CORE
#error "SRN_RDMA_CORE must be the rdma-core version, the third field of libibverbs' version"
#endif

extern "C" {

struct verbs_mr;

using verbs_unused_op = void (*)();

struct verbs_context_ops {
    verbs_unused_op advise_mr = nullptr;
#if SRN_RDMA_CORE >= 64
    verbs_unused_op alloc_buf = nullptr;
#endif
    verbs_unused_op alloc_dm = nullptr;
#if SRN_RDMA_CORE >= 59
    verbs_unused_op alloc_dmah = nullptr;
#endif
    ibv_mw* (*alloc_mw)(ibv_pd*, ibv_mw_type) = nullptr;
    verbs_unused_op alloc_null_mr = nullptr;
    ibv_pd* (*alloc_parent_domain)(ibv_context*, ibv_parent_domain_init_attr*) = nullptr;
    ibv_pd* (*alloc_pd)(ibv_context*) = nullptr;
    ibv_td* (*alloc_td)(ibv_context*, ibv_td_init_attr*) = nullptr;
    verbs_unused_op async_event = nullptr;
    verbs_unused_op attach_counters_point_flow = nullptr;
    verbs_unused_op attach_mcast = nullptr;
    int (*bind_mw)(ibv_qp*, ibv_mw*, ibv_mw_bind*) = nullptr;
    verbs_unused_op close_xrcd = nullptr;
    verbs_unused_op cq_event = nullptr;
    verbs_unused_op create_ah = nullptr;
#if SRN_RDMA_CORE >= 65
    verbs_unused_op create_comp_cntr = nullptr;
#endif
    verbs_unused_op create_counters = nullptr;
    ibv_cq* (*create_cq)(ibv_context*, int cqe, ibv_comp_channel*, int comp_vector) = nullptr;
    ibv_cq_ex* (*create_cq_ex)(ibv_context*, ibv_cq_init_attr_ex*) = nullptr;
    verbs_unused_op create_flow = nullptr;
    verbs_unused_op create_flow_action_esp = nullptr;
    ibv_qp* (*create_qp)(ibv_pd*, ibv_qp_init_attr*) = nullptr;
    ibv_qp* (*create_qp_ex)(ibv_context*, ibv_qp_init_attr_ex*) = nullptr;
    verbs_unused_op create_rwq_ind_table = nullptr;
    ibv_srq* (*create_srq)(ibv_pd*, ibv_srq_init_attr*) = nullptr;
    verbs_unused_op create_srq_ex = nullptr;
    verbs_unused_op create_wq = nullptr;
#if SRN_RDMA_CORE >= 59
    verbs_unused_op dealloc_dmah = nullptr;
#endif
    int (*dealloc_mw)(ibv_mw*) = nullptr;
    int (*dealloc_pd)(ibv_pd*) = nullptr;
    int (*dealloc_td)(ibv_td*) = nullptr;
    int (*dereg_mr)(verbs_mr*) = nullptr;
    verbs_unused_op destroy_ah = nullptr;
#if SRN_RDMA_CORE >= 65
    verbs_unused_op destroy_comp_cntr = nullptr;
#endif
    verbs_unused_op destroy_counters = nullptr;
    int (*destroy_cq)(ibv_cq*) = nullptr;
    verbs_unused_op destroy_flow = nullptr;
    verbs_unused_op destroy_flow_action = nullptr;
    int (*destroy_qp)(ibv_qp*) = nullptr;
    verbs_unused_op destroy_rwq_ind_table = nullptr;
    int (*destroy_srq)(ibv_srq*) = nullptr;
    verbs_unused_op destroy_wq = nullptr;
    verbs_unused_op detach_mcast = nullptr;
#if SRN_RDMA_CORE >= 62
    verbs_unused_op dm_export_dmabuf_fd = nullptr;
#endif
#if SRN_RDMA_CORE >= 64
    verbs_unused_op free_buf = nullptr;
#endif
    void (*free_context)(ibv_context*) = nullptr;
    verbs_unused_op free_dm = nullptr;
    verbs_unused_op get_srq_num = nullptr;
    verbs_unused_op import_dm = nullptr;
    ibv_mr* (*import_mr)(ibv_pd*, std::uint32_t handle) = nullptr;
    ibv_pd* (*import_pd)(ibv_context*, std::uint32_t handle) = nullptr;
#if SRN_RDMA_CORE >= 65
    verbs_unused_op inc_comp_cntr = nullptr;
    verbs_unused_op inc_err_comp_cntr = nullptr;
#endif
    verbs_unused_op modify_cq = nullptr;
    verbs_unused_op modify_flow_action_esp = nullptr;
    int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int mask) = nullptr;
    int (*modify_qp_rate_limit)(ibv_qp*, ibv_qp_rate_limit_attr*) = nullptr;
    int (*modify_srq)(ibv_srq*, ibv_srq_attr*, int mask) = nullptr;
    verbs_unused_op modify_wq = nullptr;
    verbs_unused_op open_qp = nullptr;
    verbs_unused_op open_xrcd = nullptr;
    int (*poll_cq)(ibv_cq*, int count, ibv_wc*) = nullptr;
    int (*post_recv)(ibv_qp*, ibv_recv_wr*, ibv_recv_wr** bad_wr) = nullptr;
    int (*post_send)(ibv_qp*, ibv_send_wr*, ibv_send_wr** bad_wr) = nullptr;
    verbs_unused_op post_srq_ops = nullptr;
    int (*post_srq_recv)(ibv_srq*, ibv_recv_wr*, ibv_recv_wr** bad_wr) = nullptr;
#if SRN_RDMA_CORE >= 65
    verbs_unused_op qp_attach_comp_cntr = nullptr;
    verbs_unused_op query_comp_cntr_caps = nullptr;
#endif
    int (*query_device_ex)(ibv_context*, const ibv_query_device_ex_input*, ibv_device_attr_ex*,
                           std::size_t attr_size) = nullptr;
    verbs_unused_op query_ece = nullptr;
    int (*query_port)(ibv_context*, std::uint8_t port, ibv_port_attr*) = nullptr;
#if SRN_RDMA_CORE >= 62
    verbs_unused_op query_port_speed = nullptr;
#endif
    int (*query_qp)(ibv_qp*, ibv_qp_attr*, int mask, ibv_qp_init_attr*) = nullptr;
    verbs_unused_op query_qp_data_in_order = nullptr;
    int (*query_rt_values)(ibv_context*, ibv_values_ex*) = nullptr;
    int (*query_srq)(ibv_srq*, ibv_srq_attr*) = nullptr;
#if SRN_RDMA_CORE >= 65
    verbs_unused_op read_comp_cntr = nullptr;
#endif
    verbs_unused_op read_counters = nullptr;
#if SRN_RDMA_CORE >= 65
    verbs_unused_op read_err_comp_cntr = nullptr;
#endif
    verbs_unused_op reg_dm_mr = nullptr;
    ibv_mr* (*reg_dmabuf_mr)(ibv_pd*, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                             int fd, int access) = nullptr;
    ibv_mr* (*reg_mr)(ibv_pd*, void* addr, std::size_t length, std::uint64_t iova,
                      int access) = nullptr;
#if SRN_RDMA_CORE >= 59
    verbs_unused_op reg_mr_ex = nullptr;
#endif
    int (*req_notify_cq)(ibv_cq*, int solicited_only) = nullptr;
    int (*rereg_mr)(verbs_mr*, int flags, ibv_pd*, void* addr, std::size_t length,
                    int access) = nullptr;
    int (*resize_cq)(ibv_cq*, int entries) = nullptr;
#if SRN_RDMA_CORE >= 65
    verbs_unused_op set_comp_cntr = nullptr;
#endif
    verbs_unused_op set_ece = nullptr;
#if SRN_RDMA_CORE >= 65
    verbs_unused_op set_err_comp_cntr = nullptr;
#endif
    verbs_unused_op unimport_dm = nullptr;
    void (*unimport_mr)(ibv_mr*) = nullptr;
    void (*unimport_pd)(ibv_pd*) = nullptr;

    // A libibverbs with a longer table than this one reads null here, not what lies behind.
    verbs_unused_op beyond[64] = {};
};

}  // extern "C"

namespace softrnic::provider {

// How many slots each rdma-core version was found to have.
#if SRN_RDMA_CORE >= 65
inline constexpr std::size_t context_op_count = 93;
#elif SRN_RDMA_CORE >= 64
inline constexpr std::size_t context_op_count = 83;
#elif SRN_RDMA_CORE >= 62
inline constexpr std::size_t context_op_count = 81;
#elif SRN_RDMA_CORE >= 59
inline constexpr std::size_t context_op_count = 79;
#else
inline constexpr std::size_t context_op_count = 76;
#endif
static_assert(offsetof(verbs_context_ops, beyond) == context_op_count * sizeof(verbs_unused_op));

}  // namespace softrnic::provider
