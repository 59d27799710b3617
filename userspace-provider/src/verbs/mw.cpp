// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/mw.hpp"

#include <rdma/ib_user_verbs.h>

#include <cerrno>

#include "abi/libibverbs_private.hpp"
#include "util/memory.hpp"
#include "uverbs/message.hpp"
#include "verbs/qp.hpp"

namespace softrnic::provider {

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) noexcept {
    auto window = make<ibv_mw>();
    if (!window) return fail(ENOMEM);
    request<ib_uverbs_alloc_mw> req;
    response<ib_uverbs_alloc_mw_resp> resp;
    if (const int error = ibv_cmd_alloc_mw(pd, type, window.get(), req.data(), sizeof(req),
                                           resp.data(), sizeof(resp))) {
        return fail(error);
    }
    return window.release();
}

int dealloc_mw(ibv_mw* window) noexcept {
    if (const int error = ibv_cmd_dealloc_mw(window)) return error;
    reclaim(window);
    return 0;
}

int bind_mw(ibv_qp* queue, ibv_mw* window, ibv_mw_bind* bind) noexcept {
    ibv_send_wr wr{};
    wr.wr_id = bind->wr_id;
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = bind->send_flags;
    wr.bind_mw.mw = window;
    // What a peer knows of the binding before is worth nothing after this one.
    wr.bind_mw.rkey = ibv_inc_rkey(window->rkey);
    wr.bind_mw.bind_info = bind->bind_info;
    ibv_send_wr* bad = nullptr;
    if (const int error = post_send(queue, &wr, &bad)) return error;
    window->rkey = wr.bind_mw.rkey;
    return 0;
}

}  // namespace softrnic::provider
