// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Doorbells that may wait: see enum srn_kick in softrnic-abi.h.
#pragma once

#include <pthread.h>

#include <atomic>

#include "util/queue_lock.hpp"

namespace softrnic::provider {

struct queue_pair;

/// A send queue's place in a list.
struct lazy_doorbell {
    queue_pair* qp = nullptr;  ///< set before first use
    std::atomic<bool> listed = false;
    lazy_doorbell* next = nullptr;  ///< guarded by the list
};

/// Queue pairs of a completion queue that have posted to a lazy kernel. Thread-safe.
class lazy_doorbells {
public:
    /// Remembers to ring for a queue pair, and which thread has posted. False if it cannot wait for
    /// that: ring now.
    [[nodiscard]] bool add(lazy_doorbell& place) noexcept {
        return (is_last(place) && is_posted_here()) || turn_to(place, false);
    }

    /// The same, for a list that ring_own() is not asked for. Rings for the one that the process
    /// has turned away from, if there is much to ring for and nothing to poll in @completions; else
    /// ring_round() does.
    template <class Completions>
    [[nodiscard]] bool add(lazy_doorbell& place, const Completions& completions) noexcept {
        return is_last(place) || turn_to(place, completions.empty());
    }

    [[nodiscard]] bool empty() const noexcept {
        return first_.load(std::memory_order_relaxed) == nullptr;
    }

    /// Rings for all. Cheap if there is none. Somebody who does so already is not waited for.
    /// True if it rang.
    bool ring_all() noexcept { return !empty() && ring_listed(); }

    /// The caller is about to poll up to so many completions of a queue that several queue pairs
    /// send to. Rings for all that wait if these are all completions or if there is much to ring
    /// for: those queue pairs that do not wait complete more meanwhile, and would get ever further
    /// ahead. So would they of those whose work waits for a worker: any doorbell does that.
    template <class Completions>
    void ring_round(const Completions& completions, std::uint32_t polled) noexcept {
        const bool deferred = completions.sends_deferred();
        if (!empty() || deferred) ring_waiting(completions.available() <= polled, deferred);
    }

    /// As ring_all(), if the calling thread has posted to them, or several threads have.
    bool ring_own() noexcept { return !empty() && is_posted_here() && ring_listed(); }

    /// Forgets a queue pair, which is about to be destroyed.
    void remove(lazy_doorbell& place) noexcept;

private:
    static constexpr pthread_t nobody = 0;
    static constexpr pthread_t several = ~pthread_t{0};

    [[nodiscard]] bool is_posted_here() const noexcept {
        const pthread_t poster = poster_.load(std::memory_order_relaxed);
        return poster == several || poster == ::pthread_self();
    }
    // Published work is ordered before this by a full fence: who takes the queue pair off the list
    // in between sees it.
    [[nodiscard]] bool is_last(const lazy_doorbell& place) const noexcept {
        return place.listed.load(std::memory_order_relaxed) &&
               posted_last_.load(std::memory_order_relaxed) == &place;
    }
    [[nodiscard]] bool turn_to(lazy_doorbell& place, bool nothing_to_poll) noexcept;
    void append(lazy_doorbell& place) noexcept;
    bool ring_listed() noexcept;
    void ring_waiting(bool nothing_left, bool deferred) noexcept;
    [[nodiscard]] bool is_much_left() const noexcept;
    bool take_off_and_ring() noexcept;

    queue_lock lock_;  ///< of all; held while ringing, so that nobody is destroyed meanwhile
    std::atomic<lazy_doorbell*> first_ = nullptr;  ///< the one that was posted to first
    lazy_doorbell* last_ = nullptr;
    std::atomic<lazy_doorbell*> posted_last_ = nullptr;
    std::atomic<pthread_t> poster_ = nobody;  ///< to those in the list
    bool much_left_ = false;                  ///< in one that the process has turned away from
};

}  // namespace softrnic::provider
