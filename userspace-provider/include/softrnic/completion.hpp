// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Completion queues and the channels that wake a thread for them.
///
/// An empty queue is not an error: poll() then returns an empty span. wait() sleeps on the channel
/// and closes the well-known race (a completion that comes between the last poll and arming) by
/// polling once more after arming.
///
/// Thread safety: poll() may be called from several threads. wait() and arm() of one queue: one
/// thread at a time. A channel that several queues share is waited for with comp_channel::wait(),
/// by one thread.
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "softrnic/context.hpp"
#include "softrnic/deadline.hpp"
#include "softrnic/handle.hpp"

namespace softrnic {

/// The four bytes that came with a message, or nothing if it had none.
[[nodiscard]] inline std::optional<std::uint32_t> immediate_of(const ibv_wc& wc) noexcept {
    if ((wc.wc_flags & IBV_WC_WITH_IMM) == 0) return std::nullopt;
    return ntohl(wc.imm_data);
}

/// Delivers "this queue has something" events. Its fd() can go into epoll.
class comp_channel : public handle<ibv_comp_channel, &ibv_destroy_comp_channel> {
public:
    constexpr comp_channel() noexcept = default;

    [[nodiscard]] static comp_channel adopt(ibv_comp_channel* native) noexcept {
        return comp_channel(native);
    }

    [[nodiscard]] static result<comp_channel> create(context_view device) noexcept {
        comp_channel made(ibv_create_comp_channel(device.native()));
        if (!made) return detail::fail_errno("ibv_create_comp_channel");
        if (const auto set = detail::set_nonblocking(made.fd()); !set) return failure(set.error());
        return made;
    }

    [[nodiscard]] int fd() const noexcept { return native()->fd; }

    /// The next queue that has an event, which is acknowledged already; nullptr at the deadline.
    [[nodiscard]] result<ibv_cq*> wait(deadline until) const noexcept {
        for (;;) {
            const result<bool> ready = detail::wait_readable(fd(), until);
            if (!ready) return failure(ready.error());
            if (!*ready) return nullptr;
            ibv_cq* queue = nullptr;
            void* user = nullptr;
            if (ibv_get_cq_event(native(), &queue, &user) == 0) {
                ibv_ack_cq_events(queue, 1);
                return queue;
            }
            if (errno != EAGAIN && errno != EINTR) return detail::fail_errno("ibv_get_cq_event");
        }
    }

private:
    explicit comp_channel(ibv_comp_channel* native) noexcept : handle(native) {}
};

/// Which completions raise an event on the channel.
enum class notify {
    any,
    solicited,  ///< receives of messages sent as solicited, and errors
};

class cq : public handle<ibv_cq, &ibv_destroy_cq> {
public:
    constexpr cq() noexcept = default;

    [[nodiscard]] static cq adopt(ibv_cq* native) noexcept { return cq(native); }

    /// Room for at least `entries` completions. EINVAL: none, or more than the device's max_cqe.
    /// Without a channel wait() and arm() do not work; the channel must outlive the queue.
    [[nodiscard]] static result<cq> create(context_view device, int entries,
                                           const comp_channel* channel = nullptr,
                                           int vector = 0) noexcept {
        ibv_cq* native = ibv_create_cq(device.native(), entries, nullptr,
                                       channel != nullptr ? channel->native() : nullptr, vector);
        if (native == nullptr) return detail::fail_errno("ibv_create_cq");
        return cq(native);
    }

    /// Room for at least `entries` completions from now on; what waits in the queue stays. Other
    /// threads may poll meanwhile. EINVAL: none, more than the device's max_cqe, or fewer than
    /// wait.
    [[nodiscard]] result<void> resize(int entries) noexcept {
        if (const int error = ibv_resize_cq(native(), entries))
            return detail::fail(error, "ibv_resize_cq");
        return {};
    }

    /// Takes up to room.size() completions; the span returned is the filled front of `room`.
    [[nodiscard]] result<std::span<ibv_wc>> poll(std::span<ibv_wc> room) const noexcept {
        const int n = ibv_poll_cq(native(), static_cast<int>(room.size()), room.data());
        if (n < 0) return detail::fail(n == -1 ? EIO : -n, "ibv_poll_cq");
        return room.first(static_cast<std::size_t>(n));
    }

    /// As poll(), but sleeps until there is at least one or the deadline passes: then empty.
    /// The queue must be the only one on its channel.
    [[nodiscard]] result<std::span<ibv_wc>> wait(std::span<ibv_wc> room, deadline until,
                                                 notify which = notify::any) noexcept {
        for (;;) {
            result<std::span<ibv_wc>> got = poll(room);
            if (!got || !got->empty()) return got;
            if (!covers(armed_, which)) {
                if (const auto armed = arm(which); !armed) return failure(armed.error());
                continue;  // look again: something may have come before the queue was armed
            }
            const result<bool> event = consume_event(until);
            if (!event) return failure(event.error());
            if (!*event) return room.first(0);
        }
    }

    /// One completion, or ETIMEDOUT.
    [[nodiscard]] result<ibv_wc> wait_one(deadline until) noexcept {
        ibv_wc entry{};
        const result<std::span<ibv_wc>> got = wait(std::span(&entry, 1), until);
        if (!got) return failure(got.error());
        if (got->empty()) return detail::fail(ETIMEDOUT, "ibv_poll_cq");
        return entry;
    }

    /// As wait_one(), but spins instead of sleeping: lowest latency, needs no channel.
    [[nodiscard]] result<ibv_wc> spin_one(deadline until) const noexcept {
        ibv_wc entry{};
        for (unsigned turn = 1;; ++turn) {
            const result<std::span<ibv_wc>> got = poll(std::span(&entry, 1));
            if (!got) return failure(got.error());
            if (!got->empty()) return entry;
            // Reading the clock costs more than polling, so do it now and then.
            if (turn % 256 == 0 && until.expired()) return detail::fail(ETIMEDOUT, "ibv_poll_cq");
        }
    }

    /// Asks for one event at the next completion of that kind. For event loops of your own: arm,
    /// poll until empty, wait for comp_channel::fd(), comp_channel::wait(), disarmed(), and again.
    [[nodiscard]] result<void> arm(notify which = notify::any) noexcept {
        const int rc = ibv_req_notify_cq(native(), which == notify::solicited ? 1 : 0);
        if (rc != 0) return detail::fail(rc, "ibv_req_notify_cq");
        armed_ = which == notify::any ? state::any : state::solicited;
        return {};
    }

    /// Tells this object that an event of it was taken from the channel by someone else.
    void disarmed() noexcept { armed_ = state::no; }

private:
    // What was asked for and not yet taken from the channel. Never arming twice keeps the number of
    // unread events at one, however long a busy program goes without sleeping.
    enum class state { no, solicited, any };

    explicit cq(ibv_cq* native) noexcept : handle(native) {}

    [[nodiscard]] static bool covers(state armed, notify which) noexcept {
        return armed == state::any || (armed == state::solicited && which == notify::solicited);
    }

    [[nodiscard]] result<bool> consume_event(deadline until) noexcept {
        ibv_comp_channel* channel = native()->channel;
        result<bool> ready = detail::wait_readable(channel->fd, until);
        if (!ready || !*ready) return ready;
        ibv_cq* queue = nullptr;
        void* user = nullptr;
        if (ibv_get_cq_event(channel, &queue, &user) != 0)
            return errno == EAGAIN ? result<bool>(true) : detail::fail_errno("ibv_get_cq_event");
        ibv_ack_cq_events(queue, 1);
        armed_ = state::no;
        return true;
    }

    state armed_ = state::no;
};

[[nodiscard]] constexpr bool ok(const ibv_wc& completion) noexcept {
    return completion.status == IBV_WC_SUCCESS;
}

/// "transport retry counter exceeded" and the like.
[[nodiscard]] inline std::string_view status_text(const ibv_wc& completion) noexcept {
    return ibv_wc_status_str(completion.status);
}

}  // namespace softrnic
