// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "peer.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "choices.hpp"
#include "codec.hpp"
#include "descriptor.hpp"

namespace fuzz_cm {

namespace {

using support::descriptor;
using wirepeer::bytes;

socklen_t length_of(const softrnic::address& a) {
    return a.family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

void pause(choices& c, std::size_t most) {
    std::this_thread::sleep_for(std::chrono::milliseconds(c.below(most)));
}

/// One connection, in one role. No call on its socket blocks for long.
class conversation {
public:
    conversation(shared_state& all, choices& c, descriptor fd, bool replies)
        : all_(all), c_(c), fd_(std::move(fd)), replies_(replies) {
        const timeval limit{0, 100'000};
        setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        const int on = 1;
        setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }

    void run() {
        if (replies_ && !c_.one_in(3)) read();
        // Without a good frame at first there is seldom more to see.
        if (!c_.one_in(4)) send(action::peer_sends_frame, frame());
        for (std::size_t steps = c_.below(6); steps > 0; --steps) step();
        end();
    }

private:
    void step() {
        switch (c_.below(12)) {
            case 0: send(action::peer_sends_frame, frame()); break;
            case 1: send(action::peer_sends_broken_frame, broken(frame())); break;
            case 2: send_in_pieces(); break;
            case 3: send(action::peer_sends_rubbish, c_.bytes(1 + c_.below(200))); break;
            case 4: send(action::peer_sends_fpdu, fpdu()); break;
            case 5: send(action::peer_sends_fpdu, broken(fpdu())); break;
            case 6:
                send(action::peer_sends_terminate,
                     wirepeer::fpdu(wirepeer::make_terminate(c_.bytes(4 + c_.below(16)))));
                break;
            case 7: urgent(); break;
            case 8: stop_reading(); break;
            case 9: all_.count(action::peer_finishes, shutdown(fd_.get(), SHUT_WR) == 0); break;
            case 10:
                pause(c_, 60);
                all_.count(action::peer_pauses, true);
                break;
            default: read(); break;
        }
    }

    void send(action what, const bytes& data, int flags = 0) {
        const ssize_t n = ::send(fd_.get(), data.data(), data.size(), MSG_NOSIGNAL | flags);
        all_.count(what, n == static_cast<ssize_t>(data.size()));
    }

    void send_in_pieces() {
        const bytes whole = frame();
        const auto cut =
            whole.begin() + static_cast<std::ptrdiff_t>(1 + c_.below(whole.size() - 1));
        send(action::peer_sends_in_pieces, bytes(whole.begin(), cut));
        pause(c_, 30);
        if (!c_.one_in(4)) send(action::peer_sends_in_pieces, bytes(cut, whole.end()));
    }

    void urgent() { send(action::peer_sends_urgent, c_.bytes(1), MSG_OOB); }

    void read() {
        std::array<std::uint8_t, 4096> room;
        all_.count(action::peer_reads, recv(fd_.get(), room.data(), room.size(), 0) > 0);
    }

    void stop_reading() {
        const int little = 1;
        all_.count(action::peer_stops_reading,
                   setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little) == 0);
    }

    void end() {
        pause(c_, 40);
        if (c_.one_in(2)) {
            const linger at_once{1, 0};
            all_.count(action::peer_resets,
                       setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
        } else {
            all_.count(action::peer_closes, true);
        }
    }

    bytes frame() {
        wirepeer::mpa_frame f;
        f.reply = replies_;
        f.markers = c_.one_in(6);
        f.crc = !c_.one_in(3);
        f.reject = replies_ && c_.one_in(6);
        f.revision = c_.one_in(3) ? 1 : 2;
        if (f.revision == 2)
            f.enhanced = wirepeer::enhanced_words{!c_.one_in(3),
                                                  c_.one_in(2),
                                                  !c_.one_in(3),
                                                  c_.one_in(2),
                                                  static_cast<std::uint16_t>(c_.below(40)),
                                                  static_cast<std::uint16_t>(c_.below(40))};
        f.private_data = c_.bytes(c_.below(64));
        return wirepeer::encode(f);
    }

    bytes fpdu() {
        const auto number = static_cast<std::uint32_t>(1 + c_.below(3));
        if (c_.one_in(2))
            return wirepeer::fpdu(wirepeer::make_send(number, c_.bytes(c_.below(90))));
        return wirepeer::fpdu(wirepeer::make_write(static_cast<std::uint32_t>(c_.below(3)), 0,
                                                   c_.bytes(c_.below(90))));
    }

    bytes broken(bytes whole) {
        for (std::size_t i = 1 + c_.below(3); i > 0; --i)
            whole[c_.below(whole.size())] ^= static_cast<std::uint8_t>(1U << c_.below(8));
        if (c_.one_in(3)) whole.resize(1 + c_.below(whole.size()));
        return whole;
    }

    shared_state& all_;
    choices& c_;
    descriptor fd_;
    bool replies_;
};

bool connected(const descriptor& fd, const softrnic::address& to) {
    if (connect(fd.get(), to.native(), length_of(to)) == 0) return true;
    if (errno != EINPROGRESS) return false;
    pollfd entry{fd.get(), POLLOUT, 0};
    if (poll(&entry, 1, 200) != 1) return false;
    int problem = 0;
    socklen_t size = sizeof problem;
    return getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &problem, &size) == 0 && problem == 0;
}

void set_blocking(const descriptor& fd) {
    const int off = 0;
    (void)ioctl(fd.get(), FIONBIO, &off);
}

descriptor listening(const softrnic::address& where) {
    descriptor fd(socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd.get(), where.native(), length_of(where)) != 0 || listen(fd.get(), 16) != 0)
        throw std::runtime_error("the peer cannot listen at " + where.text() + ": " +
                                 std::strerror(errno));
    return fd;
}

}  // namespace

void dial_at_random(shared_state& all, const plan& p, std::size_t thread) {
    for (std::uint64_t step = 0; !all.over; ++step) {
        choices c(p.seed, thread, step);
        const side& there = p.sides.at(0);
        const auto to = (c.one_in(4) ? there.v6 : there.v4)
                            .with_port(static_cast<std::uint16_t>(actor_port + c.below(ports)));
        descriptor fd(socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        const bool good = connected(fd, to);
        all.count(action::peer_dials, good);
        if (!good) {
            // Nobody listens; a reset is quick.
            pause(c, 20);
            continue;
        }
        set_blocking(fd);
        conversation(all, c, std::move(fd), false).run();
    }
}

void answer_at_random(shared_state& all, const plan& p, std::size_t thread) {
    std::vector<descriptor> listeners;
    std::vector<pollfd> entries;
    const auto number = static_cast<std::uint16_t>(thread % 2);
    for (std::uint16_t i = number; i < ports; i = static_cast<std::uint16_t>(i + 2))
        for (const auto& where : {p.sides.at(1).v4, p.sides.at(1).v6}) {
            listeners.push_back(
                listening(where.with_port(static_cast<std::uint16_t>(peer_port + i))));
            entries.push_back({listeners.back().get(), POLLIN, 0});
        }
    for (std::uint64_t step = 0; !all.over;) {
        if (poll(entries.data(), entries.size(), 200) <= 0) continue;
        const auto ready =
            std::ranges::find_if(entries, [](const pollfd& e) { return e.revents != 0; });
        descriptor fd(accept4(ready->fd, nullptr, nullptr, SOCK_CLOEXEC));
        all.count(action::peer_takes, static_cast<bool>(fd));
        if (!fd) continue;
        choices c(p.seed, thread, step++);
        conversation(all, c, std::move(fd), true).run();
    }
}

}  // namespace fuzz_cm
