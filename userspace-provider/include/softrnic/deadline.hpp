// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// A point in time until which a call may wait. Made from a duration (`5s`, counted from now) or
/// deadline::never(); handing one deadline through several calls bounds them together.
#pragma once

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <climits>

#include "softrnic/result.hpp"

namespace softrnic {

class deadline {
public:
    using clock = std::chrono::steady_clock;

    /// `wait` from now; 0 or less means "look once, do not wait", over a century the same as
    /// never().
    template <class Rep, class Period>
    // NOLINTNEXTLINE(google-explicit-constructor): a duration is how people say a deadline
    deadline(std::chrono::duration<Rep, Period> wait) : at_(after(wait)) {}
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr deadline(clock::time_point at) noexcept : at_(at) {}

    [[nodiscard]] static constexpr deadline never() noexcept { return clock::time_point::max(); }

    [[nodiscard]] bool is_never() const noexcept { return at_ == clock::time_point::max(); }
    [[nodiscard]] bool expired() const noexcept { return !is_never() && clock::now() >= at_; }

    /// What is left, in the form that poll(2) wants: milliseconds rounded up, -1 for never.
    [[nodiscard]] int poll_timeout() const noexcept {
        if (is_never()) return -1;
        const clock::time_point now = clock::now();
        if (at_ <= now) return 0;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - now).count();
        return static_cast<int>(std::min<long long>(left, INT_MAX));
    }

private:
    /// Far from what the clock cannot say, which is nearly three centuries.
    static constexpr std::chrono::hours century{24 * 365 * 100};

    template <class Rep, class Period>
    [[nodiscard]] static clock::time_point after(std::chrono::duration<Rep, Period> wait) {
        // In floating point, since hours and nanoseconds have no integer in common that could not
        // overflow.
        const std::chrono::duration<double> seconds = wait;
        if (seconds > century) return clock::time_point::max();
        const clock::time_point now = clock::now();
        if (!(seconds > seconds.zero())) return now;
        return now + std::chrono::duration_cast<clock::duration>(wait);
    }

    clock::time_point at_;
};

namespace detail {

/// Waits until `fd` can be read. False: the deadline passed. Signals do not shorten the wait.
[[nodiscard]] inline result<bool> wait_readable(int fd, deadline until) noexcept {
    for (;;) {
        pollfd entry{fd, POLLIN, 0};
        const int ready = ::poll(&entry, 1, until.poll_timeout());
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return fail_errno("poll");
        if (ready == 0 && until.expired()) return false;
    }
}

/// What made `fd` readable may be gone before it is read: to another reader, or with the object
/// that it was about. Then reading must not block past a deadline.
[[nodiscard]] inline result<void> set_nonblocking(int fd) noexcept {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0) return fail_errno("fcntl");
    if ((flags & O_NONBLOCK) == 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return fail_errno("fcntl");
    return {};
}

/// While it lives, reading `fd` does not block, for whoever reads. Its flags are then as before.
class briefly_nonblocking {
public:
    explicit briefly_nonblocking(int fd) noexcept : fd_(fd), flags_(::fcntl(fd, F_GETFL)) {
        if (blocks()) ::fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK);
    }
    ~briefly_nonblocking() {
        if (blocks()) ::fcntl(fd_, F_SETFL, flags_);
    }
    briefly_nonblocking(const briefly_nonblocking&) = delete;
    briefly_nonblocking& operator=(const briefly_nonblocking&) = delete;

private:
    /// Without flags the descriptor is bad, and reading fails anyway.
    [[nodiscard]] bool blocks() const noexcept { return flags_ >= 0 && !(flags_ & O_NONBLOCK); }

    int fd_;
    int flags_;
};

}  // namespace detail
}  // namespace softrnic
