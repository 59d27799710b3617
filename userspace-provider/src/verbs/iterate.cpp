// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Polling one completion after the other, and reading what one wants to know of it (ibv_cq_ex).
//
// A completion is copied and given back to the kernel when it is the next one, not at the end:
// what the user posts on account of it may need its place before.
#include <cerrno>
#include <cstdint>

#include "verbs/cq.hpp"
#include "verbs/poll.hpp"

namespace softrnic::provider {
namespace {

completion_queue& queue_of(ibv_cq_ex* base) noexcept {
    return *cq_of(ibv_cq_ex_to_cq(base));
}

/// Under the queue's lock. Returns 0, ENOENT or EIO.
int take_next(completion_queue& cq) noexcept {
    const int polled = cq.ring.poll(1, [&cq](const srn_cqe& cqe) { cq.current = cqe; });
    if (polled == 0) return ENOENT;
    if (polled < 0) return EIO;
    if (is_send(cq.current.opcode)) cq.polled.count(cq.current.qp_num, 1);
    cq.cq_ex.wr_id = cq.current.wr_id;
    cq.cq_ex.status = static_cast<ibv_wc_status>(cq.current.status);
    return 0;
}

/// Leaves the queue locked if there is a completion.
int lock_and_take(completion_queue& cq) noexcept {
    cq.lock.lock();
    const int error = take_next(cq);
    if (error != 0) cq.lock.unlock();
    return error;
}

int start_poll(ibv_cq_ex* base, ibv_poll_cq_attr* attr) noexcept {
    if (attr->comp_mask != 0) return EINVAL;
    completion_queue& cq = queue_of(base);
    // The user goes on until there is no more.
    ring_before_poll(cq, UINT32_MAX);
    const int error = lock_and_take(cq);
    // There is nothing else to do. Often this completes something.
    return error == ENOENT && ring_lazy(cq) ? lock_and_take(cq) : error;
}

int next_poll(ibv_cq_ex* base) noexcept {
    return take_next(queue_of(base));
}

void end_poll(ibv_cq_ex* base) noexcept {
    queue_of(base).lock.unlock();
}

const srn_cqe& current(ibv_cq_ex* base) noexcept {
    return queue_of(base).current;
}

ibv_wc_opcode read_opcode(ibv_cq_ex* base) noexcept {
    return static_cast<ibv_wc_opcode>(current(base).opcode);
}

std::uint32_t read_byte_len(ibv_cq_ex* base) noexcept {
    return current(base).byte_len;
}

/// Or the key that was invalidated: the same word.
__be32 read_imm_data(ibv_cq_ex* base) noexcept {
    return current(base).ex;
}

std::uint32_t read_qp_num(ibv_cq_ex* base) noexcept {
    return current(base).qp_num;
}

unsigned read_wc_flags(ibv_cq_ex* base) noexcept {
    return wc_flags(current(base));
}

/// The device's clock is the wall clock.
std::uint64_t read_time(ibv_cq_ex* base) noexcept {
    return current(base).timestamp;
}

/// What iWARP does not have.
template <class T>
T read_zero(ibv_cq_ex* /*base*/) noexcept {
    return 0;
}

}  // namespace

void enable_iteration(completion_queue& cq) noexcept {
    ibv_cq_ex& ops = cq.cq_ex;
    ops.start_poll = start_poll;
    ops.next_poll = next_poll;
    ops.end_poll = end_poll;
    ops.read_opcode = read_opcode;
    ops.read_vendor_err = read_zero<std::uint32_t>;
    ops.read_byte_len = read_byte_len;
    ops.read_imm_data = read_imm_data;
    ops.read_qp_num = read_qp_num;
    ops.read_src_qp = read_zero<std::uint32_t>;
    ops.read_wc_flags = read_wc_flags;
    ops.read_slid = read_zero<std::uint32_t>;
    ops.read_sl = read_zero<std::uint8_t>;
    ops.read_dlid_path_bits = read_zero<std::uint8_t>;
    ops.read_completion_ts = read_time;
    ops.read_completion_wallclock_ns = read_time;
}

}  // namespace softrnic::provider
