// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// How many completions of each send queue have been polled. A request whose completion has not
/// been polled holds its place in the send queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "util/queue_lock.hpp"

namespace softrnic::provider {

struct polled_sends {
    std::uint32_t qp_number = 0;
    std::uint32_t count = 0;       ///< runs freely; who posts reads it at any time
    polled_sends* next = nullptr;  ///< of the same bucket
};

/// Those of the queue pairs that send to one completion queue. Its lock guards all but add() and
/// several(). Queue pairs are found by number, one at a time or with thousands of others.
class polled_by_number {
public:
    polled_by_number() noexcept { lock_.disable(); }

    /// The completion queue has no lock, since one thread uses it, and that one destroys the queue
    /// pairs that complete there. Others may still create some. Before first use.
    void guard_itself() noexcept { lock_.enable(); }

    /// Takes no lock: a program may create queue pairs from ibv_start_poll() to ibv_end_poll().
    void add(polled_sends& queue) noexcept;
    void remove(polled_sends& queue) noexcept;

    /// Whether there are several queue pairs. Thread-safe.
    [[nodiscard]] bool several() const noexcept {
        return size_.load(std::memory_order_relaxed) > 1;
    }

    /// So many more completions of that queue pair's sends have been polled.
    void count(std::uint32_t qp_number, std::uint32_t completions) noexcept;

private:
    struct deallocate {
        void operator()(polled_sends** table) const noexcept { std::free(table); }
    };

    [[nodiscard]] polled_sends*& bucket(std::uint32_t qp_number) noexcept {
        return buckets_ == nullptr ? only_ : buckets_[qp_number & mask_];
    }
    void insert(polled_sends& queue) noexcept;
    void grow() noexcept;
    void take_added() noexcept;
    [[nodiscard]] polled_sends* find(std::uint32_t qp_number) noexcept;

    queue_lock lock_;
    std::atomic<polled_sends*> added_ = nullptr;  ///< those that are in no bucket yet
    polled_sends* last_ = nullptr;                ///< the one that was counted for last
    polled_sends* only_ = nullptr;                ///< the bucket of a small table
    std::unique_ptr<polled_sends*[], deallocate> buckets_;
    std::uint32_t mask_ = 0;  ///< of numbers: one less than there are buckets
    std::uint32_t in_buckets_ = 0;
    std::atomic<std::uint32_t> size_ = 0;  ///< with those that are in no bucket yet
};

}  // namespace softrnic::provider
