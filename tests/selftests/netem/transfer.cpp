// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Moves random bytes by Send, Write and Read over a network that may be bad, and compares every one
// of them where it arrives. Each source buffer is overwritten at its completion, since it belongs
// to the application again. A connection that breaks must do so completely and soon; a new one is
// made.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "die.hpp"
#include "must.hpp"
#include "plan.hpp"

namespace {

using namespace std::chrono_literals;
using namespace network;
using softrnic::access;
using softrnic::remote_slice;
using support::die;
using support::must;
using clock_type = std::chrono::steady_clock;

constexpr const char* usage =
    "usage: transfer serve ADDRESS PORT SECONDS\n"
    "       transfer run ADDRESS PORT SECONDS CONNECTIONS SEED steady|may-break\n"
    "           [no-empty-reads]\n"
    "Last line: bytes compared, their rate, rounds, connections made, broken, stalled, refused,\n"
    "asynchronous events about errors.\n"
    "Exit status: 0; 1 for a wrong byte, an end that does not come, or in a steady run any end at\n"
    "all; 3 if no round was done.\n";

/// The longest that a broken connection may take to be one, and work on a bad network to be done.
constexpr std::chrono::seconds end_limit = 20s;
constexpr std::chrono::seconds work_limit = 30s;

/// What its device says of itself.
constexpr std::uint32_t softrnic_vendor = 0x02736e;

std::atomic<bool> stopped{false};

struct totals {
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> rounds{0};
    std::atomic<std::uint64_t> connections{0};
    std::atomic<std::uint64_t> broken{0};
    std::atomic<std::uint64_t> stalled{0};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> events{0};
} total;

/// Counts what the device says about queue pairs that end by an error.
void watch(softrnic::context_view device) {
    while (!stopped) {
        const auto event = device.wait_async_event(200ms);
        if (event &&
            (event->event_type == IBV_EVENT_QP_FATAL || event->event_type == IBV_EVENT_QP_REQ_ERR ||
             event->event_type == IBV_EVENT_QP_ACCESS_ERR))
            ++total.events;
    }
}

/// What the client says when it connects.
struct greeting {
    std::uint64_t seed;
};

enum class outcome { good, broken, stalled };

/// One end: its memory, and the work that is under way.
class peer {
public:
    explicit peer(softrnic::connection end) : end_(std::move(end)) {}

    softrnic::result<void> prepare() {
        constexpr auto rights = access::local_write | access::remote_write | access::remote_read;
        if (auto made = end_.create_queues({.max_send_wr = queue, .max_recv_wr = queue}); !made)
            return made;
        for (softrnic::buffer* b : {&in_, &out_, &inbox_}) {
            auto made = softrnic::buffer::create(end_.domain(), slots * slot_size, rights);
            if (!made) return softrnic::failure(made.error());
            *b = std::move(*made);
            std::ranges::fill(b->bytes(), untouched);
        }
        for (std::uint32_t slot = 0; slot < slots; ++slot)
            if (auto posted = receive(slot); !posted) return posted;
        return {};
    }

    /// The end must be complete: both sides told, all work flushed. Otherwise it hangs.
    void settle() {
        const softrnic::deadline until(end_limit);
        if (const auto gone = end_.wait_disconnected(until); !gone)
            die("no end of the connection is reported: " + gone.error().message());
        if (!has_ended(must(end_.qp().state()))) die("the queue pair has not ended");
        while (outstanding_ > 0) {
            if (const auto wc = end_.recv_cq().wait_one(until); !wc)
                die(std::to_string(outstanding_) + " requests were never flushed");
            --outstanding_;
        }
    }

    /// What the first broken outcome came of.
    [[nodiscard]] const std::string& problem() const { return problem_; }

    softrnic::connection& end() { return end_; }
    [[nodiscard]] const softrnic::connection& end() const { return end_; }

protected:
    static constexpr std::uint32_t slots = max_operations;
    static constexpr std::uint32_t queue = 32;
    /// Requests are known by their slot and what they use.
    static constexpr std::uint64_t from_out = 1000, into_in = 2000;

    static std::span<std::byte> slot_of(softrnic::buffer& memory, std::uint32_t slot) {
        return memory.bytes().subspan(std::size_t{slot} * slot_size, slot_size);
    }

    /// softrnic's are in ERR then. siw keeps one whose end was orderly in CLOSING, SQD to verbs.
    [[nodiscard]] bool has_ended(ibv_qp_state state) const {
        if (must(end_.context().query()).vendor_id != softrnic_vendor) return state != IBV_QPS_RTS;
        return state == IBV_QPS_ERR;
    }

    static void overwrite(std::span<std::byte> bytes) {
        static std::atomic<std::uint64_t> counter{0};
        fill(bytes, {.seed = 0, .round = ++counter, .number = rubbish_number});
    }

    [[nodiscard]] softrnic::result<void> receive(std::uint32_t slot) {
        return counted(end_.qp().recv(inbox_.sub(slot * slot_size + margin, largest_send), slot));
    }

    [[nodiscard]] softrnic::result<void> counted(softrnic::result<void> posted) {
        if (posted)
            ++outstanding_;
        else
            problem_ = "a request is refused: " + posted.error().message();
        return posted;
    }

    /// The next completion into `wc`. Whose source is free is overwritten at once.
    [[nodiscard]] outcome next(ibv_wc& wc, std::chrono::milliseconds wait) {
        const auto got = end_.recv_cq().wait_one(wait);
        if (!got && got.error().code == ETIMEDOUT) return outcome::stalled;
        if (!got) die(got.error().message());
        wc = *got;
        --outstanding_;
        if (!softrnic::ok(wc)) {
            problem_ = "request " + std::to_string(wc.wr_id) + ": " + ibv_wc_status_str(wc.status);
            return outcome::broken;
        }
        if (wc.opcode == IBV_WC_SEND || wc.opcode == IBV_WC_RDMA_WRITE)
            overwrite(slot_of(out_, static_cast<std::uint32_t>(wc.wr_id - from_out)));
        return outcome::good;
    }

    /// Compares a message in a slot and makes the slot ready for another.
    static void check(softrnic::buffer& memory, std::uint32_t slot, std::uint32_t offset,
                      std::uint32_t size, const message_id& id) {
        const auto bytes = slot_of(memory, slot);
        if (!holds(bytes, offset, size, id)) die("a wrong byte");
        std::ranges::fill(bytes.subspan(offset, size), untouched);
        total.bytes += size;
    }

    void check_received(const ibv_wc& wc, std::uint32_t size, const message_id& id) {
        if (wc.byte_len != size) die("a message of a wrong length");
        check(inbox_, static_cast<std::uint32_t>(wc.wr_id), margin, size, id);
    }

    softrnic::connection end_;
    softrnic::buffer in_;     ///< where Writes and Reads arrive
    softrnic::buffer out_;    ///< what is sent, written, or read by the peer
    softrnic::buffer inbox_;  ///< where Sends arrive
    std::uint32_t outstanding_ = 0;
    std::string problem_;
};

class server : public peer {
public:
    using peer::peer;

    void serve() {
        const auto said = end_.peer_data();
        greeting hello{};
        if (said.size() < sizeof(hello) || !prepare()) return;
        std::memcpy(&hello, said.data(), sizeof(hello));
        seed_ = hello.seed;
        std::vector<std::byte> offer;
        for (const softrnic::buffer* b : {&in_, &out_}) {
            const auto bytes = b->remote().to_bytes();
            offer.insert(offer.end(), bytes.begin(), bytes.end());
        }
        if (!end_.accept({.private_data = offer, .timeout = 5s})) {
            ++total.refused;
            return;
        }
        ++total.connections;
        for (round_ = 0; one_round() == outcome::good; ++round_) ++total.rounds;
        if (stopped) (void)end_.disconnect();
        settle();
    }

private:
    /// The next Send of the client, however long it takes.
    [[nodiscard]] outcome await_send(ibv_wc& wc) {
        for (;;) {
            const outcome o = next(wc, 200ms);
            if (o == outcome::stalled && !stopped) continue;
            if (o != outcome::good || wc.opcode == IBV_WC_RECV) return o;
        }
    }

    outcome one_round() {
        const plan p = make_plan(seed_, round_);
        for (std::uint32_t i = 0; i < p.operations.size(); ++i) {
            if (p.operations[i].write) continue;
            ibv_wc wc{};
            if (const outcome o = await_send(wc); o != outcome::good) return o;
            check_received(wc, p.operations[i].size, {seed_, round_, i});
            if (!receive(static_cast<std::uint32_t>(wc.wr_id))) return outcome::broken;
        }
        // The last operation is a Send, and what was written before it is there when it is.
        for (std::uint32_t i = 0; i < p.operations.size(); ++i)
            if (const operation& o = p.operations[i]; o.write)
                check(in_, i, o.offset, o.size, {seed_, round_, i});
        return answer(p);
    }

    /// Puts out what the client is going to read, and tells it.
    outcome answer(const plan& p) {
        for (std::uint32_t i = 0; i < p.reads.size(); ++i)
            fill(slot_of(out_, i).subspan(margin, p.reads[i]), {seed_, round_, read_number + i});
        fill(slot_of(out_, answer_slot).first(p.answer), {seed_, round_, answer_number});
        const bool sent{counted(end_.qp().send(out_.sub(answer_slot * slot_size, p.answer),
                                               {.id = from_out + answer_slot}))};
        return sent ? outcome::good : outcome::broken;
    }

    /// Behind those of the Reads.
    static constexpr std::uint32_t answer_slot = slots - 1;
    static_assert(max_reads <= answer_slot);

    std::uint64_t seed_ = 0;
    std::uint64_t round_ = 0;
};

class client : public peer {
public:
    client(softrnic::connection end, std::uint64_t seed, bool empty_reads)
        : peer(std::move(end)), seed_(seed), empty_reads_(empty_reads) {}

    bool connect() {
        const greeting hello{seed_};
        if (!prepare() ||
            !end_.connect({.private_data = std::as_bytes(std::span(&hello, 1)), .timeout = 10s}))
            return false;
        const auto offer = end_.peer_data();
        if (offer.size() < 2 * remote_slice::wire_size) return false;
        their_in_ = remote_slice::from_bytes(offer.first<remote_slice::wire_size>());
        their_out_ = remote_slice::from_bytes(
            offer.subspan<remote_slice::wire_size, remote_slice::wire_size>());
        return true;
    }

    /// At least one round, however late it begins.
    outcome work(clock_type::time_point until) {
        for (round_ = 0; round_ == 0 || clock_type::now() < until; ++round_) {
            const plan p = make_plan(seed_, round_);
            if (const outcome o = put(p); o != outcome::good) return o;
            if (const outcome o = read(p); o != outcome::good) return o;
            ++total.rounds;
        }
        return outcome::good;
    }

private:
    [[nodiscard]] softrnic::result<void> post(std::uint32_t slot, const operation& o) {
        const std::uint32_t start = slot * slot_size;
        fill(slot_of(out_, slot).first(o.size), {seed_, round_, slot});
        const auto source = out_.sub(start, o.size);
        const softrnic::send_options options{.id = from_out + slot};
        return o.write ? end_.qp().write(source, their_in_.sub(start + o.offset, o.size), options)
                       : end_.qp().send(source, options);
    }

    outcome put(const plan& p) {
        for (std::uint32_t i = 0; i < p.operations.size(); ++i)
            if (!counted(post(i, p.operations[i]))) return outcome::broken;
        for (std::size_t left = p.operations.size() + 1; left > 0; --left) {
            ibv_wc wc{};
            if (const outcome o = next(wc, work_limit); o != outcome::good) return o;
            if (wc.opcode != IBV_WC_RECV) continue;
            check_received(wc, p.answer, {seed_, round_, answer_number});
            if (!receive(static_cast<std::uint32_t>(wc.wr_id))) return outcome::broken;
        }
        return outcome::good;
    }

    outcome read(const plan& p) {
        std::size_t left = 0;
        for (std::uint32_t i = 0; i < p.reads.size(); ++i) {
            if (p.reads[i] == 0 && !empty_reads_) continue;
            const std::uint32_t at = i * slot_size + margin;
            if (!counted(end_.qp().read(in_.sub(at, p.reads[i]), their_out_.sub(at, p.reads[i]),
                                        {.id = into_in + i})))
                return outcome::broken;
            ++left;
        }
        for (; left > 0; --left) {
            ibv_wc wc{};
            if (const outcome o = next(wc, work_limit); o != outcome::good) return o;
            const auto slot = static_cast<std::uint32_t>(wc.wr_id - into_in);
            check(in_, slot, margin, p.reads[slot], {seed_, round_, read_number + slot});
        }
        return outcome::good;
    }

    std::uint64_t seed_;
    bool empty_reads_;
    std::uint64_t round_ = 0;
    remote_slice their_in_;
    remote_slice their_out_;
};

void serve(const softrnic::address& where, clock_type::time_point until) {
    const softrnic::listener listener = must(softrnic::listen(where, 64));
    std::thread watcher(watch, listener.context());
    std::vector<std::thread> served;
    while (!stopped && clock_type::now() < until) {
        auto request = listener.next(200ms);
        if (request)
            served.emplace_back([](softrnic::connection c) { server(std::move(c)).serve(); },
                                std::move(*request));
    }
    stopped = true;
    for (std::thread& t : served) t.join();
    watcher.join();
}

/// What a run may meet, and what it does without.
struct habits {
    bool steady = false;
    bool empty_reads = true;
};

void keep_working(const softrnic::address& where, clock_type::time_point until, std::uint64_t seed,
                  habits how) {
    // At least once, however late this thread is.
    const std::uint64_t first = seed;
    for (; seed == first || clock_type::now() < until; ++seed) {
        auto route = softrnic::resolve(where, {.source = {}, .timeout = 10s});
        if (!route) {
            ++total.refused;
            continue;
        }
        client c(std::move(*route), seed, how.empty_reads);
        if (!c.connect()) {
            ++total.refused;
            continue;
        }
        ++total.connections;
        const outcome o = c.work(until);
        if (o == outcome::broken) ++total.broken;
        if (o == outcome::stalled) ++total.stalled;
        if (o != outcome::good && how.steady)
            die("the connection did not last: " +
                (o == outcome::stalled ? "nothing completes" : c.problem()));
        // Who has lost patience, and who is done, ends the connection himself.
        if (o != outcome::broken) (void)c.end().disconnect();
        c.settle();
    }
}

void run(const softrnic::address& where, clock_type::time_point until, std::uint64_t connections,
         std::uint64_t seed, habits how) {
    const softrnic::connection route = must(softrnic::resolve(where));
    std::thread watcher(watch, route.context());
    std::vector<std::thread> workers;
    for (std::uint64_t i = 0; i < connections; ++i)
        workers.emplace_back(keep_working, where, until, seed * 1'000'000 + i * 10'000, how);
    for (std::thread& t : workers) t.join();
    stopped = true;
    watcher.join();
    if (total.broken > 0 && total.events == 0) die("no event told of a queue pair that broke");
}

void report(clock_type::duration took) {
    const double seconds = std::chrono::duration<double>(took).count();
    const double mib = static_cast<double>(total.bytes) / (1024 * 1024);
    std::printf(
        "%.1f MiB compared, %.2f MiB/s, %llu rounds, %llu connections, %llu broken, "
        "%llu stalled, %llu refused, %llu events\n",
        mib, mib / seconds, static_cast<unsigned long long>(total.rounds),
        static_cast<unsigned long long>(total.connections),
        static_cast<unsigned long long>(total.broken),
        static_cast<unsigned long long>(total.stalled),
        static_cast<unsigned long long>(total.refused),
        static_cast<unsigned long long>(total.events));
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() < 4 || (args[0] == "run" && (args.size() < 7 || args.size() > 8))) die(usage);
    std::signal(SIGTERM, [](int) { stopped = true; });
    const softrnic::address where = must(softrnic::address::resolve(args[1], args[2]));
    const auto start = clock_type::now();
    const auto until = start + std::chrono::seconds(std::stoul(args[3]));
    if (args[0] == "serve") {
        serve(where, until);
    } else {
        run(where, until, std::stoull(args[4]), std::stoull(args[5]),
            {.steady = args[6] == "steady",
             .empty_reads = args.size() == 7 || args[7] != "no-empty-reads"});
    }
    report(clock_type::now() - start);
    return total.rounds > 0 ? 0 : 3;
} catch (const std::exception& e) {
    die(e.what());
}
