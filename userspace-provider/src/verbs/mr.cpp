// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/mr.hpp"

#include <rdma/ib_user_verbs.h>

#include <cerrno>

#include "util/memory.hpp"
#include "uverbs/message.hpp"

namespace softrnic::provider {

ibv_mr* reg_mr(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova,
               int access) noexcept {
    auto mr = make<verbs_mr>();
    if (!mr) return fail(ENOMEM);
    // Optional flags, such as relaxed ordering, allow what this device has no use for, and
    // IBV_ACCESS_HUGETLB helps only on-demand paging. Huge pages are recognised without it.
    const int hints = static_cast<int>(IBV_ACCESS_OPTIONAL_RANGE) | IBV_ACCESS_HUGETLB;
    const int needed = access & ~hints;
    request<ib_uverbs_reg_mr> req;
    response<ib_uverbs_reg_mr_resp> resp;
    if (const int error = ibv_cmd_reg_mr(pd, addr, length, iova, needed, mr.get(), req.data(),
                                         sizeof(req), resp.data(), sizeof(resp))) {
        return fail(error);
    }
    return &mr.release()->mr;
}

int dereg_mr(verbs_mr* mr) noexcept {
    if (const int error = ibv_cmd_dereg_mr(mr)) return error;
    reclaim(mr);
    return 0;
}

}  // namespace softrnic::provider
