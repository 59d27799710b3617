// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Posting work to a queue pair: qp_view (does not own it) and qp (does; a connection holds one).
///
/// Every post returns at once; what became of the work comes as a completion. Errors of posting
/// itself:
///   ENOMEM  the queue is full: poll its completion queue and try again. With softrnic and with
///           hardware a send counts until its completion has been polled, so a completion queue as
///           deep as the send queue cannot overflow. siw and rxe free the entry when the work is
///           done, polled or not: with them the program itself must keep no more signaled requests
///           unpolled than were asked for as max_send_wr.
///   EINVAL  too many slices, inline data too long, or a queue pair that cannot take work yet
/// Memory named by slices must stay registered and alone until the completion; inline bytes are
/// free when the call returns.
///
/// Thread safety: as verbs promise, any thread may post at any time.
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "softrnic/flags.hpp"
#include "softrnic/handle.hpp"
#include "softrnic/slice.hpp"
#include "softrnic/window.hpp"
#include "softrnic/work_request.hpp"

namespace softrnic {

class qp_view {
public:
    using slices = std::span<const local_slice>;

    constexpr qp_view() noexcept = default;
    // NOLINTNEXTLINE(google-explicit-constructor): a view costs nothing and owns nothing
    constexpr qp_view(ibv_qp* native) noexcept : native_(native) {}

    [[nodiscard]] ibv_qp* native() const noexcept { return native_; }
    explicit operator bool() const noexcept { return native_ != nullptr; }
    [[nodiscard]] std::uint32_t number() const noexcept { return native_->qp_num; }

    /// A message for the peer's next receive.
    [[nodiscard]] result<void> send(slices list, send_options options = {}) const noexcept {
        return post(detail::make_send(IBV_WR_SEND, list, options));
    }
    [[nodiscard]] result<void> send(const local_slice& data,
                                    send_options options = {}) const noexcept {
        return send(slices(&data, 1), options);
    }
    /// A message out of any memory, registered or not; at most the max_inline asked for.
    [[nodiscard]] result<void> send_inline(std::span<const std::byte> bytes,
                                           send_options options = {}) const noexcept {
        options.flags |= send_flag::inline_data;
        return send(detail::unregistered(bytes), options);
    }
    /// A message that also makes the peer's `rkey` (a window or a fast registration) invalid.
    [[nodiscard]] result<void> send_with_invalidate(slices list, std::uint32_t rkey,
                                                    send_options options = {}) const noexcept {
        ibv_send_wr wr = detail::make_send(IBV_WR_SEND_WITH_INV, list, options);
        wr.invalidate_rkey = rkey;
        return post(wr);
    }
    [[nodiscard]] result<void> send_with_invalidate(const local_slice& data, std::uint32_t rkey,
                                                    send_options options = {}) const noexcept {
        return send_with_invalidate(slices(&data, 1), rkey, options);
    }

    /// A message with four bytes that the peer's completion brings: see immediate_of().
    [[nodiscard]] result<void> send_with_immediate(slices list, std::uint32_t data,
                                                   send_options options = {}) const noexcept {
        ibv_send_wr wr = detail::make_send(IBV_WR_SEND_WITH_IMM, list, options);
        wr.imm_data = htonl(data);
        return post(wr);
    }
    [[nodiscard]] result<void> send_with_immediate(const local_slice& data, std::uint32_t immediate,
                                                   send_options options = {}) const noexcept {
        return send_with_immediate(slices(&data, 1), immediate, options);
    }

    /// Places the data at `target` without the peer's doing. Only target.addr and .rkey matter: the
    /// slices say how much. Completion means that the buffers are free; that the peer has the data
    /// shows only when it receives a later send or a later read completes.
    [[nodiscard]] result<void> write(slices list, const remote_slice& target,
                                     send_options options = {}) const noexcept {
        return post(detail::make_rdma(IBV_WR_RDMA_WRITE, list, target, options));
    }
    [[nodiscard]] result<void> write(const local_slice& data, const remote_slice& target,
                                     send_options options = {}) const noexcept {
        return write(slices(&data, 1), target, options);
    }
    [[nodiscard]] result<void> write_inline(std::span<const std::byte> bytes,
                                            const remote_slice& target,
                                            send_options options = {}) const noexcept {
        options.flags |= send_flag::inline_data;
        return write(detail::unregistered(bytes), target, options);
    }

    /// A write that also completes the peer's next receive, with four bytes: see immediate_of().
    /// The memory of that receive is not used; its completion's byte_len is the length of the
    /// write.
    [[nodiscard]] result<void> write_with_immediate(slices list, const remote_slice& target,
                                                    std::uint32_t data,
                                                    send_options options = {}) const noexcept {
        ibv_send_wr wr = detail::make_rdma(IBV_WR_RDMA_WRITE_WITH_IMM, list, target, options);
        wr.imm_data = htonl(data);
        return post(wr);
    }
    [[nodiscard]] result<void> write_with_immediate(const local_slice& data,
                                                    const remote_slice& target,
                                                    std::uint32_t immediate,
                                                    send_options options = {}) const noexcept {
        return write_with_immediate(slices(&data, 1), target, immediate, options);
    }

    /// Adds `value` to the 64-bit number at `target`, which must be aligned to 8 bytes and needs
    /// access::remote_atomic. What it was before, in this host's byte order, comes into the 8 bytes
    /// of `before`.
    [[nodiscard]] result<void> fetch_add(const local_slice& before, const remote_slice& target,
                                         std::uint64_t value,
                                         send_options options = {}) const noexcept {
        return post(
            detail::make_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, before, target, value, 0, options));
    }
    /// Stores `desired` there if the number is `expected`; otherwise as fetch_add().
    [[nodiscard]] result<void> compare_swap(const local_slice& before, const remote_slice& target,
                                            std::uint64_t expected, std::uint64_t desired,
                                            send_options options = {}) const noexcept {
        return post(detail::make_atomic(IBV_WR_ATOMIC_CMP_AND_SWP, before, target, expected,
                                        desired, options));
    }

    /// Fetches from `source` into the slices, whose region needs read_sink_access(). The data is
    /// there when the completion is.
    [[nodiscard]] result<void> read(slices list, const remote_slice& source,
                                    send_options options = {}) const noexcept {
        return post(detail::make_rdma(IBV_WR_RDMA_READ, list, source, options));
    }
    [[nodiscard]] result<void> read(const local_slice& sink, const remote_slice& source,
                                    send_options options = {}) const noexcept {
        return read(slices(&sink, 1), source, options);
    }

    /// Room for one incoming message; the slices are filled one after the other. Receives belong in
    /// the queue before the connection is made: on iWARP a message without one ends the connection.
    [[nodiscard]] result<void> recv(slices list, std::uint64_t id = 0) const noexcept {
        ibv_recv_wr wr = detail::make_recv(list, id);
        ibv_recv_wr* bad = nullptr;
        return detail::check(ibv_post_recv(native_, &wr, &bad), "ibv_post_recv");
    }
    [[nodiscard]] result<void> recv(const local_slice& room, std::uint64_t id = 0) const noexcept {
        return recv(slices(&room, 1), id);
    }

    /// Opens `range` to the peer under `key` (memory_window::next_rkey()), from this request on.
    [[nodiscard]] result<void> bind(const memory_window& window, std::uint32_t key,
                                    const window_range& range, access rights,
                                    send_options options = {}) const noexcept {
        ibv_send_wr wr = detail::make_send(IBV_WR_BIND_MW, {}, options);
        wr.bind_mw.mw = window.native();
        wr.bind_mw.rkey = key;
        wr.bind_mw.bind_info = {range.region.native(), range.region.sub(range.offset, 0).addr,
                                range.length, static_cast<unsigned>(to_native(rights))};
        const result<void> posted = post(wr);
        if (posted) window.native()->rkey = key;
        return posted;
    }
    /// Takes a window's key back.
    [[nodiscard]] result<void> invalidate(std::uint32_t rkey,
                                          send_options options = {}) const noexcept {
        ibv_send_wr wr = detail::make_send(IBV_WR_LOCAL_INV, {}, options);
        wr.invalidate_rkey = rkey;
        return post(wr);
    }

    /// What the peer may do through this queue pair, whatever its keys would allow.
    [[nodiscard]] result<void> set_access(access rights) const noexcept {
        ibv_qp_attr attr{};
        attr.qp_access_flags = static_cast<unsigned>(to_native(rights));
        return modify(attr, IBV_QP_ACCESS_FLAGS);
    }
    /// Ends all work: what is outstanding completes with IBV_WC_WR_FLUSH_ERR.
    [[nodiscard]] result<void> to_error() const noexcept {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_ERR;
        return modify(attr, IBV_QP_STATE);
    }
    [[nodiscard]] result<void> modify(ibv_qp_attr attr, int mask) const noexcept {
        return detail::check(ibv_modify_qp(native_, &attr, mask), "ibv_modify_qp");
    }

    [[nodiscard]] result<ibv_qp_attr> query(int mask = IBV_QP_STATE | IBV_QP_CAP) const noexcept {
        ibv_qp_attr attr{};
        ibv_qp_init_attr init{};
        if (const int rc = ibv_query_qp(native_, &attr, mask, &init))
            return detail::fail(rc, "ibv_query_qp");
        return attr;
    }
    [[nodiscard]] result<ibv_qp_state> state() const noexcept {
        const result<ibv_qp_attr> attr = query(IBV_QP_STATE);
        if (!attr) return failure(attr.error());
        return attr->qp_state;
    }

private:
    [[nodiscard]] result<void> post(ibv_send_wr wr) const noexcept {
        ibv_send_wr* bad = nullptr;
        return detail::check(ibv_post_send(native_, &wr, &bad), "ibv_post_send");
    }

    ibv_qp* native_ = nullptr;
};

/// The queue pair of an rdma_cm id, which must outlive it.
class qp : public qp_view {
public:
    constexpr qp() noexcept = default;

    /// Takes over the queue pair that rdma_create_qp made for this id.
    [[nodiscard]] static qp adopt(rdma_cm_id* id) noexcept { return qp(id); }

    qp(qp&& other) noexcept : qp_view(other), id_(std::exchange(other.id_, nullptr)) {
        static_cast<qp_view&>(other) = {};
    }
    /// The queue pair that this owned before is destroyed at once.
    qp& operator=(qp&& other) noexcept {
        qp taken(std::move(other));
        std::swap(static_cast<qp_view&>(*this), static_cast<qp_view&>(taken));
        std::swap(id_, taken.id_);
        return *this;
    }
    qp(const qp&) = delete;
    qp& operator=(const qp&) = delete;
    ~qp() {
        if (id_ != nullptr) rdma_destroy_qp(id_);
    }

private:
    explicit qp(rdma_cm_id* id) noexcept : qp_view(id->qp), id_(id) {}

    rdma_cm_id* id_ = nullptr;
};

}  // namespace softrnic
