// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// An opened RDMA device: context_view (does not own it; what a connection gives you) and context
/// (opened here, closed by the destructor). rdma_cm opens every device once for the whole process,
/// so a program that connects through it seldom needs to open one itself.
///
/// Thread safety: all functions may be called from several threads.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <chrono>
#include <mutex>
#include <string_view>
#include <vector>

#include "softrnic/deadline.hpp"
#include "softrnic/flags.hpp"
#include "softrnic/handle.hpp"

namespace softrnic {

/// What carries the traffic; error semantics differ between the two.
enum class transport {
    infiniband,  ///< InfiniBand and RoCE (rdma_rxe is RoCE)
    iwarp,       ///< softrnic, siw, iWARP adapters
    other,
};

namespace detail {

/// Held while the flags of an async_fd are not what its owner has set. Of all devices, since nobody
/// waits while holding it.
inline std::mutex async_event_turn;

}  // namespace detail

class context_view {
public:
    constexpr context_view() noexcept = default;
    // NOLINTNEXTLINE(google-explicit-constructor): a view costs nothing and owns nothing
    constexpr context_view(ibv_context* native) noexcept : native_(native) {}

    [[nodiscard]] constexpr ibv_context* native() const noexcept { return native_; }
    constexpr explicit operator bool() const noexcept { return native_ != nullptr; }

    /// The device's name, as `rdma link` shows it. Valid while the device is open.
    [[nodiscard]] std::string_view name() const noexcept {
        return ibv_get_device_name(native_->device);
    }

    [[nodiscard]] softrnic::transport transport() const noexcept {
        switch (native_->device->transport_type) {
            case IBV_TRANSPORT_IB: return transport::infiniband;
            case IBV_TRANSPORT_IWARP: return transport::iwarp;
            default: return transport::other;
        }
    }

    /// Limits and capabilities.
    [[nodiscard]] result<ibv_device_attr> query() const noexcept {
        ibv_device_attr attr{};
        if (const int rc = ibv_query_device(native_, &attr))
            return detail::fail(rc, "ibv_query_device");
        return attr;
    }

    /// State of a port; ports count from 1, and software devices have only that one.
    [[nodiscard]] result<ibv_port_attr> query_port(std::uint8_t port = 1) const noexcept {
        ibv_port_attr attr{};
        if (const int rc = ibv_query_port(native_, port, &attr))
            return detail::fail(rc, "ibv_query_port");
        return attr;
    }

    /// The next asynchronous event (QP error, CQ overflow, SRQ limit, device gone), already
    /// acknowledged: the object that it names may be destroyed by another thread at any moment, so
    /// use it to compare, not to dereference, unless you know better. ETIMEDOUT at the deadline.
    /// Several threads may wait; one of them gets the event. The device may be lent, so the flags
    /// of its async_fd stay as they are but for the moment of reading: if other code reads events
    /// of this device at the same time, ibv_get_async_event() may tell it EAGAIN then.
    [[nodiscard]] result<ibv_async_event> wait_async_event(deadline until) const noexcept {
        for (;;) {
            const result<bool> ready = detail::wait_readable(native_->async_fd, until);
            if (!ready) return failure(ready.error());
            if (!*ready) return detail::fail(ETIMEDOUT, "ibv_get_async_event");
            // All that wait are woken for one event, and an event goes with its object. Who reads
            // when it is gone would block.
            const std::lock_guard turn(detail::async_event_turn);
            const detail::briefly_nonblocking reading(native_->async_fd);
            ibv_async_event event{};
            if (ibv_get_async_event(native_, &event) == 0) {
                ibv_ack_async_event(&event);
                return event;
            }
            if (errno != EAGAIN && errno != EINTR) return detail::fail_errno("ibv_get_async_event");
        }
    }

private:
    ibv_context* native_ = nullptr;
};

/// The rights that the sink of an RDMA Read must have on this device. On iWARP the Read Response
/// comes in by the sink's STag, and some devices (siw, several adapters) want remote_write on it.
/// softrnic does not, but the flag does no harm there that the peer, who never learns the key,
/// could use.
[[nodiscard]] inline access read_sink_access(context_view device) noexcept {
    return device.transport() == transport::iwarp ? access::local_write | access::remote_write
                                                  : access::local_write;
}

/// A device opened by this program.
class context : public handle<ibv_context, &ibv_close_device> {
public:
    constexpr context() noexcept = default;

    /// Takes over a context that ibv_open_device made.
    [[nodiscard]] static context adopt(ibv_context* native) noexcept { return context(native); }

    /// Opens the device of that name. ENODEV: there is none.
    [[nodiscard]] static result<context> open(std::string_view name) {
        int count = 0;
        ibv_device** list = ibv_get_device_list(&count);
        if (list == nullptr) return detail::fail_errno("ibv_get_device_list");
        result<context> opened = detail::fail(ENODEV, "ibv_open_device");
        for (int i = 0; i < count; ++i) {
            if (name != ibv_get_device_name(list[i])) continue;
            ibv_context* native = ibv_open_device(list[i]);
            opened = native ? result<context>(context(native))
                            : result<context>(detail::fail_errno("ibv_open_device"));
            break;
        }
        ibv_free_device_list(list);
        return opened;
    }

    [[nodiscard]] context_view view() const noexcept { return native(); }
    // NOLINTNEXTLINE(google-explicit-constructor)
    operator context_view() const noexcept { return native(); }

private:
    explicit context(ibv_context* native) noexcept : handle(native) {}
};

/// The devices as rdma_cm has opened them: objects made on these can be used with its connections.
/// The contexts stay open for the life of the process.
[[nodiscard]] inline result<std::vector<context_view>> rdma_cm_devices() {
    int count = 0;
    ibv_context** list = rdma_get_devices(&count);
    if (list == nullptr) return detail::fail_errno("rdma_get_devices");
    std::vector<context_view> devices(list, list + count);
    rdma_free_devices(list);
    return devices;
}

}  // namespace softrnic
