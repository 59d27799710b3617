// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "ring/send_wqe.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include "softrnic-abi.h"

namespace softrnic::provider {
namespace {

/// The longest message of RDMAP, in bytes.
constexpr std::uint64_t max_message = std::uint64_t{1} << 31;

constexpr unsigned known_flags =
    IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;

/// What an operation has besides its scatter/gather list.
enum operand : unsigned {
    remote = 1U << 0,      ///< an address and rkey of the peer
    payload = 1U << 1,     ///< a scatter/gather list
    inlinable = 1U << 2,   ///< whose contents may travel in the WQE
    invalidate = 1U << 3,  ///< an rkey to invalidate
    immediate = 1U << 4,   ///< immediate data
    atomic = 1U << 5,      ///< operands of an atomic, and its address and rkey
    window = 1U << 6,      ///< a memory window and what to bind it to
};

struct operation {
    bool supported;
    srn_wr_opcode opcode;
    unsigned operands;
};

/// By enum ibv_wr_opcode. Gaps, and operations that the module does not have yet, are unsupported.
constexpr auto operations = [] {
    std::array<operation, 16> table{};
    table[IBV_WR_SEND] = {true, SRN_WR_SEND, payload | inlinable};
    table[IBV_WR_SEND_WITH_INV] = {true, SRN_WR_SEND_WITH_INV, payload | inlinable | invalidate};
    table[IBV_WR_SEND_WITH_IMM] = {true, SRN_WR_SEND_WITH_IMM, payload | inlinable | immediate};
    table[IBV_WR_RDMA_WRITE] = {true, SRN_WR_WRITE, remote | payload | inlinable};
    table[IBV_WR_RDMA_WRITE_WITH_IMM] = {true, SRN_WR_WRITE_WITH_IMM,
                                         remote | payload | inlinable | immediate};
    table[IBV_WR_RDMA_READ] = {true, SRN_WR_READ, remote | payload};
    table[IBV_WR_ATOMIC_FETCH_AND_ADD] = {true, SRN_WR_FETCH_ADD, atomic | payload};
    table[IBV_WR_ATOMIC_CMP_AND_SWP] = {true, SRN_WR_CMP_SWAP, atomic | payload};
    table[IBV_WR_BIND_MW] = {true, SRN_WR_BIND_MW, window};
    table[IBV_WR_LOCAL_INV] = {true, SRN_WR_LOCAL_INV, invalidate};
    return table;
}();

const operation* find_operation(ibv_wr_opcode opcode) noexcept {
    const auto index = static_cast<std::size_t>(opcode);
    if (index >= operations.size() || !operations[index].supported) return nullptr;
    return &operations[index];
}

std::uint16_t wqe_flags(unsigned send_flags, bool signal_all) noexcept {
    unsigned flags = 0;
    if (signal_all || (send_flags & IBV_SEND_SIGNALED) != 0) flags |= SRN_WR_SIGNALED;
    if ((send_flags & IBV_SEND_SOLICITED) != 0) flags |= SRN_WR_SOLICITED;
    if ((send_flags & IBV_SEND_FENCE) != 0) flags |= SRN_WR_FENCE;
    if ((send_flags & IBV_SEND_INLINE) != 0) flags |= SRN_WR_INLINE;
    return static_cast<std::uint16_t>(flags);
}

static_assert(sizeof(ibv_sge) == sizeof(srn_sge));
static_assert(offsetof(ibv_sge, addr) == offsetof(srn_sge, addr));
static_assert(offsetof(ibv_sge, length) == offsetof(srn_sge, length));
static_assert(offsetof(ibv_sge, lkey) == offsetof(srn_sge, lkey));

encoded put_sges(const ibv_send_wr& wr, const send_limits& limits, srn_send_wqe& wqe) noexcept {
    const auto count = static_cast<std::uint32_t>(wr.num_sge);
    if (count > limits.max_sge) return {EINVAL};
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < count; ++i) total += wr.sg_list[i].length;
    if (total > max_message) return {EINVAL};
    if (count != 0) std::memcpy(wqe.sge, wr.sg_list, count * sizeof(srn_sge));
    wqe.num_sge = static_cast<std::uint8_t>(count);
    return {0, total};
}

int put_inline(const ibv_send_wr& wr, const send_limits& limits, srn_send_wqe& wqe) noexcept {
    if (wr.num_sge < 0) return EINVAL;
    std::uint32_t used = 0;
    for (int i = 0; i < wr.num_sge; ++i) {
        const ibv_sge& sge = wr.sg_list[i];
        if (sge.length > limits.max_inline - used) return EINVAL;
        if (sge.length == 0) continue;
        // An lkey is not needed, and not looked at, for inline data.
        // NOLINTNEXTLINE(performance-no-int-to-ptr): verbs pass addresses as integers
        std::memcpy(wqe.data + used, reinterpret_cast<const void*>(sge.addr), sge.length);
        used += sge.length;
    }
    wqe.inline_len = used;
    return 0;
}

void put_atomic(const ibv_send_wr& wr, srn_send_wqe& wqe) noexcept {
    const bool add = wqe.opcode == SRN_WR_FETCH_ADD;
    wqe.remote_addr = wr.wr.atomic.remote_addr;
    wqe.rkey = wr.wr.atomic.rkey;
    wqe.swap_add = add ? wr.wr.atomic.compare_add : wr.wr.atomic.swap;
    wqe.compare = add ? 0 : wr.wr.atomic.compare_add;
}

/// The window is named by the rkey that it is to have: its index in there never changes.
int put_window(const ibv_send_wr& wr, srn_send_wqe& wqe) noexcept {
    const ibv_mw_bind_info& info = wr.bind_mw.bind_info;
    const std::uint32_t index = wr.bind_mw.rkey ^ wr.bind_mw.mw->rkey;
    if (index >> 8 != 0 || (info.mr == nullptr && info.length != 0)) return EINVAL;
    wqe.rkey = wr.bind_mw.rkey;
    wqe.ex = info.mr != nullptr ? info.mr->lkey : 0;
    wqe.remote_addr = info.addr;
    wqe.compare = info.length;
    wqe.swap_add = info.mw_access_flags;
    return 0;
}

}  // namespace

encoded encode_send(const ibv_send_wr& wr, const send_limits& limits, std::byte* slot) noexcept {
    const operation* op = find_operation(wr.opcode);
    if (op == nullptr || (wr.send_flags & ~known_flags) != 0) return {EINVAL};
    const bool is_inline = (wr.send_flags & IBV_SEND_INLINE) != 0;
    if (is_inline && (op->operands & inlinable) == 0) return {EINVAL};

    srn_send_wqe& wqe = *reinterpret_cast<srn_send_wqe*>(slot);
    wqe.wr_id = wr.wr_id;
    wqe.opcode = op->opcode;
    wqe.num_sge = 0;
    wqe.flags = wqe_flags(wr.send_flags, limits.signal_all);
    wqe.inline_len = 0;
    const bool has_remote = (op->operands & remote) != 0;
    wqe.remote_addr = has_remote ? wr.wr.rdma.remote_addr : 0;
    wqe.rkey = has_remote ? wr.wr.rdma.rkey : 0;
    // invalidate_rkey or imm_data: the same word.
    wqe.ex = (op->operands & (invalidate | immediate)) != 0 ? wr.invalidate_rkey : 0;
    wqe.swap_add = 0;
    wqe.compare = 0;
    if ((op->operands & atomic) != 0) put_atomic(wr, wqe);
    if ((op->operands & window) != 0) return {put_window(wr, wqe)};
    if ((op->operands & payload) == 0) return {};
    return is_inline ? encoded{put_inline(wr, limits, wqe)} : put_sges(wr, limits, wqe);
}

}  // namespace softrnic::provider
