// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Work requests and batches of them. A batch collects requests and hands them to a queue in one
/// call: one doorbell for all. It keeps its memory between uses, so that a loop of `clear(); …;
/// post()` allocates nothing after the first round.
///
/// Addresses and lengths are in bytes. A request with no slices, or only empty ones, is a message
/// of no bytes. Thread safety: one thread at a time per batch.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "softrnic/flags.hpp"
#include "softrnic/result.hpp"
#include "softrnic/slice.hpp"

namespace softrnic {

/// How one request of the send queue is posted. `id` comes back in its completion.
/// Brace it: `qp.send(slice, {.id = 7})`. Signaled is the default; see send_flag for the rest.
struct send_options {
    std::uint64_t id = 0;
    send_flag flags = send_flag::signaled;
};

namespace detail {

[[nodiscard]] inline ibv_send_wr make_send(ibv_wr_opcode opcode, std::span<const local_slice> list,
                                           send_options options) noexcept {
    ibv_send_wr wr{};
    wr.wr_id = options.id;
    wr.sg_list = to_native(list.data());
    wr.num_sge = static_cast<int>(list.size());
    wr.opcode = opcode;
    wr.send_flags = to_native(options.flags);
    return wr;
}

[[nodiscard]] inline ibv_send_wr make_rdma(ibv_wr_opcode opcode, std::span<const local_slice> list,
                                           const remote_slice& peer,
                                           send_options options) noexcept {
    ibv_send_wr wr = make_send(opcode, list, options);
    wr.wr.rdma.remote_addr = peer.addr;
    wr.wr.rdma.rkey = peer.rkey;
    return wr;
}

[[nodiscard]] inline ibv_send_wr make_atomic(ibv_wr_opcode opcode, const local_slice& before,
                                             const remote_slice& target, std::uint64_t compare_add,
                                             std::uint64_t swap, send_options options) noexcept {
    ibv_send_wr wr = make_send(opcode, std::span(&before, 1), options);
    wr.wr.atomic.remote_addr = target.addr;
    wr.wr.atomic.rkey = target.rkey;
    wr.wr.atomic.compare_add = compare_add;
    wr.wr.atomic.swap = swap;
    return wr;
}

[[nodiscard]] inline ibv_recv_wr make_recv(std::span<const local_slice> list,
                                           std::uint64_t id) noexcept {
    ibv_recv_wr wr{};
    wr.wr_id = id;
    wr.sg_list = to_native(list.data());
    wr.num_sge = static_cast<int>(list.size());
    return wr;
}

/// Bytes of this process as a slice without a key, for inline requests. No queue takes as many as
/// do not fit into a slice.
[[nodiscard]] inline local_slice unregistered(std::span<const std::byte> bytes) noexcept {
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    return {reinterpret_cast<std::uintptr_t>(bytes.data()),
            static_cast<std::uint32_t>(std::min(bytes.size(), most)), 0};
}

/// What send_batch and recv_batch have in common: the requests and all their slices.
template <class WorkRequest>
class batch_store {
public:
    [[nodiscard]] std::size_t size() const noexcept { return requests_.size(); }
    [[nodiscard]] bool empty() const noexcept { return requests_.empty(); }

    /// How many requests of the last post() the queue took. If post() failed, this is the index of
    /// the first one that it refused; those after it were not looked at.
    [[nodiscard]] std::size_t accepted() const noexcept { return accepted_; }

    /// Forgets the requests and keeps the memory.
    void clear() noexcept {
        requests_.clear();
        slices_.clear();
        accepted_ = 0;
    }

protected:
    void add(WorkRequest request, std::span<const local_slice> list) {
        slices_.insert(slices_.end(), list.begin(), list.end());
        requests_.push_back(request);
    }

    /// Chains the requests and points them at their slices, which may have moved while growing.
    [[nodiscard]] WorkRequest* link() noexcept {
        std::size_t used = 0;
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            WorkRequest& wr = requests_[i];
            wr.sg_list = to_native(slices_.data() + used);
            used += static_cast<std::size_t>(wr.num_sge);
            wr.next = i + 1 < requests_.size() ? &requests_[i + 1] : nullptr;
        }
        return requests_.data();
    }

    /// Notes how far the queue came and turns the answer into a result.
    [[nodiscard]] result<void> finish(int rc, const WorkRequest* bad,
                                      const char* operation) noexcept {
        accepted_ = requests_.size();
        if (rc == 0) return {};
        accepted_ = bad != nullptr ? static_cast<std::size_t>(bad - requests_.data()) : 0;
        return fail(rc, operation);
    }

private:
    std::vector<WorkRequest> requests_;
    std::vector<local_slice> slices_;
    std::size_t accepted_ = 0;
};

}  // namespace detail

/// Several requests for one send queue, posted in order by one call.
class send_batch : public detail::batch_store<ibv_send_wr> {
public:
    using slices = std::span<const local_slice>;

    send_batch& send(slices list, send_options options = {}) {
        add(detail::make_send(IBV_WR_SEND, list, options), list);
        return *this;
    }
    send_batch& send(const local_slice& data, send_options options = {}) {
        return send(slices(&data, 1), options);
    }
    /// The bytes must stay as they are until post() has returned, and need no registration.
    send_batch& send_inline(std::span<const std::byte> bytes, send_options options = {}) {
        options.flags |= send_flag::inline_data;
        return send(detail::unregistered(bytes), options);
    }

    send_batch& write(slices list, const remote_slice& target, send_options options = {}) {
        add(detail::make_rdma(IBV_WR_RDMA_WRITE, list, target, options), list);
        return *this;
    }
    send_batch& write(const local_slice& data, const remote_slice& target,
                      send_options options = {}) {
        return write(slices(&data, 1), target, options);
    }
    /// As send_inline().
    send_batch& write_inline(std::span<const std::byte> bytes, const remote_slice& target,
                             send_options options = {}) {
        options.flags |= send_flag::inline_data;
        return write(detail::unregistered(bytes), target, options);
    }

    send_batch& read(slices list, const remote_slice& source, send_options options = {}) {
        add(detail::make_rdma(IBV_WR_RDMA_READ, list, source, options), list);
        return *this;
    }
    send_batch& read(const local_slice& sink, const remote_slice& source,
                     send_options options = {}) {
        return read(slices(&sink, 1), source, options);
    }

    /// Hands everything to the queue pair in one call. The requests stay in the batch.
    /// Errors as those of qp_view::send(); accepted() says how many went in before.
    [[nodiscard]] result<void> post(ibv_qp* queue) {
        if (empty()) return {};
        ibv_send_wr* bad = nullptr;
        const int rc = ibv_post_send(queue, link(), &bad);
        return finish(rc, bad, "ibv_post_send");
    }
};

/// Several receives, posted in order by one call to a queue pair or a shared receive queue.
class recv_batch : public detail::batch_store<ibv_recv_wr> {
public:
    recv_batch& recv(std::span<const local_slice> list, std::uint64_t id = 0) {
        add(detail::make_recv(list, id), list);
        return *this;
    }
    recv_batch& recv(const local_slice& room, std::uint64_t id = 0) {
        return recv(std::span(&room, 1), id);
    }

    [[nodiscard]] result<void> post(ibv_qp* queue) {
        if (empty()) return {};
        ibv_recv_wr* bad = nullptr;
        const int rc = ibv_post_recv(queue, link(), &bad);
        return finish(rc, bad, "ibv_post_recv");
    }
    [[nodiscard]] result<void> post(ibv_srq* queue) {
        if (empty()) return {};
        ibv_recv_wr* bad = nullptr;
        const int rc = ibv_post_srq_recv(queue, link(), &bad);
        return finish(rc, bad, "ibv_post_srq_recv");
    }
};

}  // namespace softrnic
