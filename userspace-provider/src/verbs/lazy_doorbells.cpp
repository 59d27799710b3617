// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/lazy_doorbells.hpp"

#include <mutex>

#include "verbs/doorbell.hpp"
#include "verbs/qp.hpp"

namespace softrnic::provider {

namespace {

/// A queue pair that the process has turned away from is rung for if it has so many requests.
constexpr std::uint32_t worth_a_call = 32;

}  // namespace

bool lazy_doorbells::add(queue_pair& qp) noexcept {
    lazy_doorbell& place = qp.sq.lazy;
    // Published work is ordered before this by a full fence: who takes the QP off the list in
    // between sees it.
    const bool listed = place.listed.load(std::memory_order_relaxed);
    if (listed && posted_last_.load(std::memory_order_relaxed) == &qp) return true;
    if (!lock_.try_lock()) return listed;
    const std::lock_guard guard(lock_, std::adopt_lock);
    if (!place.listed.load(std::memory_order_relaxed)) {
        place.listed.store(true, std::memory_order_relaxed);
        place.next = first_.load(std::memory_order_relaxed);
        first_.store(&qp, std::memory_order_relaxed);
    }
    queue_pair* const other = posted_last_.exchange(&qp, std::memory_order_relaxed);
    if (other != nullptr && other != &qp && other->sq.ring.unseen() >= worth_a_call)
        (void)ring(other->qp, doorbell::send);
    return true;
}

bool lazy_doorbells::ring_listed() noexcept {
    if (!lock_.try_lock()) return false;
    const std::lock_guard guard(lock_, std::adopt_lock);
    bool rung = false;
    queue_pair* qp = first_.exchange(nullptr, std::memory_order_relaxed);
    while (qp != nullptr) {
        queue_pair* const next = qp->sq.lazy.next;
        qp->sq.lazy.listed.store(false, std::memory_order_relaxed);
        full_fence();
        // If it fails the kernel looks by itself.
        if (qp->sq.ring.unseen() != 0) rung |= ring(qp->qp, doorbell::send) == 0;
        qp = next;
    }
    return rung;
}

void lazy_doorbells::remove(queue_pair& qp) noexcept {
    const std::lock_guard guard(lock_);
    if (posted_last_.load(std::memory_order_relaxed) == &qp)
        posted_last_.store(nullptr, std::memory_order_relaxed);
    if (!qp.sq.lazy.listed.load(std::memory_order_relaxed)) return;
    queue_pair* before = nullptr;
    queue_pair* at = first_.load(std::memory_order_relaxed);
    for (; at != &qp; at = at->sq.lazy.next) before = at;
    if (before == nullptr) {
        first_.store(qp.sq.lazy.next, std::memory_order_relaxed);
    } else {
        before->sq.lazy.next = qp.sq.lazy.next;
    }
    qp.sq.lazy.listed.store(false, std::memory_order_relaxed);
}

}  // namespace softrnic::provider
