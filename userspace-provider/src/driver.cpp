// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What libibverbs sees of this provider: which devices it drives, and with which operations.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "abi/libibverbs_private.hpp"
#include "softrnic-abi.h"
#include "util/memory.hpp"
#include "verbs/context.hpp"
#include "verbs/cq.hpp"
#include "verbs/mr.hpp"
#include "verbs/mw.hpp"
#include "verbs/pd.hpp"
#include "verbs/qp.hpp"
#include "verbs/srq.hpp"

namespace softrnic::provider {

namespace {

constexpr verbs_context_ops context_ops = {
    .alloc_mw = alloc_mw,
    .alloc_parent_domain = alloc_parent_domain,
    .alloc_pd = alloc_pd,
    .alloc_td = alloc_td,
    .bind_mw = bind_mw,
    .create_cq = create_cq,
    .create_cq_ex = create_cq_ex,
    .create_qp = create_qp,
    .create_qp_ex = create_qp_ex,
    .create_srq = create_srq,
    .dealloc_mw = dealloc_mw,
    .dealloc_pd = dealloc_pd,
    .dealloc_td = dealloc_td,
    .dereg_mr = dereg_mr,
    .destroy_cq = destroy_cq,
    .destroy_qp = destroy_qp,
    .destroy_srq = destroy_srq,
    .free_context = free_context,
    .import_mr = import_mr,
    .import_pd = import_pd,
    .modify_qp = modify_qp,
    .modify_qp_rate_limit = modify_qp_rate_limit,
    .modify_srq = modify_srq,
    .poll_cq = poll_cq,
    .post_recv = post_recv,
    .post_send = post_send,
    .post_srq_recv = post_srq_recv,
    .query_device_ex = query_device,
    .query_port = query_port,
    .query_qp = query_qp,
    .query_rt_values = query_rt_values,
    .query_srq = query_srq,
    .reg_dmabuf_mr = reg_dmabuf_mr,
    .reg_mr = reg_mr,
    .req_notify_cq = req_notify_cq,
    .rereg_mr = rereg_mr,
    .resize_cq = resize_cq,
    .unimport_mr = unimport_mr,
    .unimport_pd = unimport_pd,
};

/// Some programs take no device of type iWARP, though all that they need is queue pairs which they
/// bring up by hand: SOFTRNIC_NODE_TYPE=ca in the environment.
bool poses_as_infiniband() noexcept {
    const char* type = std::getenv("SOFTRNIC_NODE_TYPE");
    return type != nullptr && std::strcmp(type, "ca") == 0;
}

verbs_device* alloc_device(verbs_sysfs_dev* found) noexcept {
    // libibverbs takes the type from there, and the type of the transport from that.
    if (poses_as_infiniband()) found->node_type = IBV_NODE_CA;
    auto device = make<verbs_device>();
    if (!device) return fail(ENOMEM);
    return device.release();
}

void free_device(verbs_device* device) noexcept {
    reclaim(device);
}

// By driver id only. A name would not do, since udev renames devices.
constexpr verbs_match_ent matches[] = {
    {.driver_data = nullptr,
     .u = {.driver_id = SRN_DRIVER_ID},
     .vendor = 0,
     .device = 0,
     .kind = VERBS_MATCH_DRIVER_ID},
    {.driver_data = nullptr,
     .u = {.driver_id = 0},
     .vendor = 0,
     .device = 0,
     .kind = VERBS_MATCH_SENTINEL},
};

constexpr verbs_device_ops device_ops = {
    .name = "softrnic",
    .match_min_abi_version = SRN_ABI_VERSION,
    .match_max_abi_version = SRN_ABI_VERSION,
    .match_table = matches,
    .static_providers = nullptr,
    .match_device = nullptr,
    .alloc_context = open_context,
    .import_context = import_context,
    .alloc_device = alloc_device,
    .uninit_device = free_device,
};

[[gnu::constructor]] void register_driver() {
    SRN_VERBS_REGISTER_DRIVER(&device_ops);
}

}  // namespace

const verbs_context_ops& provider_ops() noexcept {
    return context_ops;
}

}  // namespace softrnic::provider
