// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/gone.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "ring/shared_word.hpp"
#include "verbs/context.hpp"

namespace softrnic::provider {
namespace {

/// The kernel destroys the queue pairs of all programs one after the other, and a peer that takes
/// no data holds it up for 2 s.
constexpr time_t patience_in_seconds = 300;

time_t now_in_seconds() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

bool wait_until_gone(const queue_pair& qp) noexcept {
    const timespec delay{.tv_sec = 0, .tv_nsec = 1000000};
    const time_t until = now_in_seconds() + patience_in_seconds;
    while (!is_gone(qp)) {
        if (now_in_seconds() > until) return false;
        // Not by the function nanosleep(): that is a place where a thread may be cancelled.
        ::syscall(SYS_nanosleep, &delay, nullptr);
    }
    return true;
}

}  // namespace

bool is_gone(const queue_pair& qp) noexcept {
    // Acquire: what the kernel has written before is seen.
    return load_acquire(qp.sq.state) == SRN_QP_GONE;
}

int error_of_posted(const queue_pair& qp, int error, const producer_ring& ring,
                    std::uint32_t end) noexcept {
    // The core says so to whoever has an object of a device that has gone.
    if (error != EIO) return error;
    if ((context_of(qp.qp.context)->features & SRN_FEATURE_QP_GONE) == 0) return error;
    return wait_until_gone(qp) && ring.consumed(end) ? 0 : error;
}

}  // namespace softrnic::provider
