// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Many connections to a listener by a host that is about to vanish.
//
//   vanisher ADDRESS PORT CONNECTIONS silence|request
//
// "request": each sends an MPA request and waits for the whole reply. Prints "connected" when all
// stand, and keeps them until it is killed.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "must.hpp"
#include "tcp.hpp"

namespace {

using wirepeer::tcp_stream;

void allow_files(rlim_t wanted) {
    const rlimit files{wanted, wanted};
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        throw std::system_error(errno, std::generic_category(), "setrlimit");
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() != 4)
        throw std::runtime_error("usage: vanisher ADDRESS PORT CONNECTIONS silence|request");
    const auto where = support::must(softrnic::address::resolve(args[0], args[1]));
    std::vector<tcp_stream> connections(std::stoul(args[2]));
    allow_files(connections.size() + 64);
    for (tcp_stream& stream : connections) {
        stream = tcp_stream::connect(where);
        if (args[3] == "request") stream.exchange_frames();
    }
    std::puts("connected");
    std::fflush(stdout);
    pause();
    return 0;
} catch (const std::exception& e) {
    std::printf("FAILED: %s\n", e.what());
    return 1;
}
