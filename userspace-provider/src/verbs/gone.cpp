// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/gone.hpp"

#include <unistd.h>

#include <cerrno>

#include "ring/shared_word.hpp"
#include "verbs/context.hpp"

namespace softrnic::provider {
namespace {

/// For 10 s or more: the kernel destroys what programs have made, one after the other, and a peer
/// that does not answer holds it up for some seconds.
bool wait_until_gone(const queue_pair& qp) noexcept {
    constexpr int attempts = 10000;
    constexpr useconds_t delay = 1000;
    for (int i = 0; i < attempts; ++i) {
        if (is_gone(qp)) return true;
        ::usleep(delay);
    }
    return false;
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
