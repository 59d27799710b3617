// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Load on links that may break at any moment: a server, and a client that keeps several connections
// busy with work of every kind and size and makes them anew when they end. Besides, both hold idle
// objects of every kind. They end when their time is up, when they are told to (SIGTERM), or when
// the device goes, which they must notice by themselves.
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <mutex>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "die.hpp"
#include "must.hpp"
#include "objects.hpp"

namespace {

using namespace std::chrono_literals;
using softrnic::access;
using softrnic::remote_slice;
using support::die;
using support::must;
using clock_type = std::chrono::steady_clock;

constexpr const char* usage =
    "usage: load serve ADDRESS PORT SECONDS\n"
    "       load run ADDRESS PORT SECONDS CONNECTIONS SEED\n"
    "ADDRESS is one of the device to serve on, or of the server.\n"
    "Last line: operations done, connections made, broken, refused (why the last was),\n"
    "how long the longest operation took.\n"
    "LOAD_REPORT: print that line every so many seconds.\n"
    "Exit status: 0, also if the device went; 1 for what cannot be; 3 if nothing was done.\n";

constexpr std::uint32_t memory_size = 1U << 20;
constexpr std::uint32_t receive_size = 16384;
/// Messages that the server has room for, and after how many it tells the client that it has room
/// for as many more.
constexpr std::uint32_t receives = 128;
constexpr std::uint32_t credit = 32;
/// Where one answer may take seconds, because the machine is slow or its network bad, this is still
/// long enough to connect; two of them are less than what a program has to come to its end.
constexpr auto connect_time = 20s;

std::atomic<bool> stopped{false};
std::atomic<bool> device_gone{false};

struct totals {
    std::atomic<std::uint64_t> operations{0};
    std::atomic<std::uint64_t> connections{0};
    std::atomic<std::uint64_t> broken{0};
    std::atomic<std::int64_t> longest_us{0};
} total;

/// Connections that did not come about, and why the last of them did not.
class refused_connections {
public:
    void add(std::string why) {
        const std::lock_guard lock(mutex_);
        ++count_;
        why_ = std::move(why);
    }

    [[nodiscard]] std::string text() const {
        const std::lock_guard lock(mutex_);
        return std::to_string(count_) + " refused" + (count_ > 0 ? " (" + why_ + ")" : "");
    }

private:
    mutable std::mutex mutex_;
    std::uint64_t count_ = 0;
    std::string why_;
} refusals;

bool over() {
    return stopped || device_gone;
}

/// The device tells by an asynchronous event that it goes.
void watch_device(softrnic::context_view device) {
    while (!over()) {
        const auto event = device.wait_async_event(200ms);
        if (event && event->event_type == IBV_EVENT_DEVICE_FATAL) {
            device_gone = true;
            return;
        }
        if (!event && event.error().code != ETIMEDOUT) return;
    }
}

/// Serves one connection until it ends.
void serve_one(softrnic::connection end) {
    if (!end.create_queues({.max_send_wr = 4, .max_recv_wr = receives})) return;
    auto memory =
        softrnic::buffer::create(end.domain(), memory_size,
                                 access::local_write | access::remote_write | access::remote_read);
    auto inbox =
        softrnic::buffer::create(end.domain(), receive_size * receives, access::local_write);
    if (!memory || !inbox) return;
    for (std::uint32_t i = 0; i < receives; ++i)
        (void)end.qp().recv(inbox->sub(i * receive_size, receive_size), i);
    const auto here = memory->remote().to_bytes();
    if (const auto accepted = end.accept({.private_data = here, .timeout = connect_time});
        !accepted) {
        refusals.add(accepted.error().message());
        return;
    }
    ++total.connections;
    std::uint32_t taken = 0;
    while (!over()) {
        const auto wc = end.recv_cq().wait_one(200ms);
        if (!wc && wc.error().code == ETIMEDOUT) continue;
        if (!wc || !softrnic::ok(*wc)) break;
        if (wc->opcode != IBV_WC_RECV) continue;
        ++total.operations;
        const auto slot = static_cast<std::uint32_t>(wc->wr_id);
        if (!end.qp().recv(inbox->sub(slot * receive_size, receive_size), slot)) break;
        if (++taken % credit == 0 && !end.qp().send(softrnic::no_slices)) break;
    }
}

void serve(const softrnic::address& where) {
    const softrnic::listener listener = must(softrnic::listen(where, 64));
    std::thread watcher(watch_device, listener.context());
    std::vector<std::thread> served;
    while (!over()) {
        auto request = listener.next(200ms);
        if (!request) {
            if (request.error().code == ENODEV) device_gone = true;
            continue;
        }
        try {
            served.emplace_back(serve_one, std::move(*request));
        } catch (const std::system_error& no_thread) {
            refusals.add(no_thread.what());
        }
    }
    for (std::thread& t : served) t.join();
    watcher.join();
}

/// One connection's work: up to `depth` requests at a time, of random kinds and sizes.
class worker {
public:
    worker(softrnic::connection& end, std::mt19937_64& random, softrnic::buffer& memory)
        : end_(end), random_(random), memory_(memory) {}

    /// Until the connection breaks (false) or it is time to stop or to connect anew (true).
    bool work(clock_type::time_point until) {
        const auto peer = end_.peer_data();
        if (peer.size() < remote_slice::wire_size) return false;
        remote_ = remote_slice::from_bytes(peer.first<remote_slice::wire_size>());
        for (std::uint32_t i = 0; i < receives / credit; ++i)
            if (!end_.qp().recv(softrnic::no_slices)) return false;
        while (!over() && clock_type::now() < until) {
            const unsigned count = 1 + random_() % depth;
            const auto start = clock_type::now();
            unsigned posted = 0;
            while (posted < count && post()) ++posted;
            for (unsigned done = 0; done < posted;) {
                const auto wc = end_.send_cq().wait_one(30s);
                if (!wc && wc.error().code == ETIMEDOUT && !over()) die("work without an end");
                if (!wc || !softrnic::ok(*wc)) return false;
                if (wc->opcode == IBV_WC_RECV) {
                    room_ += credit;
                    if (!end_.qp().recv(softrnic::no_slices)) return false;
                    continue;
                }
                ++done;
                ++total.operations;
            }
            note(clock_type::now() - start);
            if (posted < count) return false;
        }
        return true;
    }

private:
    static constexpr unsigned depth = 8;

    static void note(clock_type::duration took) {
        const auto us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
        std::int64_t longest = total.longest_us;
        while (us > longest && !total.longest_us.compare_exchange_weak(longest, us)) {
        }
    }

    bool post() {
        static constexpr std::uint32_t sizes[] = {0, 1, 64, 1000, 4096, 16384, 65536, memory_size};
        const std::uint32_t size = sizes[random_() % std::size(sizes)];
        const softrnic::local_slice piece = memory_.sub(random_() % memory_size, size);
        switch (random_() % (room_ > 0 ? 3 : 2)) {
            case 0: return static_cast<bool>(end_.qp().write(piece, remote_));
            case 1: return static_cast<bool>(end_.qp().read(piece, remote_.sub(0, size)));
            default:
                --room_;
                return static_cast<bool>(
                    end_.qp().send(size > receive_size ? piece.sub(0, receive_size) : piece));
        }
    }

    softrnic::connection& end_;
    std::mt19937_64& random_;
    softrnic::buffer& memory_;
    remote_slice remote_;
    std::uint32_t room_ = receives;
};

void keep_connected(const softrnic::address& peer, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!over()) {
        auto end = softrnic::dial(peer, {.route = {.source = {}, .timeout = connect_time},
                                         .queues = {.max_send_wr = 16, .max_recv_wr = 8},
                                         .connect = {.private_data = {}, .timeout = connect_time}});
        // Without memory, too, the device is about to go.
        auto memory =
            end ? softrnic::buffer::create(end->domain(), memory_size * 2, access::local_write)
                : softrnic::result<softrnic::buffer>(softrnic::failure(end.error()));
        if (!memory) {
            refusals.add(memory.error().message());
            std::this_thread::sleep_for(50ms);
            continue;
        }
        ++total.connections;
        worker w(*end, random, *memory);
        if (!w.work(clock_type::now() + std::chrono::milliseconds(200 + random() % 5000)))
            ++total.broken;
    }
}

void run(const softrnic::address& peer, unsigned connections, std::uint64_t seed) {
    const softrnic::connection route =
        must(softrnic::resolve(peer, {.source = {}, .timeout = connect_time}));
    const support::idle_objects idle(route.local_address());
    std::thread watcher(watch_device, route.context());
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < connections; ++i)
        workers.emplace_back(keep_connected, peer, seed * 1000 + i);
    for (std::thread& t : workers) t.join();
    watcher.join();
}

void print_totals() {
    std::printf("%s%llu operations, %llu connections, %llu broken, %s, longest %.1f ms\n",
                device_gone ? "device gone: " : "",
                static_cast<unsigned long long>(total.operations),
                static_cast<unsigned long long>(total.connections),
                static_cast<unsigned long long>(total.broken), refusals.text().c_str(),
                static_cast<double>(total.longest_us) / 1000);
    std::fflush(stdout);
}

/// At its end the program has five minutes to come to it: longer than others watch it.
void stop_after(std::chrono::seconds time) {
    std::thread([time] {
        const auto end = clock_type::now() + time;
        // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
        const char* period = std::getenv("LOAD_REPORT");
        auto report = clock_type::now();
        while (!over() && clock_type::now() < end) {
            std::this_thread::sleep_for(100ms);
            if (period == nullptr || clock_type::now() < report) continue;
            report += std::chrono::seconds(std::stoul(period));
            print_totals();
        }
        stopped = true;
        std::this_thread::sleep_for(5min);
        die("it does not come to an end");
    }).detach();
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() < 4 || (args[0] == "run" && args.size() != 6)) die(usage);
    std::signal(SIGTERM, [](int) { stopped = true; });
    const softrnic::address where = must(softrnic::address::resolve(args[1], args[2]));
    stop_after(std::chrono::seconds(std::stoul(args[3])));
    if (args[0] == "serve") {
        const support::idle_objects idle(where);
        serve(where);
    } else {
        run(where, static_cast<unsigned>(std::stoul(args[4])), std::stoull(args[5]));
    }
    print_totals();
    return total.operations > 0 ? 0 : 3;
} catch (const std::exception& e) {
    die(e.what());
}
