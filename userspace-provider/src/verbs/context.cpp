// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/context.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "softrnic-abi.h"
#include "util/memory.hpp"
#include "uverbs/ioctl.hpp"

namespace softrnic::provider {
namespace {

/// Where libibverbs has its verbs_context, which begins earlier than ours if it has grown.
verbs_context* for_libibverbs(device_context* ctx) noexcept {
    return reinterpret_cast<verbs_context*>(ctx);
}

/// Whether libibverbs put the operations where applications look for them. If its table had
/// another order than ours, some public pointer would be another operation's.
bool operations_in_place(const device_context& ctx, const verbs_context_ops& ours) noexcept {
    const ibv_context_ops& data_path = ctx.context.ops;
    return data_path.poll_cq == ours.poll_cq && data_path.req_notify_cq == ours.req_notify_cq &&
           data_path.post_send == ours.post_send && data_path.post_recv == ours.post_recv &&
           data_path.post_srq_recv == ours.post_srq_recv && data_path.bind_mw == ours.bind_mw &&
           data_path.alloc_mw == ours.alloc_mw && data_path.dealloc_mw == ours.dealloc_mw &&
           ctx.alloc_td == ours.alloc_td && ctx.dealloc_td == ours.dealloc_td &&
           ctx.alloc_parent_domain == ours.alloc_parent_domain &&
           ctx.create_qp_ex == ours.create_qp_ex && ctx.query_rt_values == ours.query_rt_values;
}

/// What core and module say of an open device.
struct description {
    std::uint32_t vectors = 0;
    std::uint64_t core_support = 0;
    srn_uresp_alloc_ctx ours{};
};

int get_context(int cmd_fd, description& what) noexcept {
    const srn_ureq_alloc_ctx known{.revision = SRN_ABI_REVISION,
                                   .reserved = 0,
                                   .features = SRN_FEATURE_SQ_SILENT | SRN_FEATURE_QP_GONE};
    uverbs_ioctl<4> call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
    call.out(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, what.vectors);
    call.out(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, what.core_support);
    call.in(UVERBS_ATTR_UHW_IN, known);
    call.out(UVERBS_ATTR_UHW_OUT, what.ours);
    return call.call(cmd_fd);
}

int query_context(int cmd_fd, description& what) noexcept {
    uverbs_ioctl<3> call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
    call.out(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, what.vectors);
    call.out(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, what.core_support);
    call.out(SRN_ATTR_QUERY_CONTEXT, what.ours);
    return call.call(cmd_fd);
}

/// Whether this libibverbs takes the operations as they are meant. Says so if not.
int set_operations(device_context& ctx, const ibv_device& device) noexcept {
    verbs_set_ops(for_libibverbs(&ctx), &provider_ops());
    if (operations_in_place(ctx, provider_ops())) return 0;
    // As libibverbs does when a driver does not fit: said even though nobody asked for a log,
    // since the only other sign would be a device that cannot be opened.
    std::fprintf(stderr,
                 "softrnic: this provider was built for rdma-core %d, and the libibverbs that "
                 "loaded it is another one; rebuild the provider. Not opening %s\n",
                 SRN_RDMA_CORE, device.name);
    return EPROTONOSUPPORT;
}

int set_up(device_context& ctx, verbs_device& device, const description& what) noexcept {
    // libibverbs makes the async event descriptor itself, since async_fd stays -1.
    ctx.context.num_comp_vectors = static_cast<int>(what.vectors);
    device.core_support = what.core_support;
    ctx.device_number = what.ours.dev_id;
    ctx.max_inline = what.ours.max_inline;
    ctx.features = what.ours.features;
    const char* lazy = std::getenv("SOFTRNIC_LAZY");
    ctx.never_lazy = lazy != nullptr && std::strcmp(lazy, "0") == 0;
    return set_operations(ctx, device.device);
}

/// `describe` finds out what device it is.
verbs_context* make_context(ibv_device* device, int cmd_fd,
                            int (*describe)(int, description&) noexcept) noexcept {
    // whole_verbs_context is its first base, so it lies at offset 0. On failure cmd_fd is closed.
    auto* ctx = static_cast<device_context*>(_verbs_init_and_alloc_context(
        device, cmd_fd, sizeof(device_context), nullptr, SRN_DRIVER_ID));
    if (ctx == nullptr) return nullptr;
    description what;
    int error = describe(ctx->context.cmd_fd, what);
    if (error == 0) error = set_up(*ctx, *reinterpret_cast<verbs_device*>(device), what);
    if (error != 0) {
        free_context(&ctx->context);
        return fail(error);
    }
    return for_libibverbs(ctx);
}

}  // namespace

verbs_context* open_context(ibv_device* device, int cmd_fd, void* /*private_data*/) noexcept {
    return make_context(device, cmd_fd, get_context);
}

verbs_context* import_context(ibv_device* device, int cmd_fd) noexcept {
    return make_context(device, cmd_fd, query_context);
}

void free_context(ibv_context* base) noexcept {
    device_context* ctx = context_of(base);
    verbs_uninit_context(for_libibverbs(ctx));
    std::free(ctx);
}

}  // namespace softrnic::provider
