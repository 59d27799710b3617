// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// rdma_cm events: the owner of an event channel, and events as plain values. Programs that use
/// dial() and listen() meet these only when they wait for connections in an event loop of their
/// own.
///
/// Thread safety: one thread at a time reads a channel.
#pragma once

#include <rdma/rdma_cma.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "softrnic/deadline.hpp"
#include "softrnic/handle.hpp"

namespace softrnic {

/// Bytes that travel with connect, accept and reject: up to 255, which is what rdma_cm can say.
class private_data {
public:
    static constexpr std::size_t max_size = 255;

    constexpr private_data() noexcept = default;
    /// Copies; what is over max_size is dropped.
    explicit private_data(std::span<const std::byte> bytes) noexcept
        : size_(static_cast<std::uint8_t>(std::min(bytes.size(), max_size))) {
        std::copy_n(bytes.begin(), size_, bytes_.begin());
    }

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return {bytes_.data(), size_};
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    std::array<std::byte, max_size> bytes_{};
    std::uint8_t size_ = 0;
};

/// One event, copied and acknowledged.
struct cm_event {
    rdma_cm_event_type type{};
    /// 0, a negative errno, or a transport's own reason code for a rejection.
    int status = 0;
    rdma_cm_id* id = nullptr;
    /// What came with it. InfiniBand and RoCE pad it with zeros to a fixed size.
    private_data data;
    /// RDMA reads that the peer wants to have outstanding here / serves there at most.
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;

    /// The errno that a failure event stands for.
    [[nodiscard]] int error_code() const noexcept {
        if (type == RDMA_CM_EVENT_REJECTED) return ECONNREFUSED;
        if (status < 0) return -status;
        switch (type) {
            case RDMA_CM_EVENT_DISCONNECTED: return ECONNRESET;
            case RDMA_CM_EVENT_UNREACHABLE: return EHOSTUNREACH;
            case RDMA_CM_EVENT_DEVICE_REMOVAL: return ENODEV;
            case RDMA_CM_EVENT_CONNECT_ERROR: return ECONNABORTED;
            case RDMA_CM_EVENT_ADDR_ERROR:
            case RDMA_CM_EVENT_ROUTE_ERROR: return EADDRNOTAVAIL;
            default: return EPROTO;
        }
    }
};

namespace detail {

inline int destroy_event_channel(rdma_event_channel* channel) noexcept {
    rdma_destroy_event_channel(channel);
    return 0;
}

}  // namespace detail

class cm_channel : public handle<rdma_event_channel, &detail::destroy_event_channel> {
public:
    constexpr cm_channel() noexcept = default;

    [[nodiscard]] static result<cm_channel> create() noexcept {
        cm_channel made(rdma_create_event_channel());
        if (!made) return detail::fail_errno("rdma_create_event_channel");
        if (const auto set = detail::set_nonblocking(made.fd()); !set) return failure(set.error());
        return made;
    }

    /// Readable when an event waits; for epoll.
    [[nodiscard]] int fd() const noexcept { return native()->fd; }

    /// The next event, or ETIMEDOUT. A connect request brings a new id that the caller must own.
    [[nodiscard]] result<cm_event> next(deadline until) const noexcept {
        rdma_cm_event* raw = nullptr;
        for (;;) {
            const result<bool> ready = detail::wait_readable(fd(), until);
            if (!ready) return failure(ready.error());
            if (!*ready) return detail::fail(ETIMEDOUT, "rdma_get_cm_event");
            if (rdma_get_cm_event(native(), &raw) == 0) break;
            if (errno != EAGAIN && errno != EINTR) return detail::fail_errno("rdma_get_cm_event");
        }
        cm_event event;
        event.type = raw->event;
        event.status = raw->status;
        event.id = raw->id;
        if (raw->param.conn.private_data != nullptr)
            event.data = private_data({static_cast<const std::byte*>(raw->param.conn.private_data),
                                       raw->param.conn.private_data_len});
        event.responder_resources = raw->param.conn.responder_resources;
        event.initiator_depth = raw->param.conn.initiator_depth;
        rdma_ack_cm_event(raw);
        return event;
    }

    /// Waits for an event of this type; any other is an error of `operation`, with its errno.
    [[nodiscard]] result<cm_event> expect(rdma_cm_event_type type, const char* operation,
                                          deadline until) const noexcept {
        result<cm_event> event = next(until);
        if (!event) return detail::fail(event.error().code, operation);
        if (event->type != type) return detail::fail(event->error_code(), operation);
        return event;
    }

private:
    explicit cm_channel(rdma_event_channel* native) noexcept : handle(native) {}
};

}  // namespace softrnic
