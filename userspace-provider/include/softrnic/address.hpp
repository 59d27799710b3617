// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// IPv4 and IPv6 socket addresses with a port: what dial() and listen() take.
///
/// Thread safety: values, no shared state. resolve() may wait for a name server.
#pragma once

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "softrnic/result.hpp"

namespace softrnic {

class address {
public:
    /// No address; what it means (any, or let the kernel choose) depends on the call.
    address() noexcept = default;

    /// Copies a sockaddr_in or sockaddr_in6; anything else gives an empty address.
    explicit address(const sockaddr* from) noexcept {
        if (from != nullptr) std::memcpy(&storage_, from, length_of(from->sa_family));
    }

    /// The first address of a host name or of numbers like "192.0.2.1" and "fe80::1%eth0", and a
    /// port number or service name. An empty host stands for this host: every local IPv4 address
    /// when listening; "::" is every local address of both versions. Errors: ENOENT if the name is
    /// unknown, EAGAIN if the name server did not answer.
    [[nodiscard]] static result<address> resolve(const std::string& host,
                                                 const std::string& service) {
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        hints.ai_flags = host.empty() ? AI_PASSIVE : 0;
        addrinfo* found = nullptr;
        const int rc =
            getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &found);
        if (rc != 0) return detail::fail(errno_of(rc), "getaddrinfo");
        const address first(found->ai_addr);
        freeaddrinfo(found);
        return first;
    }
    [[nodiscard]] static result<address> resolve(const std::string& host, std::uint16_t port) {
        return resolve(host, std::to_string(port));
    }

    [[nodiscard]] bool empty() const noexcept { return storage_.ss_family == AF_UNSPEC; }
    [[nodiscard]] int family() const noexcept { return storage_.ss_family; }

    [[nodiscard]] std::uint16_t port() const noexcept {
        if (family() == AF_INET6) return ntohs(as<sockaddr_in6>().sin6_port);
        return family() == AF_INET ? ntohs(as<sockaddr_in>().sin_port) : std::uint16_t{0};
    }
    [[nodiscard]] address with_port(std::uint16_t port) const noexcept {
        address changed = *this;
        const std::uint16_t big_endian = htons(port);
        constexpr std::size_t offset = offsetof(sockaddr_in, sin_port);
        static_assert(offset == offsetof(sockaddr_in6, sin6_port));
        if (!empty())
            std::memcpy(reinterpret_cast<char*>(&changed.storage_) + offset, &big_endian,
                        sizeof big_endian);
        return changed;
    }

    /// "192.0.2.1:7471" or "[2001:db8::1]:7471".
    [[nodiscard]] std::string text() const {
        std::array<char, INET6_ADDRSTRLEN> host{};
        if (family() == AF_INET) {
            inet_ntop(AF_INET, &as<sockaddr_in>().sin_addr, host.data(), host.size());
            return std::string(host.data()) + ":" + std::to_string(port());
        }
        if (family() == AF_INET6) {
            inet_ntop(AF_INET6, &as<sockaddr_in6>().sin6_addr, host.data(), host.size());
            return "[" + std::string(host.data()) + "]:" + std::to_string(port());
        }
        return "none";
    }

    /// For the C interface, which takes it mutable and does not change it. nullptr if empty.
    [[nodiscard]] sockaddr* native() const noexcept {
        return empty() ? nullptr
                       : const_cast<sockaddr*>(reinterpret_cast<const sockaddr*>(&storage_));
    }

private:
    template <class T>
    [[nodiscard]] const T& as() const noexcept {
        return reinterpret_cast<const T&>(storage_);
    }
    [[nodiscard]] static std::size_t length_of(int family) noexcept {
        if (family == AF_INET) return sizeof(sockaddr_in);
        return family == AF_INET6 ? sizeof(sockaddr_in6) : 0;
    }
    [[nodiscard]] static int errno_of(int eai) noexcept {
        switch (eai) {
            case EAI_SYSTEM: return errno;
            case EAI_AGAIN: return EAGAIN;
            case EAI_MEMORY: return ENOMEM;
            case EAI_FAMILY: return EAFNOSUPPORT;
            default: return ENOENT;
        }
    }

    sockaddr_storage storage_{};
};

}  // namespace softrnic
