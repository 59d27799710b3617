// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Queue pairs in a ring that answer each other: what one receives the next one sends on, so that
// work never ends by itself. It must not nest, and others must get their share meanwhile.
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <future>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "child.hpp"
#include "fixture.hpp"
#include "path.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

/// How a token gets from one queue pair to the next.
enum class step {
    send,
    /// Behind a Read, which the kernel answers at the other end.
    read_and_send,
};

/// One token goes each way, forward from clients to servers.
enum class way : std::size_t { forward, back };
constexpr std::array both_ways{way::forward, way::back};

/// Connections beside each other. The server of each receives the token that goes forward, and the
/// client of the next one sends it on; the client receives the token that goes back, and the server
/// of the one before sends it on. The ways share nothing but the queue pairs, so each may have a
/// thread of its own.
class ring {
public:
    static constexpr std::size_t connections = 128;
    static constexpr std::size_t queue_pairs = 2 * connections;

    explicit ring(step how) : how_(how) {
        const path_watch watch;
        pairs_.reserve(connections);
        for (std::size_t i = 0; i < connections; ++i) pairs_.push_back(connect_pair(options()));
        watch.settle(connections);
        for (const way where : both_ways)
            for (std::size_t i = 0; i < connections; ++i) post_receive(where, i);
    }

    void start(way where) { pass_on(where, 0, 1); }
    /// Takes what has come, and sends it on unless that was the last time. False: it was.
    bool turn(way where, bool go_on);
    /// How often the token has been received.
    [[nodiscard]] std::uint64_t hops(way where) const { return state(where).hops; }

private:
    /// Of the receiver and of the sender of one connection and way.
    struct words {
        std::uint64_t came;
        std::uint64_t goes;
        std::uint64_t fetched;
    };
    struct progress {
        std::atomic<std::uint64_t> hops;
        bool ended;
    };
    static constexpr std::uint64_t sent = connections;  // no number of a receive

    static constexpr std::size_t index(way where) { return static_cast<std::size_t>(where); }
    [[nodiscard]] const progress& state(way where) const { return progress_.at(index(where)); }
    progress& state(way where) { return progress_.at(index(where)); }
    softrnic::cq& completions(way where) { return completions_.at(index(where)); }

    pair_options options() {
        softrnic::queue_config both{.max_send_wr = 8,
                                    .max_recv_wr = 2,
                                    .max_send_sge = 1,
                                    .max_recv_sge = 1,
                                    .domain = &domain_};
        pair_options made{.client = both, .server = both};
        made.client.send_cq = made.server.recv_cq = &completions(way::forward);
        made.client.recv_cq = made.server.send_cq = &completions(way::back);
        return made;
    }
    softrnic::qp_view receiver(way where, std::size_t i) const {
        return (where == way::forward ? pairs_[i].server : pairs_[i].client).qp();
    }
    softrnic::qp_view sender(way where, std::size_t i) const {
        return (where == way::forward ? pairs_[i].client : pairs_[i].server).qp();
    }
    static std::size_t behind(way where, std::size_t i) {
        return (i + (where == way::forward ? 1 : connections - 1)) % connections;
    }
    static std::size_t offset(way where, std::size_t i) {
        return (2 * i + index(where)) * sizeof(words);
    }
    words& at(way where, std::size_t i) {
        return *reinterpret_cast<words*>(memory_.bytes().data() + offset(where, i));
    }
    [[nodiscard]] softrnic::local_slice word(way where, std::size_t i, std::size_t member) const {
        return memory_.sub(offset(where, i) + member, sizeof(std::uint64_t));
    }
    void post_receive(way where, std::size_t i) const {
        must(receiver(where, i).recv(word(where, i, offsetof(words, came)), i));
    }
    void pass_on(way where, std::size_t i, std::uint64_t token);
    void received(way where, std::size_t i, bool go_on);

    step how_;
    softrnic::pd domain_ = must(softrnic::pd::create(device()));
    std::array<softrnic::cq, 2> completions_{
        must(softrnic::cq::create(device(), 10 * queue_pairs)),
        must(softrnic::cq::create(device(), 10 * queue_pairs))};
    softrnic::buffer memory_ = must(softrnic::buffer::create(
        domain_, queue_pairs * sizeof(words), access::local_write | access::remote_read));
    std::vector<pair> pairs_;
    std::array<progress, 2> progress_{};
};

void ring::pass_on(way where, std::size_t i, std::uint64_t token) {
    using softrnic::send_flag;
    const softrnic::qp_view qp = sender(where, i);
    at(where, i).goes = token;
    if (how_ == step::read_and_send) {
        const auto there = offset(where, i) + offsetof(words, came);
        must(qp.read(word(where, i, offsetof(words, fetched)),
                     memory_.region().remote_sub(there, sizeof(std::uint64_t)),
                     {.id = sent, .flags = send_flag::none}));
    }
    must(qp.send(word(where, i, offsetof(words, goes)),
                 {.id = sent, .flags = send_flag::signaled | send_flag::fence}));
}

void ring::received(way where, std::size_t i, bool go_on) {
    const words& here = at(where, i);
    const std::uint64_t token = state(where).hops + 1;
    if (here.came != token) throw std::runtime_error("the token has changed");
    // The Read in front of it has fetched what came one turn before.
    const std::uint64_t before = token > connections ? token - connections : 0;
    if (how_ == step::read_and_send && here.fetched != before)
        throw std::runtime_error("the Read has fetched something else");
    post_receive(where, i);
    state(where).hops = token;
    state(where).ended = !go_on;
    if (go_on) pass_on(where, behind(where, i), token + 1);
}

bool ring::turn(way where, bool go_on) {
    std::array<ibv_wc, 16> room{};
    for (const ibv_wc& wc : must(completions(where).poll(room))) {
        if (wc.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(wc.status));
        if (wc.wr_id != sent) received(where, wc.wr_id, go_on);
    }
    return !state(where).ended;
}

/// Another process, whose two ends send to each other and sleep until something comes.
class other_process {
public:
    other_process() {
        must(end_.create_queues(wide));
        rounds_ = must(softrnic::buffer::create(end_.domain(), sizeof(std::uint64_t),
                                                access::local_write | access::remote_write));
        must(end_.accept({.private_data = rounds_.remote().to_bytes()}));
        // That with this process, and its own.
        watch_.settle(2);
    }
    other_process(const other_process&) = delete;
    other_process& operator=(const other_process&) = delete;
    /// Before its connection goes, of which it would complain.
    ~other_process() { EXPECT_TRUE(WIFSIGNALED(process_.kill())) << "it ended by itself"; }
    /// How often they have.
    [[nodiscard]] std::uint64_t rounds() {
        return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(rounds_.bytes().data()));
    }

private:
    path_watch watch_;
    softrnic::listener listener_ = must(softrnic::listen(server_address()));
    child_process process_{"pingpong", listener_.local_address().port()};
    softrnic::connection end_ = must(listener_.next(patience));
    softrnic::buffer rounds_;
};

struct load {
    step how;
    unsigned threads;
};

class Ring : public ::testing::TestWithParam<load> {};

TEST_P(Ring, OfTokensInBothDirections) {
    constexpr std::uint64_t hops = 20 * ring::connections;
    constexpr std::uint64_t rounds = 100;
    ring tokens(GetParam().how);
    other_process other;
    const std::uint64_t before = other.rounds();
    const softrnic::deadline until = 4 * patience;
    std::atomic<bool> failed = false;
    // All have to get on at once: none stops before the others have come as far as they should.
    const auto go_on = [&] {
        return !until.expired() && !failed &&
               (tokens.hops(way::forward) < hops || tokens.hops(way::back) < hops ||
                other.rounds() < before + rounds);
    };
    const auto run = [&](std::span<const way> ways) {
        try {
            for (const way where : ways) tokens.start(where);
            for (bool under_way = true; under_way && !until.expired();) {
                const bool more = go_on();
                under_way = false;
                for (const way where : ways) under_way |= tokens.turn(where, more);
            }
        } catch (...) {
            failed = true;
            throw;
        }
    };
    if (GetParam().threads == 1) {
        run(both_ways);
    } else {
        auto forward = std::async(std::launch::async, run, std::span(both_ways).first(1));
        auto back = std::async(std::launch::async, run, std::span(both_ways).last(1));
        forward.get();
        back.get();
    }
    EXPECT_FALSE(until.expired());
    EXPECT_GE(tokens.hops(way::forward), hops);
    EXPECT_GE(tokens.hops(way::back), hops);
    EXPECT_GE(other.rounds(), before + rounds);
}

INSTANTIATE_TEST_SUITE_P(Of256QueuePairs, Ring,
                         ::testing::Values(load{step::send, 1}, load{step::send, 2},
                                           load{step::read_and_send, 1},
                                           load{step::read_and_send, 2}),
                         [](const auto& which) {
                             return std::string(which.param.how == step::send ? "Sends"
                                                                              : "ReadsAndSends") +
                                    (which.param.threads == 1 ? "OneThread" : "TwoThreads");
                         });

}  // namespace
}  // namespace verbs_test
