// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// One end of a connection before and after it is made: an rdma_cm id that is bound to a device,
/// and the queues made for it. What connection.hpp builds on.
///
/// An endpoint makes what its queue_config does not bring: a protection domain, a completion
/// channel and one completion queue for both directions. It frees those, and never what it was
/// lent.
///
/// Thread safety: the queue pair and completion queue as said there; the rest one thread at a time.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <span>
#include <utility>

#include "softrnic/address.hpp"
#include "softrnic/cm_channel.hpp"
#include "softrnic/completion.hpp"
#include "softrnic/context.hpp"
#include "softrnic/memory.hpp"
#include "softrnic/qp.hpp"
#include "softrnic/srq.hpp"

namespace softrnic {

/// What a queue pair should be able to do, and what of the caller's it should use. Objects that are
/// lent here must be of the endpoint's context() and outlive the endpoint. Brace it:
/// `{.max_send_wr = 64, .domain = &pd}`.
struct queue_config {
    std::uint32_t max_send_wr = 128;  ///< send queue depth, in work requests
    std::uint32_t max_recv_wr = 128;  ///< receive queue depth; meaningless with an srq
    std::uint32_t max_send_sge = 4;   ///< slices of one request
    std::uint32_t max_recv_sge = 4;
    std::uint32_t max_inline = 0;  ///< bytes of one inline request
    bool signal_all = false;       ///< complete every request, flagged or not

    const softrnic::pd* domain = nullptr;
    /// The endpoint's own has room for max_send_wr and max_recv_wr completions; one that is lent
    /// must have room for all that its queue pairs can leave unpolled.
    cq* send_cq = nullptr;
    cq* recv_cq = nullptr;  ///< if null: send_cq
    const softrnic::srq* shared_receives = nullptr;
};

namespace detail {

inline int destroy_cm_id(rdma_cm_id* id) noexcept {
    return rdma_destroy_id(id) == 0 ? 0 : errno;
}

class cm_id : public handle<rdma_cm_id, &destroy_cm_id> {
public:
    constexpr cm_id() noexcept = default;
    explicit cm_id(rdma_cm_id* native) noexcept : handle(native) {}

    [[nodiscard]] static result<cm_id> create(const cm_channel& channel) noexcept {
        rdma_cm_id* native = nullptr;
        if (rdma_create_id(channel.native(), &native, nullptr, RDMA_PS_TCP) != 0)
            return fail_errno("rdma_create_id");
        return cm_id(native);
    }
};

}  // namespace detail

class endpoint {
public:
    endpoint() noexcept = default;

    endpoint(endpoint&& other) noexcept = default;
    /// What this owned before is destroyed at once, as by the destructor.
    endpoint& operator=(endpoint&& other) noexcept {
        endpoint taken(std::move(other));
        swap(taken);
        return *this;
    }
    endpoint(const endpoint&) = delete;
    endpoint& operator=(const endpoint&) = delete;
    ~endpoint() = default;

    /// The rdma_cm id, for calls that this library does not wrap.
    [[nodiscard]] rdma_cm_id* native() const noexcept { return id_.native(); }
    explicit operator bool() const noexcept { return static_cast<bool>(id_); }

    /// The device that the addresses led to. Valid for the life of the process.
    [[nodiscard]] context_view context() const noexcept { return native()->verbs; }
    [[nodiscard]] address local_address() const noexcept {
        return address(rdma_get_local_addr(native()));
    }
    [[nodiscard]] address peer_address() const noexcept {
        return address(rdma_get_peer_addr(native()));
    }
    /// What the peer sent with its connect, accept or reject, whichever came last.
    [[nodiscard]] std::span<const std::byte> peer_data() const noexcept { return data_.bytes(); }
    /// Where this id's events come in.
    [[nodiscard]] const cm_channel& events() const noexcept { return channel_; }

    /// Makes the queue pair. EINVAL or ENOMEM: more than the device can do; it may be tried again
    /// with less. EINVAL also if there is one already: destroy_queues() comes before another.
    [[nodiscard]] result<void> create_queues(const queue_config& config) {
        // Its completion queue must not be replaced under it.
        if (qp_) return detail::fail(EINVAL, "rdma_create_qp");
        if (config.domain == nullptr && !domain_) {
            if (auto made = pd::create(context()))
                domain_ = std::move(*made);
            else
                return failure(made.error());
        }
        if (config.send_cq == nullptr) {
            if (auto made = create_own_cq(config); !made) return made;
        }
        ibv_qp_init_attr attr{};
        attr.qp_type = IBV_QPT_RC;
        attr.sq_sig_all = config.signal_all ? 1 : 0;
        lent_send_cq_ = config.send_cq;
        lent_recv_cq_ = config.recv_cq != nullptr ? config.recv_cq : config.send_cq;
        attr.send_cq = send_cq().native();
        attr.recv_cq = recv_cq().native();
        attr.srq = config.shared_receives != nullptr ? config.shared_receives->native() : nullptr;
        attr.cap = {config.max_send_wr, config.max_recv_wr, config.max_send_sge,
                    config.max_recv_sge, config.max_inline};
        ibv_pd* domain = config.domain != nullptr ? config.domain->native() : domain_.native();
        if (rdma_create_qp(native(), domain, &attr) != 0)
            return detail::fail_errno("rdma_create_qp");
        qp_ = softrnic::qp::adopt(native());
        granted_ = attr.cap;
        return {};
    }

    /// Only after create_queues():
    [[nodiscard]] qp_view qp() const noexcept { return qp_; }
    [[nodiscard]] cq& send_cq() noexcept { return lent_send_cq_ ? *lent_send_cq_ : own_cq_; }
    [[nodiscard]] cq& recv_cq() noexcept { return lent_recv_cq_ ? *lent_recv_cq_ : own_cq_; }
    /// The domain that the endpoint made itself, because the caller brought none.
    [[nodiscard]] const softrnic::pd& domain() const noexcept { return domain_; }
    /// What the device gave: at least what was asked for.
    [[nodiscard]] const ibv_qp_cap& granted() const noexcept { return granted_; }

    /// Ends all work and frees the queue pair. Completions that nobody has polled go with it: poll
    /// them before, after qp().to_error() or disconnect(). The destructor does the same.
    void destroy_queues() noexcept { qp_ = softrnic::qp(); }

protected:
    endpoint(cm_channel channel, detail::cm_id id) noexcept
        : channel_(std::move(channel)), id_(std::move(id)) {}

    void set_peer_data(const private_data& data) noexcept { data_ = data; }

private:
    [[nodiscard]] result<void> create_own_cq(const queue_config& config) {
        auto channel = comp_channel::create(context());
        if (!channel) return failure(channel.error());
        std::uint32_t entries = config.max_send_wr + config.max_recv_wr;
        if (config.shared_receives != nullptr) {
            const auto shared = config.shared_receives->query();
            if (!shared) return failure(shared.error());
            entries = config.max_send_wr + shared->max_wr;
        }
        auto queue = cq::create(context(), static_cast<int>(entries > 0 ? entries : 1), &*channel);
        if (!queue) return failure(queue.error());
        // In this order, since the queue of an earlier try needs its channel.
        own_cq_ = std::move(*queue);
        wakeups_ = std::move(*channel);
        return {};
    }

    void swap(endpoint& other) noexcept {
        std::swap(channel_, other.channel_);
        std::swap(id_, other.id_);
        std::swap(domain_, other.domain_);
        std::swap(wakeups_, other.wakeups_);
        std::swap(own_cq_, other.own_cq_);
        std::swap(qp_, other.qp_);
        std::swap(lent_send_cq_, other.lent_send_cq_);
        std::swap(lent_recv_cq_, other.lent_recv_cq_);
        std::swap(granted_, other.granted_);
        std::swap(data_, other.data_);
    }

    // Destroyed from the last to the first: each may use those above it. Assigned one by one they
    // would go the other way round.
    cm_channel channel_;
    detail::cm_id id_;
    softrnic::pd domain_;
    comp_channel wakeups_;
    cq own_cq_;
    softrnic::qp qp_;

    cq* lent_send_cq_ = nullptr;
    cq* lent_recv_cq_ = nullptr;
    ibv_qp_cap granted_{};
    private_data data_;
};

}  // namespace softrnic
