// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "tcp.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "softrnic/deadline.hpp"

namespace wirepeer {
namespace {

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void set(const descriptor& fd, int level, int option, int value) {
    if (setsockopt(fd.get(), level, option, &value, sizeof value) != 0) fail("setsockopt");
}

descriptor make_socket(int family, int mss) {
    descriptor fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd.get() < 0) fail("socket");
    if (mss > 0) set(fd, IPPROTO_TCP, TCP_MAXSEG, mss);
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    return fd;
}

socklen_t length_of(const softrnic::address& a) {
    return a.family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

softrnic::address name_of(const descriptor& fd) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0)
        fail("getsockname");
    return softrnic::address(reinterpret_cast<sockaddr*>(&storage));
}

void wait_readable(const descriptor& fd, const char* what) {
    const auto ready = softrnic::detail::wait_readable(fd.get(), patience);
    if (!ready) throw std::runtime_error(ready.error().message());
    if (!*ready) throw std::runtime_error(std::string("nothing came: ") + what);
}

/// Reads what a reset may end as well.
template <class Read>
void allow_reset(Read read) {
    try {
        read();
    } catch (const std::system_error& e) {
        if (e.code() != std::errc::connection_reset) throw;
    }
}

/// The rules that every segment of a softrnic has to follow, whatever the message is.
void check_sender(const segment& s) {
    if (s.ddp_version != 1 || s.rdmap_version != 1)
        throw std::runtime_error("wrong version: " + describe(s));
    if (s.ddp_reserved != 0 || s.rdmap_reserved != 0)
        throw std::runtime_error("reserved bits are set: " + describe(s));
    const bool invalidates = s.opcode == op::send_inv || s.opcode == op::send_se_inv;
    if (!s.tagged && !invalidates && s.inv_stag != 0)
        throw std::runtime_error("the reserved field is not zero: " + describe(s));
}

}  // namespace

tcp_stream tcp_stream::connect(const softrnic::address& to, int mss) {
    descriptor fd = make_socket(to.family(), mss);
    if (::connect(fd.get(), to.native(), length_of(to)) != 0) fail("connect");
    return tcp_stream(std::move(fd));
}

softrnic::address tcp_stream::local_address() const {
    return name_of(fd_);
}

void tcp_stream::send(byte_view data) const {
    while (!data.empty()) {
        const ssize_t n = ::send(fd_.get(), data.data(), data.size(), MSG_NOSIGNAL);
        if (n < 0) fail("send");
        data = data.subspan(static_cast<std::size_t>(n));
    }
}

void tcp_stream::send_urgent(byte_view data) const {
    const ssize_t n = ::send(fd_.get(), data.data(), data.size(), MSG_NOSIGNAL | MSG_OOB);
    if (n != static_cast<ssize_t>(data.size())) throw std::runtime_error("send urgent data");
}

void tcp_stream::send_cut(byte_view data, std::span<const std::size_t> cuts) const {
    std::size_t at = 0;
    for (const std::size_t cut : cuts) {
        send(data.subspan(at, cut - at));
        at = cut;
    }
    send(data.subspan(at));
}

void tcp_stream::take_little() const {
    set(fd_, SOL_SOCKET, SO_RCVBUF, 8192);
}

void tcp_stream::finish() const {
    if (shutdown(fd_.get(), SHUT_WR) != 0) fail("shutdown");
}

void tcp_stream::reset() {
    const linger at_once{1, 0};
    if (setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) != 0)
        fail("setsockopt");
    fd_ = descriptor();
}

std::size_t tcp_stream::read_some(std::span<std::uint8_t> room) const {
    const ssize_t n = recv(fd_.get(), room.data(), room.size(), 0);
    if (n < 0) fail("recv");
    return static_cast<std::size_t>(n);
}

bytes tcp_stream::read(std::size_t count) const {
    bytes got(count);
    std::size_t have = 0;
    while (have < count) {
        wait_readable(fd_, "bytes of the other side");
        const std::size_t n = read_some(std::span(got).subspan(have));
        if (n == 0)
            throw std::runtime_error("closed after " + std::to_string(have) + " of " +
                                     std::to_string(count) + " bytes");
        have += n;
    }
    return got;
}

bytes tcp_stream::read_to_end() const {
    constexpr std::size_t step = 65536;
    bytes got;
    for (std::size_t n = step; n > 0;) {
        const std::size_t have = got.size();
        got.resize(have + step);
        wait_readable(fd_, "bytes of the other side, or the end");
        n = read_some(std::span(got).subspan(have));
        got.resize(have + n);
    }
    return got;
}

mpa_frame tcp_stream::read_frame(bool reply) const {
    bytes whole = read(frame_head);
    append(whole, read(private_length(whole)));
    return decode_frame(whole, reply);
}

void tcp_stream::exchange_frames() const {
    send(first_revision_frame(false));
    (void)read_frame(true);
}

segment tcp_stream::read_segment() const {
    bytes whole = read(2);
    const std::size_t length = static_cast<std::size_t>(whole[0]) << 8 | whole[1];
    append(whole, read((2 + length + 3) / 4 * 4 + 4 - 2));
    const byte_view body = byte_view(whole).subspan(2, length);
    if (whole != frame_ulpdu(body)) throw std::runtime_error("padding or CRC of " + hex(whole));
    segment s = decode_segment(body);
    check_sender(s);
    return s;
}

segment tcp_stream::read_message(std::vector<segment>* parts) const {
    segment message = read_segment();
    if (parts) parts->push_back(message);
    bool last = message.last;
    while (!last) {
        const segment more = read_segment();
        if (parts) parts->push_back(more);
        const std::size_t done = message.payload.size();
        segment expected = message;
        expected.last = more.last;
        expected.payload = more.payload;
        if (message.tagged)
            expected.to += done;
        else
            expected.mo += static_cast<std::uint32_t>(done);
        if (more != expected)
            throw std::runtime_error("the next segment is not the next one: " + describe(more));
        append(message.payload, more.payload);
        last = more.last;
    }
    message.last = true;
    return message;
}

void tcp_stream::expect_closed() const {
    wait_readable(fd_, "the end");
    bytes room(64);
    room.resize(read_some(room));
    if (!room.empty()) throw std::runtime_error("more instead of the end: " + hex(room));
}

void tcp_stream::expect_dropped() const {
    allow_reset([this] { expect_closed(); });
}

void tcp_stream::expect_over() const {
    allow_reset([this] { (void)read_to_end(); });
}

bool tcp_stream::is_quiet() const {
    const auto ready = softrnic::detail::wait_readable(fd_.get(), moment);
    if (!ready) throw std::runtime_error(ready.error().message());
    return !*ready;
}

void tcp_stream::expect_quiet() const {
    if (is_quiet()) return;
    bytes room(64);
    room.resize(read_some(room));
    throw std::runtime_error("something came: " + hex(room));
}

tcp_listener::tcp_listener(const softrnic::address& where, int mss)
    : fd_(make_socket(where.family(), mss)) {
    // Connections of an earlier test may still be in TIME_WAIT at that port.
    set(fd_, SOL_SOCKET, SO_REUSEADDR, 1);
    if (bind(fd_.get(), where.native(), length_of(where)) != 0) fail("bind");
    if (listen(fd_.get(), 4) != 0) fail("listen");
}

softrnic::address tcp_listener::local_address() const {
    return name_of(fd_);
}

tcp_stream tcp_listener::accept() const {
    wait_readable(fd_, "a connection");
    descriptor fd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (fd.get() < 0) fail("accept");
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    return tcp_stream(std::move(fd));
}

}  // namespace wirepeer
