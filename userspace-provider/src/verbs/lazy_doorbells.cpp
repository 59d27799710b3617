// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/lazy_doorbells.hpp"

#include <mutex>

#include "verbs/doorbell.hpp"
#include "verbs/qp.hpp"

namespace softrnic::provider {

namespace {

/// A queue pair that the process has turned away from is rung for if it has so many requests.
constexpr std::uint32_t worth_a_call = 32;
/// And by the next post if it has so much payload, whatever there is to poll.
constexpr std::uint64_t long_bytes = 320U << 10U;

}  // namespace

bool lazy_doorbells::turn_to(lazy_doorbell& place, bool nothing_to_poll) noexcept {
    if (!lock_.try_lock()) return place.listed.load(std::memory_order_relaxed);
    const std::lock_guard guard(lock_, std::adopt_lock);
    const pthread_t poster = poster_.load(std::memory_order_relaxed);
    const pthread_t self = ::pthread_self();
    if (poster != self) poster_.store(poster == nobody ? self : several, std::memory_order_relaxed);
    if (!place.listed.load(std::memory_order_relaxed)) {
        place.listed.store(true, std::memory_order_relaxed);
        append(place);
    }
    const lazy_doorbell* const other = posted_last_.exchange(&place, std::memory_order_relaxed);
    if (other == nullptr || other == &place || other->qp->sq.ring.unseen() < worth_a_call)
        return true;
    // While there are completions of others, the turn of all comes with a poll: those that are rung
    // for at once would get on faster than the last one.
    // Much payload takes so long to transmit that they do not get far meanwhile.
    if (nothing_to_poll ||
        other->qp->sq.waiting_bytes.load(std::memory_order_relaxed) >= long_bytes) {
        (void)ring(other->qp->qp, doorbell::send);
    } else {
        much_left_ = true;
    }
    return true;
}

// They are rung in the order in which they were posted to.
void lazy_doorbells::append(lazy_doorbell& place) noexcept {
    place.next = nullptr;
    if (empty()) {
        first_.store(&place, std::memory_order_relaxed);
    } else {
        last_->next = &place;
    }
    last_ = &place;
}

bool lazy_doorbells::ring_listed() noexcept {
    if (!lock_.try_lock()) return false;
    const std::lock_guard guard(lock_, std::adopt_lock);
    return take_off_and_ring();
}

void lazy_doorbells::ring_waiting(bool nothing_left, bool deferred) noexcept {
    if (!lock_.try_lock()) return;
    const std::lock_guard guard(lock_, std::adopt_lock);
    if ((nothing_left || is_much_left()) && take_off_and_ring()) return;
    const lazy_doorbell* const any = posted_last_.load(std::memory_order_relaxed);
    if (deferred && any != nullptr) (void)ring(any->qp->qp, doorbell::send);
}

bool lazy_doorbells::is_much_left() const noexcept {
    if (much_left_) return true;
    // Who polls has turned away from this one as well.
    const lazy_doorbell* const last = posted_last_.load(std::memory_order_relaxed);
    return last != nullptr && last->qp->sq.ring.unseen() >= worth_a_call;
}

bool lazy_doorbells::take_off_and_ring() noexcept {
    bool rung = false;
    much_left_ = false;
    poster_.store(nobody, std::memory_order_relaxed);
    lazy_doorbell* place = first_.exchange(nullptr, std::memory_order_relaxed);
    while (place != nullptr) {
        queue_pair& qp = *place->qp;
        lazy_doorbell* const next = place->next;
        place->listed.store(false, std::memory_order_relaxed);
        full_fence();
        // If it fails the kernel looks by itself.
        if (qp.sq.ring.unseen() != 0) rung |= ring(qp.qp, doorbell::send) == 0;
        place = next;
    }
    return rung;
}

void lazy_doorbells::remove(lazy_doorbell& place) noexcept {
    const std::lock_guard guard(lock_);
    if (posted_last_.load(std::memory_order_relaxed) == &place)
        posted_last_.store(nullptr, std::memory_order_relaxed);
    if (!place.listed.load(std::memory_order_relaxed)) return;
    lazy_doorbell* before = nullptr;
    lazy_doorbell* at = first_.load(std::memory_order_relaxed);
    for (; at != &place; at = at->next) before = at;
    if (before == nullptr) {
        first_.store(place.next, std::memory_order_relaxed);
    } else {
        before->next = place.next;
    }
    if (last_ == &place) last_ = before;
    place.listed.store(false, std::memory_order_relaxed);
}

}  // namespace softrnic::provider
