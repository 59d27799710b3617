// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What a message takes over plain TCP, to compare latencies with: half a round trip, as perftest
// counts a Send, with blocking calls and without Nagle's delay.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "number.hpp"

namespace {

using support::number;

constexpr const char* usage =
    "usage: tcp_pingpong serve PORT SIZE\n"
    "       tcp_pingpong run ADDRESS PORT SIZE COUNT\n"
    "The client prints the median and the 99th percentile of half a round trip in microseconds.\n";

constexpr int warm_up_rounds = 50;

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

class socket_owner {
public:
    explicit socket_owner(int fd) : fd_(fd) {
        if (fd_ < 0) fail("socket");
    }
    ~socket_owner() { ::close(fd_); }
    socket_owner(const socket_owner&) = delete;
    socket_owner& operator=(const socket_owner&) = delete;

    int fd() const { return fd_; }

    void no_delay() const {
        const int on = 1;
        if (::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) fail("TCP_NODELAY");
    }

    void send_all(std::span<const std::byte> data) const {
        while (!data.empty()) {
            const ssize_t done = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
            if (done < 0) fail("send");
            data = data.subspan(static_cast<std::size_t>(done));
        }
    }

    /// False at the end of the stream.
    bool receive_all(std::span<std::byte> data) const {
        while (!data.empty()) {
            const ssize_t done = ::recv(fd_, data.data(), data.size(), 0);
            if (done < 0) fail("recv");
            if (done == 0) return false;
            data = data.subspan(static_cast<std::size_t>(done));
        }
        return true;
    }

private:
    int fd_;
};

sockaddr_in address_of(const char* host, std::uint16_t port) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    if (host != nullptr && ::inet_pton(AF_INET, host, &where.sin_addr) != 1)
        throw std::invalid_argument("no IPv4 address");
    return where;
}

void serve(std::uint16_t port, std::size_t size) {
    const socket_owner listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    if (::setsockopt(listener.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0)
        fail("SO_REUSEADDR");
    const sockaddr_in where = address_of(nullptr, port);
    if (::bind(listener.fd(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0 ||
        ::listen(listener.fd(), 1) != 0)
        fail("listen");
    const socket_owner peer(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    peer.no_delay();
    std::vector<std::byte> message(size);
    while (peer.receive_all(message)) peer.send_all(message);
}

void run(const char* host, std::uint16_t port, std::size_t size, std::size_t count) {
    using clock = std::chrono::steady_clock;
    const socket_owner peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in where = address_of(host, port);
    if (::connect(peer.fd(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0)
        fail("connect");
    peer.no_delay();
    std::vector<std::byte> message(size);
    std::vector<double> times;
    times.reserve(count);
    for (std::size_t i = 0; i < count + warm_up_rounds; ++i) {
        const auto start = clock::now();
        peer.send_all(message);
        if (!peer.receive_all(message)) throw std::runtime_error("the server ended");
        const std::chrono::duration<double, std::micro> round = clock::now() - start;
        if (i >= warm_up_rounds) times.push_back(round.count() / 2);
    }
    std::sort(times.begin(), times.end());
    std::printf("%.3f %.3f\n", times[times.size() / 2], times[times.size() * 99 / 100]);
}

}  // namespace

int main(int argc, char** argv) {
    const std::span<char*> words(argv, static_cast<std::size_t>(argc));
    try {
        if (argc == 4 && std::string_view(words[1]) == "serve") {
            serve(number<std::uint16_t>(words[2]), number<std::size_t>(words[3]));
        } else if (argc == 6 && std::string_view(words[1]) == "run") {
            run(words[2], number<std::uint16_t>(words[3]), number<std::size_t>(words[4]),
                number<std::size_t>(words[5]));
        } else {
            std::fputs(usage, stderr);
            return 2;
        }
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "tcp_pingpong: %s\n", problem.what());
        return 1;
    }
    return 0;
}
