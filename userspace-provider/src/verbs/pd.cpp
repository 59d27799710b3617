// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/pd.hpp"

#include <rdma/ib_user_verbs.h>

#include <cerrno>

#include "abi/libibverbs_private.hpp"
#include "util/memory.hpp"
#include "uverbs/message.hpp"

namespace softrnic::provider {

ibv_pd* alloc_pd(ibv_context* base) noexcept {
    auto pd = make<protection_domain>();
    if (!pd) return fail(ENOMEM);
    request<ib_uverbs_alloc_pd> req;
    response<ib_uverbs_alloc_pd_resp> resp;
    if (const int error =
            ibv_cmd_alloc_pd(base, pd.get(), req.data(), sizeof(req), resp.data(), sizeof(resp))) {
        return fail(error);
    }
    return pd.release();
}

int dealloc_pd(ibv_pd* base) noexcept {
    protection_domain* pd = pd_of(base);
    if (pd->users.load() != 0) return EBUSY;
    if (pd->contained == nullptr) {
        if (const int error = ibv_cmd_dealloc_pd(base)) return error;
    } else {
        --pd->contained->users;
        if (pd->td != nullptr) --pd->td->users;
    }
    reclaim(pd);
    return 0;
}

ibv_pd* import_pd(ibv_context* base, std::uint32_t handle) noexcept {
    auto pd = make<protection_domain>();
    if (!pd) return fail(ENOMEM);
    pd->context = base;
    pd->handle = handle;
    return pd.release();
}

void unimport_pd(ibv_pd* base) noexcept {
    // It cannot be refused. A parent domain still needs it.
    if (pd_of(base)->users.load() == 0) reclaim(pd_of(base));
}

ibv_td* alloc_td(ibv_context* base, ibv_td_init_attr* attr) noexcept {
    if (attr->comp_mask != 0) return fail(EINVAL);
    auto td = make<thread_domain>();
    if (!td) return fail(ENOMEM);
    td->context = base;
    return td.release();
}

int dealloc_td(ibv_td* base) noexcept {
    auto* td = static_cast<thread_domain*>(base);
    if (td->users.load() != 0) return EBUSY;
    reclaim(td);
    return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* base, ibv_parent_domain_init_attr* attr) noexcept {
    if (attr->pd == nullptr) return fail(EINVAL);
    // Own allocators would be for the queues' memory, which is the kernel's here.
    if (attr->comp_mask != 0) return fail(EOPNOTSUPP);
    protection_domain* contained = pd_of(attr->pd);
    if (contained->contained != nullptr) return fail(EINVAL);

    auto parent = make<protection_domain>();
    if (!parent) return fail(ENOMEM);
    parent->context = base;
    parent->handle = contained->handle;
    parent->contained = contained;
    ++contained->users;
    parent->td = static_cast<thread_domain*>(attr->td);
    if (parent->td != nullptr) ++parent->td->users;
    return parent.release();
}

}  // namespace softrnic::provider
