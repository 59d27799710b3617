// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Connections, and resolve() and dial(), which make them on the active side; listener.hpp has the
/// passive side.
///
/// The peer may send as soon as it is connected, and on iWARP a message that finds no receive ends
/// the connection. So receives belong between create_queues() and connect() or accept():
///
///   auto c = softrnic::resolve(address);     // the device is known from here on
///   c->create_queues({.max_recv_wr = 16});
///   auto memory = softrnic::buffer::create(c->domain(), 4096, access::local_write);
///   c->qp().recv(memory->all());
///   c->connect();
///
/// dial() is all of it in one call, for an end that receives nothing before it has sent something.
///
/// Thread safety: see endpoint.hpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
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

/// A connection, also while it is being made: resolve() gives one that wants connect(), a listener
/// one that wants accept() or reject(). Destroying it breaks it off, or rejects it; disconnect() is
/// polite.
class connection : public endpoint {
public:
    connection() noexcept = default;
    connection(cm_channel channel, detail::cm_id id, const private_data& data = {}) noexcept
        : endpoint(std::move(channel), std::move(id)) {
        set_peer_data(data);
    }

    /// Connects what resolve() made; create_queues() comes before. peer_data() is then what the
    /// peer said with its accept, or reject. ECONNREFUSED: nobody listens there, or rejected.
    [[nodiscard]] result<void> connect(const connect_options& options = {}) {
        const deadline until(options.timeout);
        result<rdma_conn_param> param = detail::make_conn_param(options);
        if (!param) return failure(param.error());
        if (rdma_connect(native(), &*param) != 0) return detail::fail_errno("rdma_connect");
        return established("rdma_connect", until);
    }

    /// Accepts a request and waits until the connection stands; create_queues() comes before.
    [[nodiscard]] result<void> accept(const connect_options& options = {}) {
        const deadline until(options.timeout);
        result<rdma_conn_param> param = detail::make_conn_param(options);
        if (!param) return failure(param.error());
        if (rdma_accept(native(), &*param) != 0) return detail::fail_errno("rdma_accept");
        const auto event = events().expect(RDMA_CM_EVENT_ESTABLISHED, "rdma_accept", until);
        if (!event) return failure(event.error());
        return {};
    }

    /// Refuses a request, with up to private_data::max_size bytes of why.
    [[nodiscard]] result<void> reject(std::span<const std::byte> why = {}) const noexcept {
        if (why.size() > private_data::max_size)
            return detail::fail(EINVAL, "private data too long");
        return detail::check_errno(
            rdma_reject(native(), why.data(), static_cast<std::uint8_t>(why.size())),
            "rdma_reject");
    }

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

private:
    /// The peer's answer, whose private data is worth keeping also if it is a no.
    [[nodiscard]] result<void> established(const char* operation, deadline until) {
        const result<cm_event> event = events().next(until);
        if (!event) return detail::fail(event.error().code, operation);
        set_peer_data(event->data);
        if (event->type != RDMA_CM_EVENT_ESTABLISHED)
            return detail::fail(event->error_code(), operation);
        return {};
    }
};

namespace detail {

/// Linux (6.1, and later ones) can miss the answer of a neighbour that answers at once, as the one
/// at the other end of a veth pair does. Then it looks again only when the time given to it is
/// over. So it is given little, several times.
[[nodiscard]] inline result<void> resolve_addr(const cm_channel& channel, const cm_id& id,
                                               const address& source, const address& peer,
                                               deadline until) {
    constexpr int attempt_ms = 250;
    for (;;) {
        const int left = until.poll_timeout();
        const int milliseconds = left < 0 ? attempt_ms : std::min(left, attempt_ms);
        if (rdma_resolve_addr(id.native(), source.native(), peer.native(), milliseconds) != 0)
            return fail_errno("rdma_resolve_addr");
        // The event comes in any case, a little after that time.
        const result<cm_event> event =
            channel.next(std::chrono::milliseconds(milliseconds) + default_timeout);
        if (!event) return fail(event.error().code, "rdma_resolve_addr");
        if (event->type == RDMA_CM_EVENT_ADDR_RESOLVED) return {};
        if (event->error_code() != ETIMEDOUT || until.expired())
            return fail(event->error_code(), "rdma_resolve_addr");
    }
}

}  // namespace detail

struct resolve_options {
    /// The local address to come from; its port too, unless 0. Empty: the kernel chooses.
    address source{};
    /// For address and route together.
    std::chrono::milliseconds timeout = default_timeout;
};

/// Finds the device that leads to `peer`. EHOSTUNREACH, ENETUNREACH, ENODEV: none does.
[[nodiscard]] inline result<connection> resolve(const address& peer,
                                                const resolve_options& options = {}) {
    const deadline until(options.timeout);
    auto channel = cm_channel::create();
    if (!channel) return failure(channel.error());
    auto id = detail::cm_id::create(*channel);
    if (!id) return failure(id.error());

    if (auto e = detail::resolve_addr(*channel, *id, options.source, peer, until); !e)
        return failure(e.error());
    // No time at all would be an invalid argument.
    const int left = until.poll_timeout();
    if (left == 0) return detail::fail(ETIMEDOUT, "rdma_resolve_route");
    if (rdma_resolve_route(id->native(), left) != 0)
        return detail::fail_errno("rdma_resolve_route");
    if (auto e = channel->expect(RDMA_CM_EVENT_ROUTE_RESOLVED, "rdma_resolve_route", until); !e)
        return failure(e.error());
    return connection(std::move(*channel), std::move(*id));
}

struct dial_options {
    resolve_options route{};
    queue_config queues{};
    connect_options connect{};
};

/// resolve(), create_queues() and connect() in one.
[[nodiscard]] inline result<connection> dial(const address& peer,
                                             const dial_options& options = {}) {
    result<connection> made = resolve(peer, options.route);
    if (!made) return made;
    if (auto queues = made->create_queues(options.queues); !queues) return failure(queues.error());
    if (auto connected = made->connect(options.connect); !connected)
        return failure(connected.error());
    return made;
}

}  // namespace softrnic
