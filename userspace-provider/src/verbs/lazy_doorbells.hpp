// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Doorbells that may wait: see enum srn_kick in softrnic-abi.h.
#pragma once

#include <atomic>

#include "util/queue_lock.hpp"

namespace softrnic::provider {

struct queue_pair;

/// A send queue's place in the list.
struct lazy_doorbell {
    std::atomic<bool> listed = false;
    queue_pair* next = nullptr;  ///< guarded by the list
};

/// The queue pairs of a completion queue that have posted to a lazy kernel. Thread-safe.
class lazy_doorbells {
public:
    /// Remembers to ring for @qp. False if it cannot wait for that: ring now. Rings for the one
    /// that the process has turned away from, if there is much to ring for.
    [[nodiscard]] bool add(queue_pair& qp) noexcept;

    /// Rings for all. Cheap if there is none. Somebody who does so already is not waited for.
    /// True if it rang.
    bool ring_all() noexcept {
        return first_.load(std::memory_order_relaxed) != nullptr && ring_listed();
    }

    /// Forgets @qp, which is about to be destroyed.
    void remove(queue_pair& qp) noexcept;

private:
    bool ring_listed() noexcept;

    queue_lock lock_;  ///< of all; held while ringing, so that nobody is destroyed meanwhile
    std::atomic<queue_pair*> first_ = nullptr;
    std::atomic<queue_pair*> posted_last_ = nullptr;
};

}  // namespace softrnic::provider
