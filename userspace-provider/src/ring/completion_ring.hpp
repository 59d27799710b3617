// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The user's end of a completion queue.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ring/shared_word.hpp"
#include "softrnic-abi.h"

namespace softrnic::provider {

/// Not thread-safe, except for arm(), empty() and the functions that say so.
class completion_ring {
public:
    completion_ring() noexcept = default;
    /// @stride: from one completion to the next, at least sizeof(srn_cqe).
    completion_ring(srn_cq_ctrl* control, std::byte* slots, std::uint32_t depth,
                    std::uint32_t stride) noexcept
        : control_(control), slots_(slots), depth_(depth), stride_(stride) {}

    /// The completions are there from now on, those that wait as well. The indices stay.
    void move_to(std::byte* slots, std::uint32_t depth, std::uint32_t stride) noexcept {
        slots_ = slots;
        depth_ = depth;
        stride_ = stride;
        prod_ = cons_;
    }

    /// There is no memory for what the kernel writes: poll() reports a queue that is dead.
    void lose() noexcept { move_to(nullptr, 0, 0); }
    [[nodiscard]] bool lost() const noexcept { return depth_ == 0; }

    /// Hands up to @count completions to @take, in order. Returns how many, or -1 if none can come
    /// any more: the queue has overflowed, or its indices make no sense.
    template <class Take>
    int poll(int count, Take&& take) noexcept {
        const auto wanted = static_cast<std::uint32_t>(count);
        if (prod_ - cons_ < wanted) {
            // Before the index: an overflowed queue is first emptied of what it got in time.
            const bool dead = load_acquire(&control_->error) != 0;
            // Acquire: the entries that this index covers are complete.
            prod_ = load_acquire(&control_->prod);
            if (prod_ == cons_) return dead ? -1 : 0;
            if (prod_ - cons_ > depth_) {
                prod_ = cons_;
                return -1;
            }
        }
        const std::uint32_t ready = prod_ - cons_;
        const std::uint32_t taken = ready < wanted ? ready : wanted;
        for (std::uint32_t i = 0; i < taken; ++i) take(slot(cons_ + i));
        cons_ += taken;
        // Release: the entries were read before the kernel may write them again.
        store_release(&control_->cons, cons_);
        return static_cast<int>(taken);
    }

    /// How many completions there are to poll. Thread-safe, but others may poll at the same time.
    [[nodiscard]] std::uint32_t available() const noexcept {
        return load_relaxed(&control_->prod) - load_relaxed(&control_->cons);
    }

    [[nodiscard]] bool empty() const noexcept { return available() == 0; }

    /// Whether sends that complete here wait for a worker of the kernel. Thread-safe.
    [[nodiscard]] bool sends_deferred() const noexcept {
        return load_relaxed(&control_->deferred) != 0;
    }

    /// Takes out those completions that nobody has polled yet and that @unwanted returns true for.
    /// The others stay in order.
    template <class Unwanted>
    void purge(Unwanted&& unwanted) noexcept {
        // Acquire: the entries that this index covers are complete.
        const std::uint32_t prod = load_acquire(&control_->prod);
        if (prod - cons_ > depth_) return;
        prod_ = prod;
        // What stays moves towards the newest: the kernel writes behind that one, at any time.
        std::uint32_t kept = prod;
        for (std::uint32_t i = prod; i != cons_;) {
            --i;
            if (!unwanted(slot(i)) && --kept != i) std::memcpy(at(kept), at(i), stride_);
        }
        cons_ = kept;
        // Release: the entries were moved before the kernel may write the others again.
        store_release(&control_->cons, cons_);
    }

    /// Asks for an event on the next completion, or on the next solicited or failed one. A request
    /// for any that stands is not weakened.
    void arm(bool solicited_only) noexcept {
        const std::atomic_ref arm(control_->arm);
        if (solicited_only) {
            std::uint32_t expected = SRN_CQ_ARM_NONE;
            arm.compare_exchange_strong(expected, SRN_CQ_ARM_SOLICITED, std::memory_order_relaxed);
        } else {
            arm.store(SRN_CQ_ARM_ANY, std::memory_order_relaxed);
        }
        // The poll that follows, as verbs demand, sees what the kernel produced before it saw this.
        full_fence();
    }

private:
    [[nodiscard]] std::byte* at(std::uint32_t index) const noexcept {
        return slots_ + static_cast<std::size_t>(index & (depth_ - 1)) * stride_;
    }
    [[nodiscard]] srn_cqe& slot(std::uint32_t index) const noexcept {
        return *reinterpret_cast<srn_cqe*>(at(index));
    }

    srn_cq_ctrl* control_ = nullptr;
    std::byte* slots_ = nullptr;
    std::uint32_t depth_ = 0;
    std::uint32_t stride_ = 0;
    std::uint32_t prod_ = 0;  ///< as last seen
    std::uint32_t cons_ = 0;
};

}  // namespace softrnic::provider
