// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The user's end of a ring of work requests: a send, receive or shared receive queue.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ring/shared_word.hpp"
#include "softrnic-abi.h"

namespace softrnic::provider {

/// Fill slot(), push() it, and publish() all that was pushed at once. Not thread-safe; each queue
/// has a lock.
class producer_ring {
public:
    /// Where the ring is. Each word points into memory shared with the kernel.
    struct place {
        std::uint32_t* prod;
        std::uint32_t* cons;
        std::uint32_t* kick;   ///< null: the kernel looks by itself
        std::uint32_t* taken;  ///< read only if the kernel is lazy
        /// What has no completion, and what has one that was polled; null: cons is all that counts.
        std::uint32_t* silent;
        std::uint32_t* polled;
        std::byte* slots;
        std::uint32_t depth;  ///< a power of two
        std::uint32_t stride;
        std::uint32_t limit;  ///< most entries that may be outstanding, up to depth
    };

    producer_ring() noexcept = default;
    explicit producer_ring(const place& where) noexcept : at_(where) {}

    /// Whether the granted number of work requests is outstanding.
    [[nodiscard]] bool full() noexcept {
        if (prod_ - cons_ < at_.limit) return false;
        if (at_.limit == 0) return true;
        cons_ = done();
        // Not "==": whatever the word says, at most limit entries are outstanding.
        return prod_ - cons_ >= at_.limit;
    }

    /// The slot to fill next. Only if not full().
    [[nodiscard]] std::byte* slot() const noexcept {
        return at_.slots + std::size_t{prod_ & (at_.depth - 1)} * at_.stride;
    }

    void push() noexcept { ++prod_; }

    /// Takes back the last @count that were pushed and not published.
    void take_back(std::uint32_t count) noexcept { prod_ -= count; }

    /// Shows the kernel what was pushed. Returns whether it has to be told by a doorbell.
    // NOLINTNEXTLINE(readability-make-member-function-const): it writes, through a pointer
    [[nodiscard]] srn_kick publish() noexcept {
        store_release(at_.prod, prod_);
        // Either the kernel, about to stop, still sees the new index, or its request for a kick is
        // seen here.
        full_fence();
        return kick();
    }

    /// How much at most of what was published the kernel, if it is lazy, has not seen. Thread-safe.
    [[nodiscard]] std::uint32_t unseen() const noexcept {
        if (kick() != SRN_KICK_LAZY) return 0;
        return load_relaxed(at_.prod) - load_relaxed(at_.taken);
    }

    [[nodiscard]] std::uint32_t stride() const noexcept { return at_.stride; }

    /// What was published lies in other memory from now on. Only if all that was pushed is.
    void move_to(std::byte* slots, std::uint32_t depth, std::uint32_t limit) noexcept {
        at_.slots = slots;
        at_.depth = depth;
        at_.limit = limit;
    }

    /// It is full from now on, whatever the kernel does.
    void close() noexcept { at_.limit = 0; }

    /// The index behind all that was pushed.
    [[nodiscard]] std::uint32_t end() const noexcept { return prod_; }

    /// Whether the kernel has finished with all in front of an index. Thread-safe.
    [[nodiscard]] bool consumed(std::uint32_t end) const noexcept {
        return static_cast<std::int32_t>(load_acquire(at_.cons) - end) >= 0;
    }

private:
    /// How many of all entries hold no place any more. Acquire: the kernel has finished reading the
    /// slots that this gives back, and completions that were polled are the kernel's to write
    /// again.
    [[nodiscard]] std::uint32_t done() const noexcept {
        if (at_.polled == nullptr) return load_acquire(at_.cons);
        return load_acquire(at_.silent) + load_acquire(at_.polled);
    }

    // An older kernel is never lazy, and a lazy one has filled in what it has taken.
    [[nodiscard]] srn_kick kick() const noexcept {
        if (at_.kick == nullptr) return SRN_KICK_NOT;
        const std::uint32_t word = load_relaxed(at_.kick);
        if (word == SRN_KICK_NOT) return SRN_KICK_NOT;
        return word == SRN_KICK_LAZY ? SRN_KICK_LAZY : SRN_KICK_NOW;
    }

    place at_{};
    std::uint32_t prod_ = 0;
    std::uint32_t cons_ = 0;  ///< as last seen, at most what is done
};

}  // namespace softrnic::provider
