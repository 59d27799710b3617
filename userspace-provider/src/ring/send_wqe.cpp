// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "ring/send_wqe.hpp"

#include <array>

namespace softrnic::provider {
namespace {

/// What an operation has besides its payload.
enum operand : unsigned {
    remote = 1U << 0,      ///< an address and rkey of the peer
    invalidate = 1U << 1,  ///< an rkey to invalidate
    immediate = 1U << 2,   ///< immediate data
    atomic = 1U << 3,      ///< operands of an atomic, and its address and rkey
    window = 1U << 4,      ///< a memory window and what to bind it to
};

struct operation {
    bool supported;
    srn_wr_opcode opcode;
    unsigned operands;
};

/// By enum ibv_wr_opcode. Gaps, and operations that the module does not have yet, are unsupported.
constexpr auto operations = [] {
    std::array<operation, 16> table{};
    table[IBV_WR_SEND] = {true, SRN_WR_SEND, 0};
    table[IBV_WR_SEND_WITH_INV] = {true, SRN_WR_SEND_WITH_INV, invalidate};
    table[IBV_WR_SEND_WITH_IMM] = {true, SRN_WR_SEND_WITH_IMM, immediate};
    table[IBV_WR_RDMA_WRITE] = {true, SRN_WR_WRITE, remote};
    table[IBV_WR_RDMA_WRITE_WITH_IMM] = {true, SRN_WR_WRITE_WITH_IMM, remote | immediate};
    table[IBV_WR_RDMA_READ] = {true, SRN_WR_READ, remote};
    table[IBV_WR_ATOMIC_FETCH_AND_ADD] = {true, SRN_WR_FETCH_ADD, atomic};
    table[IBV_WR_ATOMIC_CMP_AND_SWP] = {true, SRN_WR_CMP_SWAP, atomic};
    table[IBV_WR_BIND_MW] = {true, SRN_WR_BIND_MW, window};
    table[IBV_WR_LOCAL_INV] = {true, SRN_WR_LOCAL_INV, invalidate};
    return table;
}();

const operation* find_operation(ibv_wr_opcode opcode) noexcept {
    const auto index = static_cast<std::size_t>(opcode);
    if (index >= operations.size() || !operations[index].supported) return nullptr;
    return &operations[index];
}

int put_inline(const ibv_send_wr& wr, const send_limits& limits, srn_send_wqe& wqe) noexcept {
    if (wr.num_sge < 0) return EINVAL;
    begin_inline(wqe);
    for (int i = 0; i < wr.num_sge; ++i) {
        const ibv_sge& sge = wr.sg_list[i];
        // An lkey is not needed, and not looked at, for inline data.
        // NOLINTNEXTLINE(performance-no-int-to-ptr): verbs pass addresses as integers
        const auto* data = reinterpret_cast<const void*>(sge.addr);
        if (const int error = append_inline(wqe, data, sge.length, limits)) return error;
    }
    return 0;
}

void put_atomic(const ibv_send_wr& wr, srn_send_wqe& wqe) noexcept {
    const bool add = wqe.opcode == SRN_WR_FETCH_ADD;
    put_remote(wqe, wr.wr.atomic.remote_addr, wr.wr.atomic.rkey);
    wqe.swap_add = add ? wr.wr.atomic.compare_add : wr.wr.atomic.swap;
    wqe.compare = add ? 0 : wr.wr.atomic.compare_add;
}

}  // namespace

encoded encode_send(const ibv_send_wr& wr, const send_limits& limits, std::byte* slot) noexcept {
    const operation* op = find_operation(wr.opcode);
    if (op == nullptr || (wr.send_flags & ~known_send_flags) != 0) return {EINVAL};
    const bool is_inline = (wr.send_flags & IBV_SEND_INLINE) != 0;
    if (is_inline && !can_inline(op->opcode)) return {EINVAL};

    srn_send_wqe& wqe = begin_wqe(slot, op->opcode, wr.wr_id, wr.send_flags, limits);
    if ((op->operands & remote) != 0) put_remote(wqe, wr.wr.rdma.remote_addr, wr.wr.rdma.rkey);
    // invalidate_rkey or imm_data: the same word.
    if ((op->operands & (invalidate | immediate)) != 0) wqe.ex = wr.invalidate_rkey;
    if ((op->operands & atomic) != 0) put_atomic(wr, wqe);
    if ((op->operands & window) != 0)
        return {put_window(wqe, *wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info)};
    if (!has_payload(op->opcode)) return {};
    // A negative count is more than any limit.
    return is_inline ? encoded{put_inline(wr, limits, wqe)}
                     : put_sges(wqe, wr.sg_list, static_cast<std::uint32_t>(wr.num_sge), limits);
}

}  // namespace softrnic::provider
