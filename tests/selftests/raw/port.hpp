// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// TCP connections to the port of a link, and in place of it.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "descriptor.hpp"
#include "end.hpp"

namespace by_hand {

using support::descriptor;

/// Where peers connect to.
inline sockaddr_in port_of(const device& dev) {
    sockaddr_in port{};
    port.sin_family = AF_INET;
    port.sin_port = htons(5040);
    std::copy_n(dev.gid().raw + 12, 4, reinterpret_cast<unsigned char*>(&port.sin_addr));
    return port;
}

/// A stranger's connection to the port of the link, or of the link to a stranger.
class stranger {
public:
    explicit stranger(int socket) : socket_(socket), connected_(true) {}

    explicit stranger(const device& dev) { connect_to(dev); }

    /// From an address of this host.
    stranger(const device& dev, const char* source) {
        sockaddr_in from{};
        from.sin_family = AF_INET;
        if (::inet_pton(AF_INET, source, &from.sin_addr) != 1 ||
            ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0)
            throw std::runtime_error("cannot use the address");
        connect_to(dev);
    }
    bool connected() const { return connected_; }

    /// This end's port.
    std::uint16_t port() const { return port_by(::getsockname); }
    /// The other end's port.
    std::uint16_t peer_port() const { return port_by(::getpeername); }

    void say(std::string_view text) const {
        (void)::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }

    /// So many bytes, or what came before the end or within the time.
    std::string hear(std::size_t size, std::chrono::seconds limit) const {
        std::string text(size, '\0');
        std::size_t have = 0;
        while (have < size) {
            const ssize_t n = read(text.data() + have, size - have, limit);
            if (n <= 0) break;
            have += static_cast<std::size_t>(n);
        }
        text.resize(have);
        return text;
    }

    /// Whether the link ends the connection within the time, and says nothing before.
    bool is_closed(std::chrono::seconds limit) const {
        char byte = 0;
        return read(&byte, 1, limit) <= 0;
    }

    /// Whether the link has neither spoken nor ended the connection so far.
    bool is_waited_for() const {
        char byte = 0;
        return ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
    }

private:
    void connect_to(const device& dev) {
        const sockaddr_in to = port_of(dev);
        connected_ =
            ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    }

    std::uint16_t port_by(int (*get_name)(int, sockaddr*, socklen_t*)) const {
        sockaddr_in name{};
        socklen_t size = sizeof name;
        (void)get_name(socket_.get(), reinterpret_cast<sockaddr*>(&name), &size);
        return ntohs(name.sin_port);
    }

    /// Returns 0 or -1 at the end of the connection, and 1 or more otherwise. Throws if nothing
    /// happens.
    ssize_t read(char* out, std::size_t size, std::chrono::seconds limit) const {
        pollfd waits{.fd = socket_.get(), .events = POLLIN, .revents = 0};
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit);
        if (::poll(&waits, 1, static_cast<int>(ms.count())) != 1)
            throw std::runtime_error("the link neither speaks nor closes");
        return ::recv(socket_.get(), out, size, 0);
    }

    descriptor socket_{::socket(AF_INET, SOCK_STREAM, 0)};
    bool connected_ = false;
};

/// Listens at the port of the link, in place of the link.
class impostor {
public:
    explicit impostor(const device& dev) {
        const sockaddr_in at = port_of(dev);
        const int yes = 1;
        ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
            ::listen(listener_.get(), 8) != 0)
            throw std::runtime_error("cannot listen at the port");
    }

    /// The next connection, or none within the time.
    std::optional<stranger> next(std::chrono::milliseconds limit) const {
        pollfd waits{.fd = listener_.get(), .events = POLLIN, .revents = 0};
        if (::poll(&waits, 1, static_cast<int>(limit.count())) != 1) return std::nullopt;
        return stranger(::accept(listener_.get(), nullptr, nullptr));
    }

private:
    descriptor listener_{::socket(AF_INET, SOCK_STREAM, 0)};
};

}  // namespace by_hand
