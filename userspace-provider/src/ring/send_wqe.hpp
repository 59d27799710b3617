// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// From the work requests of verbs to the entries of a send queue.
///
/// An entry is begun, gets the operands that its operation has, and then its payload. Whoever posts
/// a list does all of that with encode_send(), whoever calls ibv_wr_*() one step after the other.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "softrnic-abi.h"

namespace softrnic::provider {

/// What one send queue accepts.
struct send_limits {
    std::uint32_t max_sge;
    std::uint32_t max_inline;
    bool signal_all;
};

struct encoded {
    int error = 0;             ///< or EINVAL for what verbs do not allow; the slot is then void
    std::uint64_t listed = 0;  ///< bytes that the scatter list names
};

/// The flags of verbs that a request may have.
inline constexpr unsigned known_send_flags =
    IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;

/// Whether an operation has a scatter/gather list.
constexpr bool has_payload(unsigned opcode) noexcept {
    return opcode != SRN_WR_LOCAL_INV && opcode != SRN_WR_BIND_MW;
}

/// Whether the payload of an operation may travel in the entry.
constexpr bool can_inline(unsigned opcode) noexcept {
    return opcode == SRN_WR_SEND || opcode == SRN_WR_SEND_WITH_INV ||
           opcode == SRN_WR_SEND_WITH_IMM || opcode == SRN_WR_WRITE ||
           opcode == SRN_WR_WRITE_WITH_IMM;
}

/// Begins an entry without operands and payload. @send_flags are known ones.
inline srn_send_wqe& begin_wqe(std::byte* slot, srn_wr_opcode opcode, std::uint64_t wr_id,
                               unsigned send_flags, const send_limits& limits) noexcept {
    unsigned flags = 0;
    if (limits.signal_all || (send_flags & IBV_SEND_SIGNALED) != 0) flags |= SRN_WR_SIGNALED;
    if ((send_flags & IBV_SEND_SOLICITED) != 0) flags |= SRN_WR_SOLICITED;
    if ((send_flags & IBV_SEND_FENCE) != 0) flags |= SRN_WR_FENCE;
    srn_send_wqe& wqe = *reinterpret_cast<srn_send_wqe*>(slot);
    wqe.wr_id = wr_id;
    wqe.opcode = opcode;
    wqe.num_sge = 0;
    wqe.flags = static_cast<std::uint16_t>(flags);
    wqe.inline_len = 0;
    wqe.remote_addr = 0;
    wqe.rkey = 0;
    wqe.ex = 0;
    wqe.swap_add = 0;
    wqe.compare = 0;
    return wqe;
}

/// The peer's memory, of an RDMA operation or an atomic.
inline void put_remote(srn_send_wqe& wqe, std::uint64_t addr, std::uint32_t rkey) noexcept {
    wqe.remote_addr = addr;
    wqe.rkey = rkey;
}

/// The window is named by the rkey that it is to have: its index in there never changes. Returns 0
/// or EINVAL.
inline int put_window(srn_send_wqe& wqe, const ibv_mw& window, std::uint32_t rkey,
                      const ibv_mw_bind_info& info) noexcept {
    if ((rkey ^ window.rkey) >> 8 != 0 || (info.mr == nullptr && info.length != 0)) return EINVAL;
    wqe.rkey = rkey;
    wqe.ex = info.mr != nullptr ? info.mr->lkey : 0;
    wqe.remote_addr = info.addr;
    wqe.compare = info.length;
    // A window is no local key, but programs give the rights of its region.
    wqe.swap_add = info.mw_access_flags & ~unsigned{IBV_ACCESS_LOCAL_WRITE};
    return 0;
}

static_assert(sizeof(ibv_sge) == sizeof(srn_sge));
static_assert(offsetof(ibv_sge, addr) == offsetof(srn_sge, addr));
static_assert(offsetof(ibv_sge, length) == offsetof(srn_sge, length));
static_assert(offsetof(ibv_sge, lkey) == offsetof(srn_sge, lkey));

/// The payload, by reference.
inline encoded put_sges(srn_send_wqe& wqe, const ibv_sge* sges, std::size_t count,
                        const send_limits& limits) noexcept {
    /// The longest message of RDMAP, in bytes.
    constexpr std::uint64_t max_message = std::uint64_t{1} << 31;
    if (count > limits.max_sge) return {EINVAL};
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < count; ++i) total += sges[i].length;
    if (total > max_message) return {EINVAL};
    if (count != 0) std::memcpy(wqe.sge, sges, count * sizeof(srn_sge));
    wqe.num_sge = static_cast<std::uint8_t>(count);
    return {0, total};
}

/// The payload, by value: append it piece by piece.
inline void begin_inline(srn_send_wqe& wqe) noexcept {
    wqe.flags |= SRN_WR_INLINE;
}
/// Returns 0 or EINVAL.
inline int append_inline(srn_send_wqe& wqe, const void* data, std::size_t length,
                         const send_limits& limits) noexcept {
    if (length > limits.max_inline - wqe.inline_len) return EINVAL;
    if (length == 0) return 0;
    std::memcpy(wqe.data + wqe.inline_len, data, length);
    wqe.inline_len += static_cast<std::uint32_t>(length);
    return 0;
}

/// Writes @wr to @slot, which has room for what @limits allow.
encoded encode_send(const ibv_send_wr& wr, const send_limits& limits, std::byte* slot) noexcept;

}  // namespace softrnic::provider
