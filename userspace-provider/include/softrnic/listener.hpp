// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The passive side: listen() and the requests that come in.
///
///   auto l = softrnic::listen(address);
///   auto request = l->next(60s);
///   request->create_queues({});
///   request->accept();
///
/// Thread safety: next() by one thread at a time; requests are independent of the listener and of
/// each other and may be answered in threads of their own.
#pragma once

#include <utility>

#include "softrnic/connection.hpp"

namespace softrnic {

class listener {
public:
    listener() noexcept = default;

    listener(listener&& other) noexcept = default;
    /// The listener that this was before ends at once.
    listener& operator=(listener&& other) noexcept {
        listener taken(std::move(other));
        std::swap(channel_, taken.channel_);
        std::swap(id_, taken.id_);
        return *this;
    }
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    ~listener() = default;

    [[nodiscard]] rdma_cm_id* native() const noexcept { return id_.native(); }
    explicit operator bool() const noexcept { return static_cast<bool>(id_); }

    /// Where it listens; tells the port that the kernel chose if none was given.
    [[nodiscard]] address local_address() const noexcept {
        return address(rdma_get_local_addr(native()));
    }
    /// The device, if the address names one; empty when listening on every address.
    [[nodiscard]] context_view context() const noexcept { return native()->verbs; }
    /// Readable when a request waits; for epoll.
    [[nodiscard]] int fd() const noexcept { return channel_.fd(); }

    /// The next request, to be accepted or rejected; or ETIMEDOUT. ENODEV: the device that it
    /// listened on goes away.
    [[nodiscard]] result<connection> next(deadline until) const {
        for (;;) {
            const result<cm_event> event = channel_.next(until);
            if (!event) return failure(event.error());
            if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
                return detail::fail(ENODEV, "rdma_get_cm_event");
            if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST) return adopt(*event);
        }
    }

private:
    friend result<listener> listen(const address& where, int backlog);

    listener(cm_channel channel, detail::cm_id id) noexcept
        : channel_(std::move(channel)), id_(std::move(id)) {}

    [[nodiscard]] static result<listener> bind_and_listen(const address& where, int backlog) {
        auto channel = cm_channel::create();
        if (!channel) return failure(channel.error());
        auto id = detail::cm_id::create(*channel);
        if (!id) return failure(id.error());
        if (rdma_bind_addr(id->native(), where.native()) != 0)
            return detail::fail_errno("rdma_bind_addr");
        if (rdma_listen(id->native(), backlog) != 0) return detail::fail_errno("rdma_listen");
        return listener(std::move(*channel), std::move(*id));
    }

    /// Gives the request a channel of its own, so that its events do not mix with the listener's.
    [[nodiscard]] static result<connection> adopt(const cm_event& event) {
        detail::cm_id id(event.id);
        auto channel = cm_channel::create();
        if (!channel) return failure(channel.error());
        if (rdma_migrate_id(id.native(), channel->native()) != 0)
            return detail::fail_errno("rdma_migrate_id");
        return connection(std::move(*channel), std::move(id), event.data);
    }

    // Destroyed from the last to the first: the id needs the channel. Assigned one by one they
    // would go the other way round.
    cm_channel channel_;
    detail::cm_id id_;
};

/// Listens on an address; port 0 lets the kernel choose, and an address such as that of
/// `address::resolve("::", 7471)` means all of them. `backlog`: requests that may wait for next().
/// EADDRINUSE: taken; EADDRNOTAVAIL or ENODEV: no RDMA device has that address.
[[nodiscard]] inline result<listener> listen(const address& where, int backlog = 16) {
    // rdma_cm chooses a port without asking TCP, which may have it already.
    constexpr int attempts = 16;
    auto made = listener::bind_and_listen(where, backlog);
    for (int i = 1; i < attempts && where.port() == 0 && !made; ++i) {
        if (made.error().code != EADDRINUSE) break;
        made = listener::bind_and_listen(where, backlog);
    }
    return made;
}

}  // namespace softrnic
