// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Threads that do everything at once to the same objects.
//
//   races commands DEVICE-FILE SECONDS SEED
//       Objects of one context are made, changed, used and destroyed by all threads, which know
//       only numbers of them, and their file is closed under them.
//   races connections ADDRESS SECONDS SEED
//       Threads post and poll on both ends of a connection while others take away, behind the
//       library's back, the objects that it stands on, or end it, several times at once.
//   races listeners ADDRESS SECONDS SEED
//       Listeners come and go while threads connect to their port.
//
// Each prints what it did how often; what never succeeded was not tested, and fails.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "die.hpp"
#include "must.hpp"
#include "raw_verbs.hpp"

namespace {

using namespace std::chrono_literals;
using softrnic::access;
using softrnic::result;
using support::die;
using support::must;
namespace raw = support::raw;
using clock_type = std::chrono::steady_clock;

/// How often each thing was done and how often it succeeded.
class tally {
public:
    template <class T>
    bool count(const std::string& what, const result<T>& r) {
        const std::scoped_lock lock(mutex_);
        auto& [tried, done] = counts_[what];
        ++tried;
        done += r ? 1 : 0;
        return static_cast<bool>(r);
    }
    /// True if everything succeeded at least once.
    bool print() const {
        bool good = true;
        for (const auto& [what, numbers] : counts_) {
            std::printf("%s: %lu of %lu\n", what.c_str(), numbers.second, numbers.first);
            good &= numbers.second > 0;
        }
        return good;
    }

private:
    std::mutex mutex_;
    std::map<std::string, std::pair<unsigned long, unsigned long>> counts_;
};

tally done;

// ------------------------------------------------------------------ commands

/// Numbers of objects that some thread has made and some thread may have destroyed.
class numbers {
public:
    void put(std::mt19937_64& random, std::uint32_t handle) {
        slots_[random() % slots_.size()] = handle;
    }
    [[nodiscard]] std::uint32_t any(std::mt19937_64& random) const {
        return slots_[random() % slots_.size()];
    }

private:
    std::array<std::atomic<std::uint32_t>, 6> slots_{};
};

struct shared_objects {
    int device = -1;
    numbers pds, mrs, cqs, srqs, qps;
    std::array<std::atomic<std::uint64_t>, 4> rings{};
    std::vector<std::byte> memory = std::vector<std::byte>(1U << 16);
};

class commander {
public:
    commander(shared_objects& all, std::uint64_t seed) : all_(all), random_(seed) {}

    void run(clock_type::time_point end) {
        while (clock_type::now() < end) {
            switch (random_() % 4) {
                case 0:
                case 1: make(); break;
                case 2: use(); break;
                default: destroy(); break;
            }
        }
    }

private:
    void make() {
        switch (random_() % 5) {
            case 0: keep("alloc_pd", all_.pds, raw::alloc_pd(all_.device)); break;
            case 1:
                keep("reg_mr", all_.mrs, raw::reg_mr(all_.device, any(all_.pds), all_.memory));
                break;
            case 2: {
                auto channel = raw::create_comp_channel(all_.device);
                done.count("create_comp_channel", channel);
                keep("create_cq", all_.cqs,
                     raw::create_cq(all_.device, 64, channel ? channel->get() : -1));
                break;
            }
            case 3:
                keep("create_srq", all_.srqs, raw::create_srq(all_.device, any(all_.pds)));
                break;
            default:
                if (random_() % 2 == 0)
                    keep("create_qp", all_.qps,
                         raw::create_qp(all_.device, any(all_.pds), any(all_.cqs)));
                else
                    keep("create_qp with srq", all_.qps,
                         raw::create_qp(all_.device, any(all_.pds), any(all_.cqs), any(all_.srqs)));
                break;
        }
    }

    void use() {
        static constexpr std::array states{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_ERR};
        const int device = all_.device;
        switch (random_() % 6) {
            case 0:
                done.count("modify_qp", raw::modify_qp(device, any(all_.qps),
                                                       states[random_() % states.size()]));
                break;
            case 1: done.count("query_qp", raw::query_qp(device, any(all_.qps))); break;
            case 2:
                done.count("modify_srq", raw::set_srq_limit(device, any(all_.srqs), random_() % 8));
                break;
            case 3: done.count("query_srq", raw::query_srq(device, any(all_.srqs))); break;
            case 4: done.count("doorbell", raw::ring_doorbell(device, any(all_.qps))); break;
            default: map_a_ring(); break;
        }
    }

    void destroy() {
        const int device = all_.device;
        switch (random_() % 5) {
            case 0: done.count("dealloc_pd", raw::dealloc_pd(device, any(all_.pds))); break;
            case 1: done.count("dereg_mr", raw::dereg_mr(device, any(all_.mrs))); break;
            case 2: done.count("destroy_cq", raw::destroy_cq(device, any(all_.cqs))); break;
            case 3: done.count("destroy_srq", raw::destroy_srq(device, any(all_.srqs))); break;
            default: done.count("destroy_qp", raw::destroy_qp(device, any(all_.qps))); break;
        }
    }

    /// Index values of another's ring, and a moment later it may be gone.
    void map_a_ring() {
        constexpr std::size_t size = 4096;
        void* ring = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, all_.device,
                          static_cast<off_t>(all_.rings[random_() % all_.rings.size()].load()));
        if (ring == MAP_FAILED) {
            done.count<void>("mmap", softrnic::detail::fail_errno("mmap"));
            return;
        }
        done.count("mmap", result<void>{});
        ++std::atomic_ref(*static_cast<std::uint32_t*>(ring));
        std::this_thread::yield();
        munmap(ring, size);
    }

    void keep(const char* what, numbers& where, const result<std::uint32_t>& made) {
        if (done.count(what, made)) where.put(random_, *made);
    }
    void keep(const char* what, numbers& where, const result<raw::queue>& made) {
        if (!done.count(what, made)) return;
        where.put(random_, made->handle);
        all_.rings[random_() % all_.rings.size()] = made->ring.key;
    }
    std::uint32_t any(const numbers& from) { return from.any(random_); }

    shared_objects& all_;
    std::mt19937_64 random_;
};

/// Puts another file in the place of the one that everybody uses.
void replace_file(const std::string& path, int in_use) {
    const support::descriptor fresh = must(raw::open_device(path));
    if (dup3(fresh.get(), in_use, O_CLOEXEC) < 0) die("dup3");
    done.count("close", result<void>{});
}

void race_commands(const std::string& path, std::chrono::seconds time, std::uint64_t seed) {
    constexpr unsigned threads = 6;
    shared_objects all;
    const support::descriptor device = must(raw::open_device(path));
    all.device = device.get();
    const auto end = clock_type::now() + time;
    std::vector<std::jthread> commanders;
    for (unsigned i = 0; i < threads; ++i)
        commanders.emplace_back([&all, end, seed, i] { commander(all, seed + i).run(end); });
    std::mt19937_64 random(seed + threads);
    while (clock_type::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50 + random() % 400));
        replace_file(path, all.device);
    }
}

// --------------------------------------------------------------- connections

constexpr std::uint32_t message = 8192;
constexpr std::uint32_t receives = 64;

/// Both ends of a connection in this process, and memory for each.
struct connected {
    softrnic::connection client, server;
    softrnic::buffer near, far;
};

result<connected> connect(const softrnic::listener& listener) {
    auto dialing = std::async(std::launch::async, [&] {
        return softrnic::dial(listener.local_address(),
                              {.queues = {.max_send_wr = 32, .max_recv_wr = receives}});
    });
    auto server = listener.next(10s);
    if (!server) return softrnic::failure(server.error());
    must(server->create_queues({.max_send_wr = 32, .max_recv_wr = receives}));
    auto memory = [](softrnic::connection& end) {
        softrnic::buffer made = must(softrnic::buffer::create(
            end.domain(), message,
            access::local_write | access::remote_write | access::remote_read));
        for (std::uint32_t i = 0; i < receives / 2; ++i) must(end.qp().recv(made.all()));
        return made;
    };
    softrnic::buffer far = memory(*server);
    const auto accepted = server->accept();
    auto client = dialing.get();
    if (!accepted) return softrnic::failure(accepted.error());
    if (!client) return softrnic::failure(client.error());
    softrnic::buffer near = memory(*client);
    return connected{std::move(*client), std::move(*server), std::move(near), std::move(far)};
}

/// Posts and polls without minding what comes of it.
void use_end(softrnic::connection& end, softrnic::buffer& here, const softrnic::remote_slice& there,
             const std::atomic<bool>& over, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::array<ibv_wc, 8> wcs{};
    while (!over) {
        const auto piece = here.sub(0, static_cast<std::uint32_t>(random() % message));
        switch (random() % 6) {
            case 0: done.count("post Write", end.qp().write(piece, there)); break;
            case 1: done.count("post Read", end.qp().read(piece, there)); break;
            case 2: done.count("post Send", end.qp().send(piece)); break;
            case 3: (void)end.qp().recv(here.all()); break;
            case 4: done.count("arm", end.recv_cq().arm()); break;
            default: done.count("query", end.qp().state()); break;
        }
        const auto got = end.recv_cq().poll(wcs);
        if (got && !got->empty()) done.count("poll", got);
    }
}

/// An object that another thread's command is looking at is busy.
result<void> insist(const std::function<result<void>()>& take_away) {
    for (const softrnic::deadline until = 2s;;) {
        auto taken = take_away();
        if (taken || taken.error().code != EBUSY || until.expired()) return taken;
        std::this_thread::yield();
    }
}

/// Two threads take the same thing away.
void at_once(const std::string& what, const std::function<result<void>()>& take_away) {
    auto other = std::async(std::launch::async, insist, take_away);
    done.count(what, insist(take_away));
    done.count(what, other.get());
}

void break_it(connected& c, unsigned way) {
    softrnic::connection& end = way % 2 == 0 ? c.client : c.server;
    const int device = end.context().native()->cmd_fd;
    const std::uint32_t qp = end.qp().native()->handle;
    const std::uint32_t cq = end.recv_cq().native()->handle;
    const std::uint32_t mr = (way % 2 == 0 ? c.near : c.far).region().native()->handle;
    const std::uint32_t pd = end.domain().native()->handle;
    switch (way / 2 % 6) {
        case 0: at_once("QP gone", [=] { return raw::destroy_qp(device, qp); }); break;
        case 1: at_once("MR gone", [=] { return raw::dereg_mr(device, mr); }); break;
        case 2:
            at_once("QP to ERR", [=] { return raw::modify_qp(device, qp, IBV_QPS_ERR); });
            break;
        case 3: at_once("disconnect", [&] { return end.disconnect(); }); break;
        case 4:
            at_once("QP to SQD", [=] { return raw::modify_qp(device, qp, IBV_QPS_SQD); });
            break;
        default:
            // In the order in which they can go.
            at_once("QP gone", [=] { return raw::destroy_qp(device, qp); });
            at_once("CQ gone", [=] { return raw::destroy_cq(device, cq); });
            at_once("MR gone", [=] { return raw::dereg_mr(device, mr); });
            at_once("PD gone", [=] { return raw::dealloc_pd(device, pd); });
            break;
    }
}

void one_connection(const softrnic::listener& listener, std::mt19937_64& random) {
    auto made = connect(listener);
    if (!done.count("connect", made)) return;
    std::atomic<bool> over{false};
    {
        std::vector<std::jthread> users;
        for (int i = 0; i < 2; ++i) {
            users.emplace_back([&, seed = random()] {
                use_end(made->client, made->near, made->far.remote(), over, seed);
            });
            users.emplace_back([&, seed = random()] {
                use_end(made->server, made->far, made->near.remote(), over, seed);
            });
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 40));
        break_it(*made, static_cast<unsigned>(random()));
        if (random() % 4 == 0) break_it(*made, static_cast<unsigned>(random()));
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
        over = true;
    }
}

void race_connections(const softrnic::address& where, std::chrono::seconds time,
                      std::uint64_t seed) {
    const softrnic::listener listener = must(softrnic::listen(where.with_port(0), 64));
    std::mt19937_64 random(seed);
    for (const auto end = clock_type::now() + time; clock_type::now() < end;)
        one_connection(listener, random);
}

// ----------------------------------------------------------------- listeners

/// Takes some of the requests, in one way or the other, and is gone, often with requests waiting.
void listen_for_a_moment(const softrnic::address& where, std::mt19937_64& random) {
    auto listener = softrnic::listen(where, 4);
    if (!done.count("listen", listener)) return;
    const auto end = clock_type::now() + std::chrono::milliseconds(random() % 100);
    do {
        auto request = listener->next(10ms);
        if (!request) continue;
        switch (random() % 4) {
            case 0: break;
            case 1: done.count("reject", request->reject()); break;
            default:
                if (request->create_queues({}))
                    done.count("accept", request->accept({.timeout = 2s}));
        }
    } while (clock_type::now() < end);
}

void keep_dialing(const softrnic::address& where, clock_type::time_point end) {
    while (clock_type::now() < end)
        done.count("dial", softrnic::dial(where, {.route = {.source = {}, .timeout = 2s},
                                                  .connect = {.private_data = {}, .timeout = 2s}}));
}

void race_listeners(const softrnic::address& where, std::chrono::seconds time, std::uint64_t seed) {
    constexpr unsigned threads = 4;
    const auto end = clock_type::now() + time;
    std::vector<std::jthread> dialers;
    for (unsigned i = 0; i < threads; ++i)
        dialers.emplace_back([=] { keep_dialing(where.with_port(7650), end); });
    std::mt19937_64 random(seed);
    while (clock_type::now() < end) listen_for_a_moment(where.with_port(7650), random);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() != 4) die("usage: races commands|connections|listeners WHERE SECONDS SEED");
    const std::chrono::seconds time(std::stoul(args[2]));
    const std::uint64_t seed = std::stoull(args[3]);
    if (args[0] == "commands")
        race_commands(args[1], time, seed);
    else if (args[0] == "connections")
        race_connections(must(softrnic::address::resolve(args[1], 0)), time, seed);
    else
        race_listeners(must(softrnic::address::resolve(args[1], 0)), time, seed);
    return done.print() ? 0 : 1;
} catch (const std::exception& e) {
    die(e.what());
}
