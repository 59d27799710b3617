// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// TCP connections to the port of a link, and in place of it.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

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

/// A stranger's connection to the port of the link.
class stranger {
public:
    explicit stranger(const device& dev) {
        const sockaddr_in to = port_of(dev);
        connected_ =
            ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    }

    bool connected() const { return connected_; }

    /// Its own port.
    std::uint16_t port() const {
        sockaddr_in own{};
        socklen_t size = sizeof own;
        ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&own), &size);
        return ntohs(own.sin_port);
    }

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

private:
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

    /// Takes the next connection, reads its request and says this. Returns whether one came.
    bool answer(std::string_view text, std::chrono::milliseconds limit) {
        pollfd waits{.fd = listener_.get(), .events = POLLIN, .revents = 0};
        if (::poll(&waits, 1, static_cast<int>(limit.count())) != 1) return false;
        const int guest = guests_.emplace_back(::accept(listener_.get(), nullptr, nullptr)).get();
        std::array<char, 76> request{};
        (void)::recv(guest, request.data(), request.size(), MSG_WAITALL);
        (void)::send(guest, text.data(), text.size(), MSG_NOSIGNAL);
        return true;
    }

private:
    descriptor listener_{::socket(AF_INET, SOCK_STREAM, 0)};
    std::vector<descriptor> guests_;
};

}  // namespace by_hand
