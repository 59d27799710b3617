// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// One end of a connection whose other end, or the network between, is about to do something bad. It
// tells when the connection stands and is in use ("ready"), and then what became of it and when:
// an end must be complete, with the connection manager's event, the queue pair in ERR, and all that
// was posted flushed; and destroying it all must not take long either.
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "die.hpp"
#include "must.hpp"

namespace {

using namespace std::chrono_literals;
using softrnic::access;
using softrnic::remote_slice;
using support::die;
using support::must;
using clock_type = std::chrono::steady_clock;

constexpr const char* usage =
    "usage: witness listen|connect ADDRESS PORT idle|busy|refused LIMIT [LEAVE]\n"
    "idle: has receives posted; busy: sends without end, or writes if the peer names memory;\n"
    "refused: the connection must not come to be within LIMIT seconds, with an error.\n"
    "LIMIT: seconds that the end may take from \"ready\" on. LEAVE: seconds after which this end\n"
    "disconnects; there must be no end before.\n"
    "Exit status: 0: it ended as it should; 1: it did not.\n";

constexpr std::uint32_t receives = 8;
constexpr std::uint32_t depth = 16;
constexpr std::uint32_t message = 65'536;
/// Limit for closing everything.
constexpr std::chrono::seconds destroy_limit = 15s;

double seconds_since(clock_type::time_point start) {
    return std::chrono::duration<double>(clock_type::now() - start).count();
}

class witness {
public:
    witness(softrnic::connection end, bool busy) : end_(std::move(end)), busy_(busy) {
        must(end_.create_queues({.max_send_wr = depth, .max_recv_wr = receives}));
        memory_ = must(softrnic::buffer::create(end_.domain(), message,
                                                access::local_write | access::remote_write));
        for (std::uint32_t i = 0; i < receives; ++i) must(end_.qp().recv(memory_.all()));
        outstanding_ = receives;
    }

    softrnic::result<void> connect(std::chrono::seconds limit) {
        const auto offer = memory_.remote().to_bytes();
        return end_.connect({.private_data = offer, .timeout = limit});
    }
    softrnic::result<void> accept() {
        const auto offer = memory_.remote().to_bytes();
        return end_.accept({.private_data = offer, .timeout = 10s});
    }

    /// Uses the connection until it ends; ends it itself when it is time to leave.
    void use(clock_type::time_point ready, std::chrono::seconds limit, std::chrono::seconds leave) {
        const auto leaving = leave > 0s ? ready + leave : clock_type::time_point::max();
        while (!ended_) {
            while (busy_ && !left_ && sends_ < depth && post()) ++sends_, ++outstanding_;
            (void)take(100ms);
            if (!left_ && clock_type::now() >= leaving) {
                left_ = true;
                must(end_.disconnect());
            }
            if (!ended_ && clock_type::now() > ready + limit)
                die("no end within " + std::to_string(limit.count()) + " s");
        }
        if (leave > 0s && !left_) die("it ended by itself");
    }

    /// The rest of the end must be there at once.
    void settle(clock_type::time_point ready) {
        const double first = seconds_since(ready);
        const softrnic::deadline until(10s);
        while (outstanding_ > 0)
            if (!take(until)) die(std::to_string(outstanding_) + " requests were never flushed");
        if (const auto gone = end_.wait_disconnected(until); !gone)
            die("no DISCONNECTED: " + gone.error().message());
        if (must(end_.qp().state()) != IBV_QPS_ERR) die("the queue pair is not in ERR");
        const double complete = seconds_since(ready);
        std::printf("flushed after %.1f s, complete after %.1f s, %u flushed, event: %s\n", first,
                    complete, flushed_, event_of_qp());
    }

private:
    /// What was said about the queue pair, not about its link.
    const char* event_of_qp() {
        for (const softrnic::deadline until(500ms);;) {
            const auto event = end_.context().wait_async_event(until);
            if (!event) return "none";
            if (event->event_type <= IBV_EVENT_QP_ACCESS_ERR)
                return ibv_event_type_str(event->event_type);
        }
    }

    bool post() {
        const auto offer = end_.peer_data();
        if (offer.size() < remote_slice::wire_size)
            return static_cast<bool>(end_.qp().send(memory_.all()));
        const auto there = remote_slice::from_bytes(offer.first<remote_slice::wire_size>());
        return static_cast<bool>(end_.qp().write(memory_.all(), there));
    }

    /// One completion, if it comes in time.
    bool take(softrnic::deadline until) {
        const auto wc = end_.recv_cq().wait_one(until);
        if (!wc) return false;
        --outstanding_;
        if (wc->status == IBV_WC_SUCCESS) {
            --sends_;
            return true;
        }
        if (wc->status != IBV_WC_WR_FLUSH_ERR)
            die(std::string("not flushed but: ") + ibv_wc_status_str(wc->status));
        ++flushed_;
        ended_ = true;
        return true;
    }

    softrnic::connection end_;
    softrnic::buffer memory_;
    bool busy_;
    bool ended_ = false;
    bool left_ = false;
    std::uint32_t sends_ = 0;
    std::uint32_t outstanding_ = 0;
    std::uint32_t flushed_ = 0;
};

softrnic::connection meet(bool listens, const softrnic::address& where,
                          std::chrono::seconds limit) {
    if (!listens) return must(softrnic::resolve(where, {.source = {}, .timeout = limit}));
    return must(must(softrnic::listen(where)).next(30s));
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() < 5 || args.size() > 6) die(usage);
    const bool listens = args[0] == "listen";
    const softrnic::address where = must(softrnic::address::resolve(args[1], args[2]));
    const std::chrono::seconds limit(std::stoul(args[4]));
    const std::chrono::seconds leave(args.size() > 5 ? std::stoul(args[5]) : 0);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);

    auto start = clock_type::now();
    {
        witness w(meet(listens, where, limit), args[3] == "busy");
        const auto connected = listens ? w.accept() : w.connect(limit);
        if (args[3] == "refused") {
            if (connected) die("it is connected");
            if (clock_type::now() - start >= limit) die("nothing was reported");
            std::printf("refused after %.1f s: %s\n", seconds_since(start),
                        connected.error().message().c_str());
            return 0;
        }
        must(connected);
        start = clock_type::now();
        std::puts("ready");
        w.use(start, limit, leave);
        w.settle(start);
        start = clock_type::now();
    }
    std::printf("destroyed in %.1f s\n", seconds_since(start));
    return clock_type::now() - start < destroy_limit ? 0 : 1;
} catch (const std::exception& e) {
    die(e.what());
}
