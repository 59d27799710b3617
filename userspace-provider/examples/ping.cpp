// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Messages there and back again, and how long they took.
//
// Shown here: dial() with receives posted before the connection stands, listen(), buffers,
// completions.
#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "example.hpp"

namespace {

using example::must;
using softrnic::access;
using softrnic::endpoint;

constexpr const char* usage =
    "usage: softrnic-ping server [ADDRESS]      answer one client\n"
    "       softrnic-ping client ADDRESS        send messages and time the answers\n"
    "options: --port P (7471)  --count N (1000)  --size BYTES (64)  --timeout SECONDS (10)\n"
    "         --poll 1  spin for completions instead of sleeping\n";

struct settings {
    std::size_t count;
    std::uint32_t size;
    bool spin;
    std::chrono::milliseconds timeout;
};

/// Memory for both directions: what goes out in the first half, what comes in in the second.
struct memory {
    softrnic::buffer bytes;
    softrnic::local_slice out;
    softrnic::local_slice in;

    memory(endpoint& end, std::uint32_t size)
        : bytes(must(
              softrnic::buffer::create(end.domain(), std::size_t{2} * size, access::local_write))),
          out(bytes.sub(0, size)),
          in(bytes.sub(size, size)) {}

    [[nodiscard]] std::byte* out_data() { return bytes.bytes().data(); }
    [[nodiscard]] std::byte* in_data() { return bytes.bytes().data() + out.length; }
};

/// Waits for the completion of a receive; those of sends on the way are of no interest.
ibv_wc wait_for_message(endpoint& end, const settings& s) {
    for (;;) {
        softrnic::cq& queue = end.recv_cq();
        const ibv_wc wc =
            s.spin ? must(queue.spin_one(s.timeout)) : must(queue.wait_one(s.timeout));
        if (!softrnic::ok(wc)) example::die(std::string(softrnic::status_text(wc)));
        if (wc.opcode == IBV_WC_RECV) return wc;
    }
}

int serve(const softrnic::address& where, const settings& s) {
    const softrnic::listener listener = example::listen(where);

    softrnic::connection peer = must(listener.next(s.timeout));
    must(peer.create_queues({.max_send_wr = 16, .max_recv_wr = 16}));
    memory mem(peer, s.size);
    must(peer.qp().recv(mem.in));
    must(peer.accept());

    for (std::size_t i = 0; i < s.count; ++i) {
        const ibv_wc wc = wait_for_message(peer, s);
        std::memcpy(mem.out_data(), mem.in_data(), wc.byte_len);
        // The room for the next message comes first: the answer may bring it at once.
        must(peer.qp().recv(mem.in));
        must(peer.qp().send(mem.bytes.sub(0, wc.byte_len)));
    }
    must(peer.wait_disconnected(s.timeout));
    std::printf("answered %zu messages\n", s.count);
    return 0;
}

void report(std::vector<double>& micros, std::uint32_t size) {
    std::sort(micros.begin(), micros.end());
    const auto at = [&](double share) {
        return micros[static_cast<std::size_t>(share * static_cast<double>(micros.size() - 1))];
    };
    std::printf("%zu messages of %" PRIu32
                " bytes, there and back in microseconds:\n"
                "min %.1f  median %.1f  99%% %.1f  max %.1f\n",
                micros.size(), size, micros.front(), at(0.5), at(0.99), micros.back());
}

int ping(const softrnic::address& where, const settings& s) {
    softrnic::connection peer = must(softrnic::resolve(where, {.timeout = s.timeout}));
    must(peer.create_queues({.max_send_wr = 16, .max_recv_wr = 16}));
    memory mem(peer, s.size);
    must(peer.qp().recv(mem.in));
    must(peer.connect({.timeout = s.timeout}));

    std::vector<double> micros;
    for (std::size_t i = 0; i < s.count; ++i) {
        std::memset(mem.out_data(), static_cast<int>(i), s.size);
        const auto start = std::chrono::steady_clock::now();
        must(peer.qp().send(mem.out));
        const ibv_wc wc = wait_for_message(peer, s);
        micros.push_back(
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
                .count());
        if (wc.byte_len != s.size || std::memcmp(mem.in_data(), mem.out_data(), s.size) != 0)
            example::die("the answer differs from the question");
        if (i + 1 < s.count) must(peer.qp().recv(mem.in));
    }
    must(peer.disconnect());
    report(micros, s.size);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const example::arguments args(argc, argv, usage);
    const settings s{.count = args.number("count", 1000),
                     .size = static_cast<std::uint32_t>(args.number("size", 64)),
                     .spin = args.number("poll", 0) != 0,
                     .timeout = args.timeout()};
    if (s.count == 0 || s.size == 0) args.wrong();
    if (args.word(0) == "server")
        return serve(args.address(args.count() > 1 ? args.word(1) : ""), s);
    if (args.word(0) == "client") return ping(args.address(args.word(1)), s);
    args.wrong();
}
