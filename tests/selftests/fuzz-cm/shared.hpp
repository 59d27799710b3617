// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What all processes of the fuzzer share: what was done how often, what each thread is at, and
/// numbers of queue pairs that anybody may try.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "softrnic/result.hpp"

namespace fuzz_cm {

enum class action : std::uint8_t {
    create_id,
    destroy_id,
    migrate_id,
    bind_addr,
    bind_ip,
    resolve_addr,
    resolve_ip,
    resolve_route,
    listen,
    connect,
    accept,
    reject,
    disconnect,
    query_addr,
    query_route,
    query_path,
    query_gid,
    init_qp_attr,
    get_event,
    get_option,
    set_option,
    notify,
    join_ip_multicast,
    join_multicast,
    leave_multicast,
    reopen_channel,
    make_qp,
    modify_qp,
    destroy_qp,
    // of the peer
    peer_dials,
    peer_takes,
    peer_sends_frame,
    peer_sends_broken_frame,
    peer_sends_in_pieces,
    peer_sends_rubbish,
    peer_sends_fpdu,
    peer_sends_terminate,
    peer_sends_urgent,
    peer_reads,
    peer_stops_reading,
    peer_pauses,
    peer_finishes,
    peer_closes,
    peer_resets,
    count
};

/// Kinds of events: those of rdma_cm are fewer.
inline constexpr std::size_t event_kinds = 16;
inline constexpr std::size_t most_threads = 64;

class shared_state {
public:
    /// In memory that children have in common; it goes with the processes.
    static shared_state& make();

    /// A thread is at something that the watchdog may look at, for as long as this lives.
    class at_work {
    public:
        at_work(shared_state& all, std::size_t thread, action what);
        at_work(at_work&&) = delete;
        at_work& operator=(at_work&&) = delete;
        ~at_work();

    private:
        shared_state& all_;
        std::size_t thread_;
    };

    void count(action what, bool good);
    void count_event(std::uint32_t kind);

    /// Empty if no thread has been at one thing for so long.
    [[nodiscard]] std::string stuck(std::uint64_t milliseconds) const;
    /// Who has ended is at nothing any more.
    void forget(std::size_t thread) { threads_.at(thread).since = 0; }
    /// All counts; false if something never succeeded that can.
    [[nodiscard]] bool print() const;

    std::atomic<bool> over{false};
    std::array<std::atomic<std::uint32_t>, 16> qp_numbers{};

private:
    struct counts {
        std::atomic<std::uint64_t> tried{0}, done{0};
    };
    struct thread_state {
        std::atomic<std::uint64_t> since{0};
        std::atomic<action> what{action::count};
    };

    std::array<counts, static_cast<std::size_t>(action::count)> counts_{};
    std::array<std::atomic<std::uint64_t>, event_kinds> events_{};
    std::array<thread_state, most_threads> threads_{};
};

}  // namespace fuzz_cm
