// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Both ends of TCP connections in one program, to compare those of RDMA with.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "descriptor.hpp"
#include "must.hpp"

namespace bench {

/// Listens at an IPv4 address of this host, at a port that the kernel chooses. Throws
/// std::system_error.
class tcp_listener {
public:
    tcp_listener(const char* host, unsigned backlog) {
        const auto where = support::must(softrnic::address::resolve(host, 0));
        check(::bind(fd_.get(), where.native(), sizeof(sockaddr_in)), "bind");
        check(::listen(fd_.get(), static_cast<int>(backlog)), "listen");
        socklen_t length = sizeof bound_;
        check(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&bound_), &length),
              "getsockname");
    }

    /// A client's end; accept() then has the server's.
    [[nodiscard]] support::descriptor connect() const {
        support::descriptor client = make_socket();
        check(::connect(client.get(), reinterpret_cast<const sockaddr*>(&bound_), sizeof bound_),
              "connect");
        return client;
    }

    [[nodiscard]] support::descriptor accept() const {
        support::descriptor server(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        check(server ? 0 : -1, "accept4");
        return server;
    }

private:
    static void check(int status, const char* what) {
        if (status != 0) throw std::system_error(errno, std::generic_category(), what);
    }

    static support::descriptor make_socket() {
        support::descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        check(made ? 0 : -1, "socket");
        return made;
    }

    support::descriptor fd_ = make_socket();
    sockaddr_in bound_{};
};

}  // namespace bench
