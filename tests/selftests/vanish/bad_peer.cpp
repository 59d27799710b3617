// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A peer that sets up a connection, or begins to, and then behaves badly until somebody kills it.
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "must.hpp"
#include "tcp.hpp"

namespace {

using namespace std::chrono_literals;
using support::must;
using wirepeer::byte_view;
using wirepeer::bytes;
using wirepeer::tcp_stream;

[[noreturn]] void for_ever() {
    for (;;) std::this_thread::sleep_for(1h);
}

tcp_stream connect(const softrnic::address& to, const std::string& behaviour) {
    tcp_stream stream = tcp_stream::connect(to);
    if (behaviour == "never reads") stream.take_little();
    stream.exchange_frames();
    return stream;
}

tcp_stream accept(const softrnic::address& at, const std::string& behaviour) {
    const wirepeer::tcp_listener listener(at);
    tcp_stream stream = listener.accept();
    if (behaviour == "accepts") for_ever();
    if (behaviour == "never reads") stream.take_little();
    (void)stream.read_frame(false);
    if (behaviour == "reads the request") for_ever();
    const bytes reply = wirepeer::first_revision_frame(true);
    if (behaviour == "replies by half") {
        stream.send(byte_view(reply).first(11));
        for_ever();
    }
    stream.send(reply);
    return stream;
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() != 4)
        throw std::runtime_error("usage: bad_peer listen|connect ADDRESS PORT BEHAVIOUR");
    const std::string& behaviour = args[3];
    const auto where = must(softrnic::address::resolve(args[1], args[2]));
    tcp_stream stream = args[0] == "listen" ? accept(where, behaviour) : connect(where, behaviour);
    std::puts("ready");
    std::fflush(stdout);
    std::this_thread::sleep_for(1s);
    if (behaviour.starts_with("half an FPDU")) {
        const bytes fpdu = wirepeer::fpdu(wirepeer::make_send(1, wirepeer::pattern(64)));
        stream.send(byte_view(fpdu).first(4));
    }
    if (behaviour.ends_with("reset")) stream.reset();
    if (behaviour.ends_with("close")) stream.finish();
    for_ever();
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
