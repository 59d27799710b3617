// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What a peer, or a process, can make the kernel keep for connections.
//
//   holdings serve ADDRESS PORT CONNECTIONS HOW
//       HOW "accept": takes all of them, says "ready" and waits. "send": then sends to each, on
//       SIGUSR1, more than it takes, says "stalled" and waits. "later": says "ready" as soon as it
//       listens, and takes none.
//   holdings peer ADDRESS PORT CONNECTIONS WHAT
//       By plain TCP. WHAT "byte", "part": on SIGUSR1 sends the header of the longest FPDU and that
//       much of its payload, and never the rest. "messages": on SIGUSR1 sends messages for which
//       there are no receives, as a softrnic. "nothing": never reads. Each of them says "ready"
//       when all connections stand. "early": sends to a listener that takes none until nothing
//       more fits. Says "sent BYTES", and waits.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "codec.hpp"
#include "descriptor.hpp"
#include "die.hpp"
#include "must.hpp"
#include "script_steps.hpp"

namespace {

using namespace std::chrono_literals;
using support::block_signal;
using support::die;
using support::must;
using support::say;
using support::wait_for_signal;

/// All of them together are more than a window, a send buffer and a batch hold.
constexpr std::size_t piece = 16 * 1024;
constexpr std::uint32_t sends = 4;

std::vector<softrnic::connection> accept_all(const softrnic::listener& listener,
                                             std::size_t count) {
    std::vector<softrnic::connection> all;
    while (all.size() < count) {
        all.push_back(must(listener.next(30s)));
        must(all.back().create_queues({.max_send_wr = sends, .max_recv_wr = 1}));
        must(all.back().accept({.private_data = {}, .timeout = 30s}));
    }
    return all;
}

std::vector<softrnic::buffer> send_to_all(std::vector<softrnic::connection>& all) {
    std::vector<softrnic::buffer> memory;
    for (softrnic::connection& c : all) {
        memory.push_back(
            must(softrnic::buffer::create(c.domain(), piece, softrnic::access::local_write)));
        std::array<softrnic::local_slice, 4> pieces{};
        pieces.fill(memory.back().all());
        for (std::uint32_t i = 0; i < sends; ++i) must(c.qp().send(pieces));
    }
    return memory;
}

void serve(const softrnic::address& where, std::size_t count, const std::string& how) {
    const auto listener = must(softrnic::listen(where, 1024));
    if (how == "later") {
        say("ready");
        pause();
    }
    auto all = accept_all(listener, count);
    say("ready");
    wait_for_signal();
    if (how != "send") pause();
    const auto memory = send_to_all(all);
    say("stalled");
    pause();
}

/// Length field and header of a Send that is as long as the length field can say.
constexpr std::array<std::uint8_t, 20> header{0xff, 0xff, 0x41, 0x43, 0, 0, 0, 0, 0, 0,
                                              0,    0,    0,    0,    0, 1, 0, 0, 0, 0};
/// Of its payload, which is 65517 bytes long.
constexpr std::size_t part_of_payload = 65'000;

/// Sends as much as there is room for. Returns how much that was.
std::size_t send_some(int fd, wirepeer::byte_view data, int flags) {
    const ssize_t n = send(fd, data.data(), data.size(), MSG_NOSIGNAL | flags);
    if (n < 0 && errno != EAGAIN) die(std::string("send: ") + std::strerror(errno));
    return n < 0 ? 0 : static_cast<std::size_t>(n);
}

support::descriptor connect_to(const sockaddr_in& peer) {
    support::descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) die("socket");
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0)
        die("connect");
    const wirepeer::bytes request = wirepeer::first_revision_frame(false);
    if (send_some(fd.get(), request, 0) != request.size()) die("request");
    return fd;
}

void read_reply(int fd) {
    std::array<char, wirepeer::frame_head> reply{};
    if (recv(fd, reply.data(), reply.size(), MSG_WAITALL) != ssize_t{reply.size()}) die("reply");
}

/// All of it, or what fits within a moment.
std::size_t send_as_much_as_fits(int fd, wirepeer::byte_view data) {
    std::size_t sent = 0;
    pollfd writable{fd, POLLOUT, 0};
    while (sent < data.size() && poll(&writable, 1, 300) == 1)
        sent += send_some(fd, data.subspan(sent), MSG_DONTWAIT);
    return sent;
}

wirepeer::bytes unfinished_fpdu(std::size_t payload) {
    wirepeer::bytes fpdu(header.begin(), header.end());
    fpdu.resize(header.size() + payload);
    return fpdu;
}

/// A softrnic's: they wait for receives.
wirepeer::bytes messages() {
    wirepeer::bytes all = wirepeer::fpdu(wirepeer::make_greeting({}));
    for (std::uint32_t msn = 1; msn <= 50; ++msn)
        wirepeer::append(all,
                         wirepeer::fpdu(wirepeer::make_send(msn, wirepeer::pattern(4000, msn))));
    return all;
}

void be_peer(const sockaddr_in& server, std::size_t count, const std::string& what) {
    std::vector<support::descriptor> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(connect_to(server));
    wirepeer::bytes data(std::size_t{1} << 20U);
    if (what != "early") {
        for (const support::descriptor& fd : all) read_reply(fd.get());
        say("ready");
        data =
            what == "messages" ? messages() : unfinished_fpdu(what == "part" ? part_of_payload : 1);
        wait_for_signal();
    }
    std::size_t sent = 0;
    if (what != "nothing")
        for (const support::descriptor& fd : all) sent += send_as_much_as_fits(fd.get(), data);
    say("sent " + std::to_string(sent));
    pause();
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() != 5) die("usage: holdings serve|peer ADDRESS PORT CONNECTIONS HOW");
    const std::size_t count = std::stoul(args[3]);
    block_signal();
    if (args[0] == "serve") {
        serve(must(softrnic::address::resolve(args[1], args[2])), count, args[4]);
        return 0;
    }
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_port = htons(static_cast<std::uint16_t>(std::stoul(args[2])));
    if (inet_pton(AF_INET, args[1].c_str(), &server.sin_addr) != 1) die("not an IPv4 address");
    be_peer(server, count, args[4]);
} catch (const std::exception& e) {
    die(e.what());
}
