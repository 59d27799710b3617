// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/mr.hpp"

#include <rdma/ib_user_verbs.h>

#include <cerrno>
#include <utility>

#include "util/memory.hpp"
#include "uverbs/ioctl.hpp"
#include "uverbs/message.hpp"

namespace softrnic::provider {
namespace {

/// Optional flags, such as relaxed ordering, allow what this device has no use for, and
/// IBV_ACCESS_HUGETLB helps only on-demand paging. Huge pages are recognised without it.
constexpr int without_hints(int access) noexcept {
    return access & ~(static_cast<int>(IBV_ACCESS_OPTIONAL_RANGE) | IBV_ACCESS_HUGETLB);
}

/// Fills in what libibverbs wants to know, beside the keys.
ibv_mr* hand_out(owner<verbs_mr> mr, ibv_pd* pd, std::uint32_t handle, std::size_t length,
                 verbs_mr_type type) noexcept {
    mr->mr.handle = handle;
    mr->mr.context = pd->context;
    mr->mr.pd = pd;
    mr->mr.length = length;
    mr->mr_type = type;
    return &mr.release()->mr;
}

}  // namespace

ibv_mr* reg_mr(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova,
               int access) noexcept {
    auto mr = make<verbs_mr>();
    if (!mr) return fail(ENOMEM);
    request<ib_uverbs_reg_mr> req;
    response<ib_uverbs_reg_mr_resp> resp;
    if (const int error = ibv_cmd_reg_mr(pd, addr, length, iova, without_hints(access), mr.get(),
                                         req.data(), sizeof(req), resp.data(), sizeof(resp))) {
        return fail(error);
    }
    return &mr.release()->mr;
}

ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                      int fd, int access) noexcept {
    auto mr = make<verbs_mr>();
    if (!mr) return fail(ENOMEM);
    uverbs_ioctl<9> call(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
    const ib_uverbs_attr& made = call.new_object(UVERBS_ATTR_REG_DMABUF_MR_HANDLE);
    call.object(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd->handle);
    call.in(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, offset);
    call.in(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, std::uint64_t{length});
    call.in(UVERBS_ATTR_REG_DMABUF_MR_IOVA, iova);
    call.in(UVERBS_ATTR_REG_DMABUF_MR_FD, static_cast<std::uint32_t>(fd));
    call.in(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS,
            static_cast<std::uint32_t>(without_hints(access)));
    call.out(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, mr->mr.lkey);
    call.out(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, mr->mr.rkey);
    if (const int error = call.call(pd->context->cmd_fd)) return fail(error);
    return hand_out(std::move(mr), pd, static_cast<std::uint32_t>(made.data), length,
                    VERBS_DMABUF_MR);
}

ibv_mr* import_mr(ibv_pd* pd, std::uint32_t handle) noexcept {
    auto mr = make<verbs_mr>();
    if (!mr) return fail(ENOMEM);
    std::uint64_t length = 0;
    uverbs_ioctl<4> call(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
    call.object(UVERBS_ATTR_QUERY_MR_HANDLE, handle);
    call.out(UVERBS_ATTR_QUERY_MR_RESP_LKEY, mr->mr.lkey);
    call.out(UVERBS_ATTR_QUERY_MR_RESP_RKEY, mr->mr.rkey);
    call.out(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, length);
    if (const int error = call.call(pd->context->cmd_fd)) return fail(error);
    return hand_out(std::move(mr), pd, handle, length, VERBS_IMPORTED_MR);
}

void unimport_mr(ibv_mr* mr) noexcept {
    reclaim(reinterpret_cast<verbs_mr*>(mr));
}

int rereg_mr(verbs_mr* mr, int flags, ibv_pd* pd, void* addr, std::size_t length,
             int access) noexcept {
    request<ib_uverbs_rereg_mr> req;
    response<ib_uverbs_rereg_mr_resp> resp;
    const auto changes = static_cast<std::uint32_t>(flags);
    return ibv_cmd_rereg_mr(mr, changes, addr, length, reinterpret_cast<std::uintptr_t>(addr),
                            without_hints(access), pd, req.data(), sizeof(req), resp.data(),
                            sizeof(resp));
}

int dereg_mr(verbs_mr* mr) noexcept {
    if (const int error = ibv_cmd_dereg_mr(mr)) return error;
    reclaim(mr);
    return 0;
}

}  // namespace softrnic::provider
