// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/mr.hpp"

#include <rdma/ib_user_verbs.h>

#include <cerrno>

#include "util/memory.hpp"
#include "uverbs/message.hpp"

namespace softrnic::provider {
namespace {

/// Optional flags, such as relaxed ordering, allow what this device has no use for, and
/// IBV_ACCESS_HUGETLB helps only on-demand paging. Huge pages are recognised without it.
constexpr int without_hints(int access) noexcept {
    return access & ~(static_cast<int>(IBV_ACCESS_OPTIONAL_RANGE) | IBV_ACCESS_HUGETLB);
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
