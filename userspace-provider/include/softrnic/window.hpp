// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Memory windows of type 2: a key for part of a region that is bound by a work request and taken
/// back by one, by the peer's send_with_invalidate or by its end. Not every device has them
/// (EOPNOTSUPP).
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "softrnic/handle.hpp"
#include "softrnic/memory.hpp"

namespace softrnic {

namespace detail {

// ibv_dealloc_mw is static inline, so it is a different function in every translation unit.
inline int dealloc_mw(ibv_mw* window) noexcept {
    return ibv_dealloc_mw(window);
}

}  // namespace detail

class memory_window : public handle<ibv_mw, &detail::dealloc_mw> {
public:
    constexpr memory_window() noexcept = default;

    [[nodiscard]] static memory_window adopt(ibv_mw* native) noexcept {
        return memory_window(native);
    }

    [[nodiscard]] static result<memory_window> create(const pd& domain) noexcept {
        ibv_mw* native = ibv_alloc_mw(domain.native(), IBV_MW_TYPE_2);
        if (native == nullptr) return detail::fail_errno("ibv_alloc_mw");
        return memory_window(native);
    }

    /// The key that it was bound with last.
    [[nodiscard]] std::uint32_t rkey() const noexcept { return native()->rkey; }

    /// The key to bind with next: a fresh one each time, so that a peer's old key stays dead.
    [[nodiscard]] std::uint32_t next_rkey() const noexcept { return ibv_inc_rkey(rkey()); }

private:
    explicit memory_window(ibv_mw* native) noexcept : handle(native) {}
};

/// What a window opens: `length` bytes of `region` from `offset` on. The region needs window_bind.
struct window_range {
    const mr& region;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

}  // namespace softrnic
