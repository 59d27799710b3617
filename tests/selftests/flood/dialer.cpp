// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Somebody who means it, while others flood the listener: connects, moves data, leaves, again and
// again. If it is refused, or not heard, it tries again at once.
//
//   dialer ADDRESS PORT SECONDS
//
// Last line: how often it was connected, how often refused, and the longest time that it took from
// the first try until data had been moved.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>

#include "die.hpp"
#include "must.hpp"

namespace {

using namespace std::chrono_literals;
using support::die;
using support::must;
using clock_type = std::chrono::steady_clock;

/// Connects and reads a little of the memory that the server names.
bool visit(const softrnic::address& server) {
    auto end = softrnic::dial(server, {.route = {.source = {}, .timeout = 5s},
                                       .connect = {.private_data = {}, .timeout = 5s}});
    if (!end) return false;
    const auto memory =
        must(softrnic::buffer::create(end->domain(), 4096, softrnic::access::local_write));
    const auto there = softrnic::remote_slice::from_bytes(
        end->peer_data().first<softrnic::remote_slice::wire_size>());
    must(end->qp().read(memory.all(), there.sub(0, 4096)));
    const auto wc = end->send_cq().wait_one(20s);
    if (!wc || !softrnic::ok(*wc)) die("connected, but no data");
    must(end->disconnect());
    return true;
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() != 3) die("usage: dialer ADDRESS PORT SECONDS");
    const softrnic::address server = must(softrnic::address::resolve(args[0], args[1]));
    const auto end = clock_type::now() + std::chrono::seconds(std::stoul(args[2]));
    unsigned connected = 0;
    unsigned refused = 0;
    clock_type::duration longest{};
    while (clock_type::now() < end) {
        const auto start = clock_type::now();
        while (!visit(server)) {
            ++refused;
            if (clock_type::now() > start + 60s) die("not connected within a minute");
            std::this_thread::sleep_for(20ms);
        }
        ++connected;
        longest = std::max(longest, clock_type::now() - start);
    }
    std::printf("%u connected, %u refused, longest %.1f s\n", connected, refused,
                std::chrono::duration<double>(longest).count());
} catch (const std::exception& e) {
    die(e.what());
}
