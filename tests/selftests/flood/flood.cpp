// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Many connections to a listener by somebody who does not mean it.
//
//   flood ADDRESS PORT CONNECTIONS WHAT AT-ONCE LIMIT
//
// WHAT they say: "silence", "half" a request, "garbage", "reset" (they are gone at once, by half),
// "mixed"; or "early": a whole request, of which half are reset at once, and half are closed, so
// that the listener's program may have accepted them in vain. AT-ONCE connections are kept open at
// a time until CONNECTIONS have been made. Each must be ended by the listener within LIMIT seconds
// from when it stood, or the program fails.
//
// Last line: how many stood, were refused, and ended, and how long the longest was open.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "codec.hpp"
#include "die.hpp"

namespace {

using clock_type = std::chrono::steady_clock;
using support::die;

enum class manner { silence, half, garbage, reset, request_and_reset, request_and_close };

manner manner_of(const std::string& name, unsigned long number) {
    if (name == "silence") return manner::silence;
    if (name == "half") return manner::half;
    if (name == "garbage") return manner::garbage;
    if (name == "reset") return manner::reset;
    if (name == "mixed") return static_cast<manner>(number % 4);
    if (name == "early")
        return number % 2 == 0 ? manner::request_and_reset : manner::request_and_close;
    die("no such manner: " + name);
}

struct totals {
    unsigned long stood = 0;
    unsigned long refused = 0;
    unsigned long ended = 0;
    unsigned long unknown = 0;
    clock_type::duration longest{};
} total;

class connection {
public:
    connection(const sockaddr_in& peer, manner how) : how_(how) {
        fd_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd_ < 0) die(std::string("socket: ") + std::strerror(errno));
        if (connect(fd_, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0 &&
            errno != EINPROGRESS)
            over_ = true;
    }
    connection(connection&& other) noexcept
        : fd_(std::exchange(other.fd_, -1)),
          how_(other.how_),
          stands_(other.stands_),
          over_(other.over_),
          asked_(other.asked_),
          since_(other.since_) {}
    connection& operator=(connection&& other) noexcept {
        std::swap(fd_, other.fd_);
        how_ = other.how_;
        stands_ = other.stands_;
        over_ = other.over_;
        asked_ = other.asked_;
        since_ = other.since_;
        return *this;
    }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() {
        if (fd_ >= 0) close(fd_);
    }

    [[nodiscard]] pollfd waits_for() const {
        return {fd_, static_cast<short>(stands_ ? POLLIN : POLLOUT), 0};
    }
    [[nodiscard]] bool over() const { return over_; }
    [[nodiscard]] clock_type::duration open_for() const {
        return stands_ ? clock_type::now() - since_ : clock_type::duration{};
    }

    /// Asks whether the listener knows it; only once.
    void ask() {
        if (asked_) return;
        asked_ = true;
        say(first_of_request(1));
    }

    void happened() {
        if (!stands_)
            begin();
        else
            look();
    }

private:
    void begin() {
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) {
            ++total.refused;
            over_ = true;
            return;
        }
        ++total.stood;
        stands_ = true;
        since_ = clock_type::now();
        speak();
    }

    static wirepeer::byte_view first_of_request(std::size_t count) {
        static const wirepeer::bytes request = wirepeer::first_revision_frame(false);
        return wirepeer::byte_view(request).first(count);
    }

    void speak() {
        static const wirepeer::bytes garbage = wirepeer::pattern(3000);
        switch (how_) {
            case manner::silence: break;
            case manner::half: say(first_of_request(12)); break;
            case manner::garbage: say(garbage); break;
            case manner::reset:
                say(first_of_request(5));
                reset();
                break;
            case manner::request_and_reset:
                say(first_of_request(wirepeer::frame_head));
                reset();
                break;
            case manner::request_and_close:
                say(first_of_request(wirepeer::frame_head));
                finish();
                break;
        }
    }

    void reset() {
        const linger at_once{1, 0};
        setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        finish();
    }

    /// What becomes of it shows when it is read from.
    void say(wirepeer::byte_view what) const {
        (void)send(fd_, what.data(), what.size(), MSG_NOSIGNAL);
    }

    void look() {
        std::array<char, 256> heard{};
        const ssize_t n = recv(fd_, heard.data(), heard.size(), 0);
        if (n > 0) die("the listener answers");
        if (n < 0 && errno == EAGAIN) return;
        finish();
    }

    void finish() {
        over_ = true;
        if (asked_) {
            ++total.unknown;
            return;
        }
        ++total.ended;
        total.longest = std::max(total.longest, open_for());
    }

    int fd_ = -1;
    manner how_;
    bool stands_ = false;
    bool over_ = false;
    bool asked_ = false;
    clock_type::time_point since_;
};

class flood {
public:
    flood(const sockaddr_in& peer, std::string what, std::size_t at_once,
          std::chrono::seconds limit)
        : peer_(peer), what_(std::move(what)), at_once_(at_once), limit_(limit) {}

    void run(unsigned long connections) {
        unsigned long made = 0;
        while (made < connections || !open_.empty()) {
            while (made < connections && open_.size() < at_once_)
                open_.emplace_back(peer_, manner_of(what_, made++));
            wait();
            std::erase_if(open_, [](const connection& c) { return c.over(); });
        }
    }

private:
    void wait() {
        std::vector<pollfd> polled;
        polled.reserve(open_.size());
        for (const connection& c : open_) polled.push_back(c.waits_for());
        if (poll(polled.data(), polled.size(), 200) < 0) die("poll");
        for (std::size_t i = 0; i < polled.size(); ++i) {
            if (polled[i].revents != 0) open_[i].happened();
            if (open_[i].over() || open_[i].open_for() < limit_) continue;
            if (open_[i].open_for() > 2 * limit_) die("a connection is still open after its time");
            open_[i].ask();
        }
    }

    sockaddr_in peer_;
    std::string what_;
    std::size_t at_once_;
    std::chrono::seconds limit_;
    std::vector<connection> open_;
};

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() != 6) die("usage: flood ADDRESS PORT CONNECTIONS WHAT AT-ONCE LIMIT");
    sockaddr_in peer{};
    peer.sin_family = AF_INET;
    peer.sin_port = htons(static_cast<std::uint16_t>(std::stoul(args[1])));
    if (inet_pton(AF_INET, args[0].c_str(), &peer.sin_addr) != 1) die("not an IPv4 address");
    const unsigned long connections = std::stoul(args[2]);
    flood(peer, args[3], std::stoul(args[4]), std::chrono::seconds(std::stoul(args[5])))
        .run(connections);
    std::printf("%lu stood, %lu refused, %lu ended, %lu unknown, longest %.1f s\n", total.stood,
                total.refused, total.ended, total.unknown,
                std::chrono::duration<double>(total.longest).count());
    return total.stood > 0 ? 0 : 1;
}
