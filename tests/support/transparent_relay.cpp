// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// usage: transparent_relay ADDRESS PORT
// Takes TCP connections to an IPv4 address that is somebody else's, and makes one to that address
// for each, by which it hands on the bytes of both. Each end sees the other one's address. Packets
// to both have to be delivered here. It serves one connection at a time, says on its standard
// output when it listens, and runs until it is killed.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <stdexcept>
#include <system_error>

#include "descriptor.hpp"
#include "number.hpp"
#include "softrnic/softrnic.hpp"

namespace {

void check(bool good, const char* what) {
    if (!good) throw std::system_error(errno, std::generic_category(), what);
}

/// May use addresses that this host does not have.
support::descriptor transparent_socket(const sockaddr_in& bound) {
    support::descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    check(static_cast<bool>(made), "socket");
    check(setsockopt(made.get(), SOL_IP, IP_TRANSPARENT, &on, sizeof on) == 0, "IP_TRANSPARENT");
    check(setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0, "SO_REUSEADDR");
    check(bind(made.get(), reinterpret_cast<const sockaddr*>(&bound), sizeof bound) == 0, "bind");
    return made;
}

/// False: nothing more comes, or can be handed on.
bool hand_on(int from, int to) {
    std::array<char, 65536> bytes;
    const ssize_t length = recv(from, bytes.data(), bytes.size(), 0);
    for (ssize_t sent = 0, more = 0; sent < length; sent += more) {
        more = send(to, bytes.data() + sent, static_cast<std::size_t>(length - sent), MSG_NOSIGNAL);
        if (more < 0) return false;
    }
    return length > 0;
}

/// Until either end has nothing more to say.
void relay(int client, int server) {
    std::array<pollfd, 2> ends{{{client, POLLIN, 0}, {server, POLLIN, 0}}};
    for (;;) {
        check(poll(ends.data(), ends.size(), -1) > 0, "poll");
        for (std::size_t i = 0; i < ends.size(); ++i) {
            if (ends[i].revents != 0 && !hand_on(ends[i].fd, ends[1 - i].fd)) return;
        }
    }
}

/// From the client's address, as if it were the client's own.
void serve(const support::descriptor& client, const sockaddr_in& peer, const sockaddr_in& where) {
    const support::descriptor server = transparent_socket(peer);
    check(connect(server.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0,
          "connect");
    relay(client.get(), server.get());
}

}  // namespace

int main(int argc, char** argv) try {
    const std::span<char*> args(argv, static_cast<std::size_t>(argc));
    if (args.size() != 3) throw std::runtime_error("usage: transparent_relay ADDRESS PORT");
    const auto port = support::number<std::uint16_t>(args[2]);
    const auto resolved = softrnic::address::resolve(args[1], port);
    if (!resolved) throw std::runtime_error(resolved.error().message());
    sockaddr_in where{};
    std::memcpy(&where, resolved->native(), sizeof where);

    const support::descriptor listener = transparent_socket(where);
    check(listen(listener.get(), SOMAXCONN) == 0, "listen");
    std::puts("listening");
    std::fflush(stdout);
    for (;;) {
        sockaddr_in peer{};
        socklen_t length = sizeof peer;
        const support::descriptor client(
            accept4(listener.get(), reinterpret_cast<sockaddr*>(&peer), &length, SOCK_CLOEXEC));
        check(static_cast<bool>(client), "accept4");
        serve(client, peer, where);
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "transparent_relay: %s\n", e.what());
    return 1;
}
