// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The calls between start and complete return nothing. The first error is kept, nothing is done
// from then on, and complete takes back the whole section and returns it.
#include "verbs/wr_api.hpp"

#include <cerrno>
#include <cstddef>

#include "verbs/gone.hpp"
#include "verbs/qp.hpp"

namespace softrnic::provider {
namespace {

queue_pair& pair_of(ibv_qp_ex* base) noexcept {
    return *qp_of(&base->qp_base);
}

// The lock is held across calls, for as long as the user wants: no guard can do that.
void start(ibv_qp_ex* base) noexcept {
    queue_pair& qp = pair_of(base);
    qp.sq.lock.lock();
    qp.section.batch.emplace(qp.sq);
    qp.section.wqe = nullptr;
    qp.section.error = 0;
}

int complete(ibv_qp_ex* base) noexcept {
    queue_pair& qp = pair_of(base);
    const int error = qp.section.error;
    if (error != 0) qp.section.batch->drop();
    const srn_kick kick = qp.section.batch->finish(error);
    const std::uint32_t end = qp.sq.ring.end();
    qp.sq.lock.unlock();
    const int refused = ring_for(qp, kick);
    if (error != 0 || refused == 0) return error;
    return error_of_posted(qp, refused, qp.sq.ring, end);
}

void abort(ibv_qp_ex* base) noexcept {
    queue_pair& qp = pair_of(base);
    qp.section.batch->drop();
    qp.sq.lock.unlock();
}

void fail(wr_section& section, int error) noexcept {
    section.error = error;
    section.wqe = nullptr;
}

/// The next request, without operands and payload, or null. IBV_SEND_INLINE means nothing here:
/// where the payload is says the function that sets it.
srn_send_wqe* build(ibv_qp_ex* base, srn_wr_opcode opcode) noexcept {
    queue_pair& qp = pair_of(base);
    wr_section& section = qp.section;
    if (section.error != 0) return nullptr;
    int error = section.batch->refusal();
    if (error == 0 && (base->wr_flags & ~known_send_flags) != 0) error = EINVAL;
    if (error != 0) {
        fail(section, error);
        return nullptr;
    }
    section.wqe =
        &begin_wqe(section.batch->slot(), opcode, base->wr_id, base->wr_flags, qp.sq.limits);
    section.batch->push(base->wr_flags);
    return section.wqe;
}

template <srn_wr_opcode opcode>
void simple(ibv_qp_ex* base) noexcept {
    (void)build(base, opcode);
}

/// With a key to invalidate or immediate data.
template <srn_wr_opcode opcode>
void with_word(ibv_qp_ex* base, std::uint32_t word) noexcept {
    if (srn_send_wqe* wqe = build(base, opcode)) wqe->ex = word;
}

template <srn_wr_opcode opcode>
void rdma(ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t remote_addr) noexcept {
    if (srn_send_wqe* wqe = build(base, opcode)) put_remote(*wqe, remote_addr, rkey);
}

void write_imm(ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t remote_addr,
               __be32 imm_data) noexcept {
    srn_send_wqe* wqe = build(base, SRN_WR_WRITE_WITH_IMM);
    if (wqe == nullptr) return;
    put_remote(*wqe, remote_addr, rkey);
    wqe->ex = imm_data;
}

void fetch_add(ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t remote_addr,
               std::uint64_t add) noexcept {
    srn_send_wqe* wqe = build(base, SRN_WR_FETCH_ADD);
    if (wqe == nullptr) return;
    put_remote(*wqe, remote_addr, rkey);
    wqe->swap_add = add;
}

void cmp_swap(ibv_qp_ex* base, std::uint32_t rkey, std::uint64_t remote_addr, std::uint64_t compare,
              std::uint64_t swap) noexcept {
    srn_send_wqe* wqe = build(base, SRN_WR_CMP_SWAP);
    if (wqe == nullptr) return;
    put_remote(*wqe, remote_addr, rkey);
    wqe->compare = compare;
    wqe->swap_add = swap;
}

void bind_window(ibv_qp_ex* base, ibv_mw* window, std::uint32_t rkey,
                 const ibv_mw_bind_info* info) noexcept {
    srn_send_wqe* wqe = build(base, SRN_WR_BIND_MW);
    if (wqe == nullptr) return;
    if (const int error = put_window(*wqe, *window, rkey, *info))
        fail(pair_of(base).section, error);
}

/// The request that is to get its payload, or null. What had been set before counts no more.
srn_send_wqe* without_payload(ibv_qp_ex* base) noexcept {
    wr_section& section = pair_of(base).section;
    if (section.error != 0) return nullptr;
    srn_send_wqe* wqe = section.wqe;
    if (wqe == nullptr || !has_payload(wqe->opcode)) {
        fail(section, EINVAL);
        return nullptr;
    }
    wqe->flags &= static_cast<std::uint16_t>(~SRN_WR_INLINE);
    wqe->num_sge = 0;
    wqe->inline_len = 0;
    return wqe;
}

void set_sge_list(ibv_qp_ex* base, std::size_t count, const ibv_sge* sges) noexcept {
    queue_pair& qp = pair_of(base);
    srn_send_wqe* wqe = without_payload(base);
    if (wqe == nullptr) return;
    const encoded payload = put_sges(*wqe, sges, count, qp.sq.limits);
    if (payload.error != 0) {
        fail(qp.section, payload.error);
    } else {
        qp.section.batch->add_bytes(payload.listed);
    }
}

void set_sge(ibv_qp_ex* base, std::uint32_t lkey, std::uint64_t addr,
             std::uint32_t length) noexcept {
    const ibv_sge sge{addr, length, lkey};
    set_sge_list(base, 1, &sge);
}

void set_inline_data_list(ibv_qp_ex* base, std::size_t count, const ibv_data_buf* pieces) noexcept {
    queue_pair& qp = pair_of(base);
    srn_send_wqe* wqe = without_payload(base);
    if (wqe == nullptr) return;
    int error = can_inline(wqe->opcode) ? 0 : EINVAL;
    begin_inline(*wqe);
    for (std::size_t i = 0; i < count && error == 0; ++i)
        error = append_inline(*wqe, pieces[i].addr, pieces[i].length, qp.sq.limits);
    if (error != 0) fail(qp.section, error);
}

void set_inline_data(ibv_qp_ex* base, void* addr, std::size_t length) noexcept {
    const ibv_data_buf piece{addr, length};
    set_inline_data_list(base, 1, &piece);
}

}  // namespace

void enable_wr_api(queue_pair& qp) noexcept {
    for (std::uint32_t& word : qp.comp_mask) word = VERBS_QP_EX;
    ibv_qp_ex& ops = qp.qp_ex;
    ops.wr_atomic_cmp_swp = cmp_swap;
    ops.wr_atomic_fetch_add = fetch_add;
    ops.wr_bind_mw = bind_window;
    ops.wr_local_inv = with_word<SRN_WR_LOCAL_INV>;
    ops.wr_rdma_read = rdma<SRN_WR_READ>;
    ops.wr_rdma_write = rdma<SRN_WR_WRITE>;
    ops.wr_rdma_write_imm = write_imm;
    ops.wr_send = simple<SRN_WR_SEND>;
    ops.wr_send_imm = with_word<SRN_WR_SEND_WITH_IMM>;
    ops.wr_send_inv = with_word<SRN_WR_SEND_WITH_INV>;
    ops.wr_set_inline_data = set_inline_data;
    ops.wr_set_inline_data_list = set_inline_data_list;
    ops.wr_set_sge = set_sge;
    ops.wr_set_sge_list = set_sge_list;
    ops.wr_start = start;
    ops.wr_complete = complete;
    ops.wr_abort = abort;
}

}  // namespace softrnic::provider
