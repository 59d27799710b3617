// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Everything that users and peers can do to connections, at random: processes of two users in two
// network namespaces give all commands of rdma_cm on shared ids from several threads, and get
// killed, while TCP sockets in one of the namespaces are all kinds of bad peers.
//
//   fuzz_cm SECONDS SEED NAMESPACE DEVICE-FILE IPV4 IPV6  NAMESPACE DEVICE-FILE IPV4 IPV6
//
// The seed decides about the choices of each thread, not about who is first. Prints what was done
// how often. Fails if a call does not return, or something never succeeded that can.
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "actor.hpp"
#include "die.hpp"
#include "must.hpp"
#include "peer.hpp"
#include "plan.hpp"
#include "shared.hpp"

namespace {

using clock_type = std::chrono::steady_clock;
using fuzz_cm::actor_process;
using fuzz_cm::choices;
using fuzz_cm::plan;
using fuzz_cm::shared_state;
using fuzz_cm::side;
using support::must;
namespace raw_cm = support::raw_cm;

constexpr uid_t nobody = 65534;
constexpr std::size_t actors = 4;
/// Numbers of threads: those of the actors come first, then the peer's.
constexpr std::size_t peer_thread = actors * actor_process::threads, peer_threads = 4;
static_assert(peer_thread + peer_threads <= fuzz_cm::most_threads);

/// What no call may take, in a machine that has too much to do.
std::uint64_t call_limit() {
    const char* slow = std::getenv("SLOW");
    return std::uint64_t{60'000} * static_cast<unsigned>(slow != nullptr ? std::atoi(slow) : 1);
}

void enter(const std::string& network) {
    const support::descriptor space(open(("/run/netns/" + network).c_str(), O_RDONLY | O_CLOEXEC));
    if (!space || setns(space.get(), CLONE_NEWNET) != 0)
        throw std::runtime_error("no namespace " + network);
}

void become_nobody() {
    if (setgroups(0, nullptr) != 0 || setgid(nobody) != 0 || setuid(nobody) != 0)
        throw std::runtime_error("cannot become somebody else");
}

pid_t start(const std::function<void()>& what) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process");
    if (child > 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int status = 0;
    try {
        what();
    } catch (const std::exception& e) {
        std::printf("%s\n", e.what());
        status = 1;
    }
    std::fflush(stdout);
    _exit(status);
}

/// Starts the processes, kills some of them, and lends them ids.
class coordinator {
public:
    coordinator(shared_state& all, const plan& p) : all_(all), plan_(p) {
        enter(p.sides[0].network);
        for (auto& channel : channels_) channel = must(raw_cm::open_channel());
        for (std::size_t i = 0; i < actors; ++i) start_actor(i);
        peer_ = start([this] { be_peer(); });
    }

    /// True if all calls have returned.
    bool run() {
        const auto end = clock_type::now() + std::chrono::seconds(plan_.seconds);
        for (std::uint64_t step = 0; clock_type::now() < end; ++step) {
            choices c(plan_.seed, ~std::uint64_t{0}, step);
            std::this_thread::sleep_for(std::chrono::milliseconds(50 + c.below(300)));
            lend_id(c);
            if (c.one_in(6)) replace_actor(c.below(actors));
            if (is_stuck() || has_failed()) return false;
        }
        return finish();
    }

private:
    void start_actor(std::size_t index) {
        const std::uint64_t number = generation_++;
        children_.at(index) = start([this, index, number] {
            const side& here = plan_.sides.at(index % 4 == 3 ? 1 : 0);
            enter(here.network);
            if (index % 2 == 1) become_nobody();
            actor_process(all_, plan_, here, {channels_, ids_})
                .run(index * actor_process::threads, number);
        });
    }

    void be_peer() {
        enter(plan_.sides[1].network);
        std::vector<std::jthread> running;
        for (std::size_t i = 0; i < peer_threads; ++i)
            running.emplace_back([this, i] {
                (i < 2 ? fuzz_cm::dial_at_random : fuzz_cm::answer_at_random)(all_, plan_,
                                                                              peer_thread + i);
            });
    }

    /// An id that whoever comes next inherits with its channel, and may migrate to its own.
    void lend_id(choices& c) {
        const int channel = c.of(channels_).get();
        const auto made = raw_cm::create_id(channel, 1);
        if (!made) return;
        std::uint32_t& slot = ids_.at(c.below(ids_.size()));
        (void)raw_cm::destroy_id(channel, slot);
        slot = *made;
    }

    void replace_actor(std::size_t index) {
        kill(children_.at(index), SIGKILL);
        if (!wait_for(children_.at(index))) return;
        for (std::size_t i = 0; i < actor_process::threads; ++i)
            all_.forget(index * actor_process::threads + i);
        start_actor(index);
    }

    /// False if it does not end.
    bool wait_for(pid_t child) {
        const auto limit = clock_type::now() + std::chrono::milliseconds(call_limit());
        while (waitpid(child, nullptr, WNOHANG) == 0) {
            if (clock_type::now() > limit) {
                std::printf("process %d does not end\n", child);
                unfinished_ = true;
                return false;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return true;
    }

    bool is_stuck() {
        const std::string who = all_.stuck(call_limit());
        std::printf("%s", who.c_str());
        return unfinished_ || !who.empty();
    }

    /// A child that has ended by itself could not go on.
    bool has_failed() {
        const pid_t child = waitpid(-1, nullptr, WNOHANG);
        if (child <= 0) return false;
        std::printf("process %d has ended early\n", child);
        return true;
    }

    bool finish() {
        all_.over = true;
        bool good = true;
        for (const pid_t child : children_) good = wait_for(child) && good;
        return wait_for(peer_) && good;
    }

    shared_state& all_;
    const plan& plan_;
    std::array<support::descriptor, 2> channels_;
    std::array<std::uint32_t, 6> ids_{};
    std::array<pid_t, actors> children_{};
    pid_t peer_ = 0;
    std::uint64_t generation_ = 0;
    bool unfinished_ = false;
};

side side_of(std::span<char*> args) {
    return {args[0], args[1], must(softrnic::address::resolve(args[2], 0)),
            must(softrnic::address::resolve(args[3], 0))};
}

}  // namespace

int main(int argc, char** argv) {
    const std::span args(argv, static_cast<std::size_t>(argc));
    if (args.size() != 11)
        support::die("usage: fuzz_cm SECONDS SEED (NAMESPACE DEVICE-FILE IPV4 IPV6) twice");
    try {
        const plan p{std::stoull(args[2]),
                     std::stoull(args[1]),
                     {side_of(args.subspan(3, 4)), side_of(args.subspan(7, 4))}};
        shared_state& all = shared_state::make();
        const bool returned = coordinator(all, p).run();
        const bool complete = all.print();
        if (!returned) support::die("not everything has come to its end");
        if (!complete) support::die("something has never worked");
    } catch (const std::exception& e) {
        support::die(e.what());
    }
    return 0;
}
