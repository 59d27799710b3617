// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// A process of the fuzzer whose threads give commands to rdma_cm at random: on ids that they
/// share, with queue pairs that are made and destroyed meanwhile.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include "choices.hpp"
#include "descriptor.hpp"
#include "plan.hpp"
#include "raw_cm.hpp"
#include "raw_verbs.hpp"
#include "shared.hpp"

namespace fuzz_cm {

/// Channels of another process, which this one has inherited: it may only take ids from them.
struct inherited {
    std::span<const support::descriptor> channels;
    std::span<const std::uint32_t> ids;
};

/// An id that any thread may use, or destroy.
struct id_slot {
    std::atomic<std::uint32_t> id{0};
    std::atomic<std::uint32_t> channel{0};
    /// A bit for each kind of event that has come.
    std::atomic<std::uint32_t> happened{0};
    /// Held by a thread that lets the id listen, or moves it to another channel.
    std::mutex listening;
    /// The last id of the slot that was to listen, under `listening`.
    std::uint32_t listener = 0;
};

struct qp_slot {
    std::atomic<std::uint32_t> handle{0};
    std::atomic<std::uint32_t> number{0};
};

/// What the threads of a process share.
class actor_process {
public:
    actor_process(shared_state& all, const plan& p, const side& here, inherited from);

    /// Until it is over. `thread` is the number of the first of its threads for the watchdog, and
    /// `actor` decides about its choices.
    void run(std::size_t thread, std::uint64_t actor);

    static constexpr std::size_t threads = 3;

private:
    friend class actor;

    shared_state& all_;
    const plan& plan_;
    const side& here_;
    inherited from_;
    support::descriptor device_;
    std::uint32_t pd_;
    std::uint32_t cq_;
    std::array<support::descriptor, 3> channels_;
    std::array<id_slot, 10> ids_;
    std::array<qp_slot, 8> qps_;
};

}  // namespace fuzz_cm
