// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What a provider needs of the private half of libibverbs' ABI.
///
/// Distributions ship no provider header, so its few structures and functions are declared here, as
/// layouts only. They are the same in rdma-core 40 to 65, except for the name of the registration
/// symbol, for verbs_context_ops, which has a file of its own, and for how much verbs_context has
/// grown. SRN_RDMA_CORE is the rdma-core version that is built for (44, 56, ...). It may be later
/// than that of the installed verbs.h, of which nothing is used that has changed.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

#include "context_ops.hpp"

// The private ABI that libibverbs of this version exports: part of symbol names, symbol versions
// and the provider's file name.
#if SRN_RDMA_CORE >= 66
#error "rdma-core is newer than this provider knows; check its private ABI and extend this file"
#elif SRN_RDMA_CORE >= 65
#define SRN_VERBS_REGISTER_DRIVER verbs_register_driver_65
#elif SRN_RDMA_CORE >= 64
#define SRN_VERBS_REGISTER_DRIVER verbs_register_driver_64
#elif SRN_RDMA_CORE >= 59
#define SRN_VERBS_REGISTER_DRIVER verbs_register_driver_59
#elif SRN_RDMA_CORE >= 57
#define SRN_VERBS_REGISTER_DRIVER verbs_register_driver_57
#elif SRN_RDMA_CORE >= 40
#define SRN_VERBS_REGISTER_DRIVER verbs_register_driver_34
#else
#error "rdma-core 40 or later is needed"
#endif

extern "C" {

struct verbs_device;
struct verbs_xrcd;

enum verbs_match_kind : std::uint8_t {
    VERBS_MATCH_SENTINEL = 0,
    VERBS_MATCH_PCI = 1,
    VERBS_MATCH_MODALIAS = 2,
    VERBS_MATCH_DRIVER_ID = 3,
};

struct verbs_match_ent {
    void* driver_data;
    union {
        const char* modalias;
        std::uint64_t driver_id;
    } u;
    std::uint16_t vendor;
    std::uint16_t device;
    std::uint8_t kind;
};

struct verbs_list_node {
    verbs_list_node* next;
    verbs_list_node* prev;
};

struct verbs_sysfs_dev {
    verbs_list_node entry;
    void* provider_data;
    const verbs_match_ent* match;
    unsigned flags;
    char sysfs_name[IBV_SYSFS_NAME_MAX];
    dev_t sysfs_cdev;
    char ibdev_name[IBV_SYSFS_NAME_MAX];
    char ibdev_path[IBV_SYSFS_PATH_MAX];
    char modalias[512];
    std::uint64_t node_guid;
    std::uint32_t driver_id;
    ibv_node_type node_type;
    int ibdev_idx;
    std::uint32_t num_ports;
    std::uint32_t abi_ver;
    timespec time_created;
};

struct verbs_device_ops {
    const char* name;
    std::uint32_t match_min_abi_version;
    std::uint32_t match_max_abi_version;
    const verbs_match_ent* match_table;
    const verbs_device_ops** static_providers;
    bool (*match_device)(verbs_sysfs_dev*);
    verbs_context* (*alloc_context)(ibv_device*, int cmd_fd, void* private_data);
    verbs_context* (*import_context)(ibv_device*, int cmd_fd);
    verbs_device* (*alloc_device)(verbs_sysfs_dev*);
    void (*uninit_device)(verbs_device*);
};

struct verbs_device {
    ibv_device device;
    const verbs_device_ops* ops;
    int refcount;
    verbs_list_node entry;
    verbs_sysfs_dev* sysfs;
    std::uint64_t core_support;
};

// libibverbs casts its public objects to these, so each object here begins with one of them.

/// libibverbs forgets a region's memory for fork() only if the region is of the first type.
enum verbs_mr_type {
    VERBS_MR = 0,
    VERBS_IMPORTED_MR = 2,
    VERBS_DMABUF_MR = 3,
};

struct verbs_mr {
    ibv_mr mr;
    int mr_type;
    int access;
};

struct verbs_cq {
    union {
        ibv_cq cq;
        ibv_cq_ex cq_ex;
    };
};

struct verbs_srq {
    ibv_srq srq;
    ibv_srq_type srq_type;
    verbs_xrcd* xrcd;
    ibv_cq* cq;
    std::uint32_t srq_num;
};

enum verbs_qp_mask : std::uint32_t {
    VERBS_QP_XRCD = 1 << 0,
    VERBS_QP_EX = 1 << 1,
};

struct verbs_qp {
    union {
        ibv_qp qp;
        ibv_qp_ex qp_ex;
    };
    // Behind ibv_qp_ex libibverbs has a mask, and a pointer that means something with VERBS_QP_XRCD
    // only. ibv_qp_ex grows while the private ABI stays the same, so the mask is in each word here:
    // wherever libibverbs looks for it, it finds it.
    std::uint32_t comp_mask[20];
};

void SRN_VERBS_REGISTER_DRIVER(const verbs_device_ops* ops);
// For these a verbs_context begins where whole_verbs_context does.
void* _verbs_init_and_alloc_context(ibv_device* device, int cmd_fd, std::size_t size,
                                    verbs_context* offset_in_object, std::uint32_t driver_id);
void verbs_uninit_context(verbs_context* context);
void verbs_set_ops(verbs_context* context, const verbs_context_ops* ops);

// The commands of libibverbs whose prototypes never changed between versions 40 and 65. Each takes
// a request and a response with room for what libibverbs fills in (see uverbs/message.hpp).
int ibv_cmd_query_device_any(ibv_context*, const ibv_query_device_ex_input*, ibv_device_attr_ex*,
                             std::size_t attr_size, ib_uverbs_ex_query_device_resp*,
                             std::size_t* resp_size);
int ibv_cmd_query_port(ibv_context*, std::uint8_t port, ibv_port_attr*, void* cmd, std::size_t);
int ibv_cmd_alloc_pd(ibv_context*, ibv_pd*, void* cmd, std::size_t, void* resp, std::size_t);
int ibv_cmd_dealloc_pd(ibv_pd*);
int ibv_cmd_reg_mr(ibv_pd*, void* addr, std::size_t length, std::uint64_t iova, int access,
                   verbs_mr*, void* cmd, std::size_t, void* resp, std::size_t);
int ibv_cmd_rereg_mr(verbs_mr*, std::uint32_t flags, void* addr, std::size_t length,
                     std::uint64_t iova, int access, ibv_pd*, void* cmd, std::size_t, void* resp,
                     std::size_t);
int ibv_cmd_dereg_mr(verbs_mr*);
int ibv_cmd_alloc_mw(ibv_pd*, ibv_mw_type, ibv_mw*, void* cmd, std::size_t, void* resp,
                     std::size_t);
int ibv_cmd_dealloc_mw(ibv_mw*);
int ibv_cmd_resize_cq(ibv_cq*, int entries, void* cmd, std::size_t, void* resp, std::size_t);
int ibv_cmd_destroy_cq(ibv_cq*);
int ibv_cmd_create_srq(ibv_pd*, ibv_srq*, ibv_srq_init_attr*, void* cmd, std::size_t, void* resp,
                       std::size_t);
int ibv_cmd_modify_srq(ibv_srq*, ibv_srq_attr*, int mask, void* cmd, std::size_t);
int ibv_cmd_query_srq(ibv_srq*, ibv_srq_attr*, void* cmd, std::size_t);
int ibv_cmd_destroy_srq(ibv_srq*);
int ibv_cmd_create_qp(ibv_pd*, ibv_qp*, ibv_qp_init_attr*, void* cmd, std::size_t, void* resp,
                      std::size_t);
int ibv_cmd_query_qp(ibv_qp*, ibv_qp_attr*, int mask, ibv_qp_init_attr*, void* cmd, std::size_t);
int ibv_cmd_modify_qp(ibv_qp*, ibv_qp_attr*, int mask, void* cmd, std::size_t);
int ibv_cmd_modify_qp_ex(ibv_qp*, ibv_qp_attr*, int mask, void* cmd, std::size_t, void* resp,
                         std::size_t);
int ibv_cmd_destroy_qp(ibv_qp*);

}  // extern "C"

namespace softrnic::provider {

// verbs_context grows at its front, by operations, so that what was there keeps its place before
// the end. By how many it has grown since rdma-core 40:
#if SRN_RDMA_CORE >= 64
inline constexpr std::size_t verbs_context_growth = 6;
#elif SRN_RDMA_CORE >= 62
inline constexpr std::size_t verbs_context_growth = 4;
#elif SRN_RDMA_CORE >= 59
inline constexpr std::size_t verbs_context_growth = 3;
#else
inline constexpr std::size_t verbs_context_growth = 0;
#endif
inline constexpr std::size_t verbs_context_size =
    sizeof(ibv_context) + (40 + verbs_context_growth) * sizeof(verbs_unused_op);
static_assert(sizeof(verbs_context) <= verbs_context_size,
              "the installed verbs.h is newer than the rdma-core that is built for");

// What libibverbs has in front of the verbs_context of the installed verbs.h.
template <std::size_t count>
struct later_verbs {
    verbs_unused_op ops[count];
};
template <>
struct later_verbs<0> {};

// As libibverbs knows it; our contexts begin with it.
struct whole_verbs_context
    : later_verbs<(verbs_context_size - sizeof(verbs_context)) / sizeof(verbs_unused_op)>,
      verbs_context {};
static_assert(sizeof(whole_verbs_context) == verbs_context_size);

}  // namespace softrnic::provider

// Sizes that libibverbs itself was found to have; a header change that moves one breaks the build.
static_assert(sizeof(void*) != 8 || sizeof(verbs_match_ent) == 24);
static_assert(sizeof(void*) != 8 || sizeof(verbs_sysfs_dev) == 992);
static_assert(sizeof(void*) != 8 || offsetof(verbs_sysfs_dev, driver_id) == 952);
static_assert(sizeof(void*) != 8 || offsetof(verbs_sysfs_dev, abi_ver) == 968);
static_assert(sizeof(void*) != 8 || sizeof(verbs_device_ops) == 72);
static_assert(sizeof(void*) != 8 || sizeof(verbs_device) == 712);
static_assert(sizeof(void*) != 8 || sizeof(verbs_mr) == 56);
