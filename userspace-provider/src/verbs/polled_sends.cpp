// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/polled_sends.hpp"

#include <mutex>
#include <utility>

#include "ring/shared_word.hpp"

namespace softrnic::provider {

void polled_by_number::insert(polled_sends& queue) noexcept {
    polled_sends*& first = bucket(queue.qp_number);
    queue.next = first;
    first = &queue;
}

// Without memory for it the table stays as it is, and is only slower.
void polled_by_number::grow() noexcept {
    const std::uint32_t old_count = mask_ + 1;
    const std::uint32_t new_count = buckets_ == nullptr ? 16 : 2 * old_count;
    // NOLINTNEXTLINE(bugprone-sizeof-expression): it is a table of pointers
    auto** const table = static_cast<polled_sends**>(std::calloc(new_count, sizeof(polled_sends*)));
    if (table == nullptr) return;
    const auto old = std::exchange(buckets_, decltype(buckets_)(table));
    mask_ = new_count - 1;
    for (std::uint32_t i = 0; i < old_count; ++i) {
        polled_sends* next = old == nullptr ? only_ : old[i];
        while (next != nullptr) insert(*std::exchange(next, next->next));
    }
    only_ = nullptr;
}

void polled_by_number::add(polled_sends& queue) noexcept {
    queue.next = added_.load(std::memory_order_relaxed);
    while (!added_.compare_exchange_weak(queue.next, &queue, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
    size_.fetch_add(1, std::memory_order_relaxed);
}

void polled_by_number::take_added() noexcept {
    polled_sends* next = added_.exchange(nullptr, std::memory_order_acquire);
    while (next != nullptr) {
        if (in_buckets_ > mask_) grow();
        insert(*std::exchange(next, next->next));
        ++in_buckets_;
    }
}

void polled_by_number::remove(polled_sends& queue) noexcept {
    const std::lock_guard guard(lock_);
    take_added();
    polled_sends** at = &bucket(queue.qp_number);
    while (*at != &queue) at = &(*at)->next;
    *at = queue.next;
    --in_buckets_;
    size_.fetch_sub(1, std::memory_order_relaxed);
    if (last_ == &queue) last_ = nullptr;
}

polled_sends* polled_by_number::find(std::uint32_t qp_number) noexcept {
    polled_sends* found = bucket(qp_number);
    while (found != nullptr && found->qp_number != qp_number) found = found->next;
    return found;
}

void polled_by_number::count(std::uint32_t qp_number, std::uint32_t completions) noexcept {
    const std::lock_guard guard(lock_);
    if (last_ == nullptr || last_->qp_number != qp_number) {
        polled_sends* found = find(qp_number);
        if (found == nullptr) {
            take_added();
            found = find(qp_number);
        }
        if (found == nullptr) return;
        last_ = found;
    }
    // Release: who posts on account of this comes after the poll.
    store_release(&last_->count, last_->count + completions);
}

}  // namespace softrnic::provider
