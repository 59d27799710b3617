// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Many connections to a listener by a host that is about to vanish.
//
//   vanisher ADDRESS PORT CONNECTIONS silence|request
//
// "request": each sends an MPA request and waits for the whole reply. Prints "connected" when all
// stand, and keeps them until it is killed.
#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

[[noreturn]] void die(const std::string& what) {
    std::printf("FAILED: %s: %s\n", what.c_str(), std::strerror(errno));
    std::exit(1);
}

int connect_to(const sockaddr_in& peer) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) die("socket");
    if (connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) die("connect");
    return fd;
}

// Revision 1, CRC, no private data: request and reply are of the same length then.
void exchange_frames(int fd) {
    constexpr std::array<char, 20> request{'M', 'P', 'A', ' ', 'I', 'D', ' ',  'R', 'e', 'q',
                                           ' ', 'F', 'r', 'a', 'm', 'e', 0x40, 1,   0,   0};
    if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) != ssize_t{request.size()})
        die("send");
    std::array<char, request.size()> reply{};
    if (recv(fd, reply.data(), reply.size(), MSG_WAITALL) != ssize_t{reply.size()}) die("recv");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) die("usage: vanisher ADDRESS PORT CONNECTIONS silence|request");
    sockaddr_in peer{};
    peer.sin_family = AF_INET;
    peer.sin_port = htons(static_cast<std::uint16_t>(std::stoul(argv[2])));
    if (inet_pton(AF_INET, argv[1], &peer.sin_addr) != 1) die("address");
    const unsigned long wanted = std::stoul(argv[3]);
    const rlimit files{wanted + 64, wanted + 64};
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) die("setrlimit");
    std::vector<int> connections;
    while (connections.size() < wanted) {
        connections.push_back(connect_to(peer));
        if (std::string(argv[4]) == "request") exchange_frames(connections.back());
    }
    std::puts("connected");
    std::fflush(stdout);
    pause();
    return 0;
}
