// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/lazy_doorbells.hpp"

#include <mutex>

#include "verbs/doorbell.hpp"
#include "verbs/qp.hpp"

namespace softrnic::provider {

bool lazy_doorbells::add(queue_pair& qp) noexcept {
    lazy_doorbell& place = qp.sq.lazy;
    // Published work is ordered before this by a full fence: who takes the QP off the list in
    // between sees it.
    if (place.listed.load(std::memory_order_relaxed)) return true;
    if (!lock_.try_lock()) return false;
    const std::lock_guard guard(lock_, std::adopt_lock);
    if (place.listed.load(std::memory_order_relaxed)) return true;
    place.listed.store(true, std::memory_order_relaxed);
    place.next = first_.load(std::memory_order_relaxed);
    first_.store(&qp, std::memory_order_relaxed);
    return true;
}

void lazy_doorbells::ring_listed() noexcept {
    if (!lock_.try_lock()) return;
    const std::lock_guard guard(lock_, std::adopt_lock);
    queue_pair* qp = first_.exchange(nullptr, std::memory_order_relaxed);
    while (qp != nullptr) {
        queue_pair* const next = qp->sq.lazy.next;
        qp->sq.lazy.listed.store(false, std::memory_order_relaxed);
        full_fence();
        // If it fails the kernel looks by itself.
        if (qp->sq.ring.unseen() != 0) (void)ring(qp->qp, doorbell::send);
        qp = next;
    }
}

void lazy_doorbells::remove(queue_pair& qp) noexcept {
    const std::lock_guard guard(lock_);
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
