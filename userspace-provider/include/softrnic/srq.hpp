// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Shared receive queues: one pool of receives for many queue pairs.
///
/// Thread safety: recv() may be called from several threads.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>

#include "softrnic/handle.hpp"
#include "softrnic/memory.hpp"
#include "softrnic/slice.hpp"
#include "softrnic/work_request.hpp"

namespace softrnic {

class srq : public handle<ibv_srq, &ibv_destroy_srq> {
public:
    constexpr srq() noexcept = default;

    [[nodiscard]] static srq adopt(ibv_srq* native) noexcept { return srq(native); }

    /// Room for at least `max_wr` receives of up to `max_sge` slices each.
    /// EINVAL: more than the device's max_srq_wr or max_srq_sge.
    [[nodiscard]] static result<srq> create(const pd& domain, std::uint32_t max_wr,
                                            std::uint32_t max_sge = 1) noexcept {
        ibv_srq_init_attr attr{};
        attr.attr.max_wr = max_wr;
        attr.attr.max_sge = max_sge;
        ibv_srq* native = ibv_create_srq(domain.native(), &attr);
        if (native == nullptr) return detail::fail_errno("ibv_create_srq");
        return srq(native);
    }

    /// Posts one receive. ENOMEM: the queue is full. EINVAL: too many slices.
    [[nodiscard]] result<void> recv(std::span<const local_slice> list,
                                    std::uint64_t id = 0) const noexcept {
        ibv_recv_wr wr = detail::make_recv(list, id);
        ibv_recv_wr* bad = nullptr;
        return detail::check(ibv_post_srq_recv(native(), &wr, &bad), "ibv_post_srq_recv");
    }
    [[nodiscard]] result<void> recv(const local_slice& room, std::uint64_t id = 0) const noexcept {
        return recv(std::span(&room, 1), id);
    }

    /// Asks for one IBV_EVENT_SRQ_LIMIT_REACHED when fewer than `limit` receives are left.
    [[nodiscard]] result<void> set_limit(std::uint32_t limit) const noexcept {
        ibv_srq_attr attr{};
        attr.srq_limit = limit;
        return detail::check(ibv_modify_srq(native(), &attr, IBV_SRQ_LIMIT), "ibv_modify_srq");
    }

    /// Room for `max_wr` receives from now on; what is posted stays. Others that post wait
    /// meanwhile. EINVAL: more than the device's max_srq_wr, or fewer than are posted, or than the
    /// limit.
    [[nodiscard]] result<void> resize(std::uint32_t max_wr) const noexcept {
        ibv_srq_attr attr{};
        attr.max_wr = max_wr;
        return detail::check(ibv_modify_srq(native(), &attr, IBV_SRQ_MAX_WR), "ibv_modify_srq");
    }

    [[nodiscard]] result<ibv_srq_attr> query() const noexcept {
        ibv_srq_attr attr{};
        if (const int rc = ibv_query_srq(native(), &attr)) return detail::fail(rc, "ibv_query_srq");
        return attr;
    }

private:
    explicit srq(ibv_srq* native) noexcept : handle(native) {}
};

}  // namespace softrnic
