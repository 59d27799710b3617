// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Connecting: resolve() or dial() on one side, and what listener.hpp hands out on the other.
///
///   auto c = softrnic::dial(address, {.queues = {.max_send_wr = 16}});
///   if (!c) return complain(c.error());
///   c->qp().send_inline(bytes);
///
/// The peer may send as soon as it is connected, and on iWARP a message that finds no receive ends
/// the connection. So post receives before connect() or accept(): through outgoing and incoming, or
/// in the function given to dial().
///
/// Thread safety: see endpoint.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "softrnic/endpoint.hpp"

namespace softrnic {

inline constexpr std::chrono::milliseconds default_timeout{10'000};

/// What is said when a connection is made, by connect() and by accept().
struct connect_options {
    /// Bytes for the peer, at most private_data::max_size (EINVAL); devices may take fewer.
    std::span<const std::byte> private_data{};
    /// RDMA reads that this end may have outstanding / serves; the highest value means
    /// "as many as the device can", and both ends settle on what both can do.
    std::uint8_t initiator_depth = 255;
    std::uint8_t responder_resources = 255;
    /// For the whole step; ETIMEDOUT after it.
    std::chrono::milliseconds timeout = default_timeout;
};

namespace detail {

/// connect_options in the form that rdma_cm takes.
[[nodiscard]] inline result<rdma_conn_param> make_conn_param(const connect_options& options) {
    if (options.private_data.size() > private_data::max_size)
        return fail(EINVAL, "private data too long");
    rdma_conn_param param{};
    param.private_data = options.private_data.data();
    param.private_data_len = static_cast<std::uint8_t>(options.private_data.size());
    param.initiator_depth = options.initiator_depth;
    param.responder_resources = options.responder_resources;
    param.retry_count = 7;      // InfiniBand only; 7 is the most, and for rnr "for ever"
    param.rnr_retry_count = 7;  // InfiniBand only
    return param;
}

}  // namespace detail

/// An established connection. Destroying it breaks it off; disconnect() does so politely.
class connection : public endpoint {
public:
    connection() noexcept = default;
    connection(endpoint&& made) noexcept : endpoint(std::move(made)) {}  // NOLINT

    /// Tells the peer that it is over. Both ends' outstanding work is flushed; a DISCONNECTED event
    /// follows on both, which wait_disconnected() takes.
    [[nodiscard]] result<void> disconnect() const noexcept {
        return detail::check_errno(rdma_disconnect(native()), "rdma_disconnect");
    }

    /// Waits until the connection has ended, whoever ended it. ETIMEDOUT: it lives. ENODEV: it
    /// ended because the device goes away, and the connection must be destroyed soon.
    [[nodiscard]] result<void> wait_disconnected(deadline until) const noexcept {
        for (;;) {
            const result<cm_event> event = events().next(until);
            if (!event) return failure(event.error());
            if (event->type == RDMA_CM_EVENT_DISCONNECTED) return {};
            if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
                return detail::fail(ENODEV, "rdma_get_cm_event");
        }
    }
};

/// The active side, once the route to the peer and with it the device are known.
class outgoing : public endpoint {
public:
    outgoing() noexcept = default;
    outgoing(cm_channel channel, detail::cm_id id) noexcept
        : endpoint(std::move(channel), std::move(id)) {}

    /// Connects and hands everything over to the connection. create_queues() comes before.
    /// ECONNREFUSED: nobody listens, or rejected, and peer_data() here says what came along.
    [[nodiscard]] result<connection> connect(const connect_options& options = {}) {
        const deadline until(options.timeout);
        result<rdma_conn_param> param = detail::make_conn_param(options);
        if (!param) return failure(param.error());
        if (rdma_connect(native(), &*param) != 0) return detail::fail_errno("rdma_connect");
        const result<cm_event> event = events().next(until);
        if (!event) return detail::fail(event.error().code, "rdma_connect");
        set_peer_data(event->data);
        if (event->type != RDMA_CM_EVENT_ESTABLISHED)
            return detail::fail(event->error_code(), "rdma_connect");
        return connection(std::move(*this));
    }
};

/// The passive side: a request that waits for its answer. Destroying it rejects.
class incoming : public endpoint {
public:
    incoming() noexcept = default;
    incoming(cm_channel channel, detail::cm_id id, const private_data& data) noexcept
        : endpoint(std::move(channel), std::move(id)) {
        set_peer_data(data);
    }

    /// Accepts, waits until the connection stands, and hands everything over to it.
    /// create_queues() comes before.
    [[nodiscard]] result<connection> accept(const connect_options& options = {}) {
        const deadline until(options.timeout);
        result<rdma_conn_param> param = detail::make_conn_param(options);
        if (!param) return failure(param.error());
        if (rdma_accept(native(), &*param) != 0) return detail::fail_errno("rdma_accept");
        const auto event = events().expect(RDMA_CM_EVENT_ESTABLISHED, "rdma_accept", until);
        if (!event) return failure(event.error());
        return connection(std::move(*this));
    }

    /// Says no, with up to private_data::max_size bytes of why. The request is of no more use then.
    [[nodiscard]] result<void> reject(std::span<const std::byte> why = {}) const noexcept {
        if (why.size() > private_data::max_size)
            return detail::fail(EINVAL, "private data too long");
        return detail::check_errno(
            rdma_reject(native(), why.data(), static_cast<std::uint8_t>(why.size())),
            "rdma_reject");
    }
};

struct resolve_options {
    /// The local address to come from; its port too, unless 0. Empty: the kernel chooses.
    address source{};
    /// For address and route together.
    std::chrono::milliseconds timeout = default_timeout;
};

/// Finds the device that leads to `peer`. EHOSTUNREACH, ENETUNREACH, ENODEV: none does.
[[nodiscard]] inline result<outgoing> resolve(const address& peer,
                                              const resolve_options& options = {}) {
    const deadline until(options.timeout);
    const int milliseconds = until.poll_timeout();
    auto channel = cm_channel::create();
    if (!channel) return failure(channel.error());
    auto id = detail::cm_id::create(*channel);
    if (!id) return failure(id.error());

    if (rdma_resolve_addr(id->native(), options.source.native(), peer.native(), milliseconds) != 0)
        return detail::fail_errno("rdma_resolve_addr");
    if (auto e = channel->expect(RDMA_CM_EVENT_ADDR_RESOLVED, "rdma_resolve_addr", until); !e)
        return failure(e.error());
    if (rdma_resolve_route(id->native(), milliseconds) != 0)
        return detail::fail_errno("rdma_resolve_route");
    if (auto e = channel->expect(RDMA_CM_EVENT_ROUTE_RESOLVED, "rdma_resolve_route", until); !e)
        return failure(e.error());
    return outgoing(std::move(*channel), std::move(*id));
}

struct dial_options {
    resolve_options route{};
    queue_config queues{};
    connect_options connect{};
};

/// Resolves, makes queues, calls `prepare(endpoint&)` to register memory and post receives,
/// connects. prepare returns result<void>; its failure is dial's.
template <class Prepare>
requires std::is_invocable_r_v<result<void>, Prepare&, endpoint&> [[nodiscard]] result<connection>
dial(const address& peer, const dial_options& options, Prepare prepare) {
    result<outgoing> out = resolve(peer, options.route);
    if (!out) return failure(out.error());
    if (auto made = out->create_queues(options.queues); !made) return failure(made.error());
    if (result<void> ready = prepare(*out); !ready) return failure(ready.error());
    return out->connect(options.connect);
}

/// The same without preparation, for an end that receives nothing before it has sent something.
[[nodiscard]] inline result<connection> dial(const address& peer,
                                             const dial_options& options = {}) {
    return dial(peer, options, [](endpoint&) -> result<void> { return {}; });
}

}  // namespace softrnic
