// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The kernel's interface to RDMA devices: what rdma(8) uses as well.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernel_answer.hpp"
#include "outcome.hpp"

struct mnl_socket;

namespace softrnic::ctl {

/// An RDMA device, whoever drives it.
struct rdma_device {
    std::uint32_t index = 0;
    std::string name;
};

/// Port 1 of a device.
struct rdma_port {
    /// One of IB_PORT_*, which are those of verbs.
    std::uint8_t state = 0;
    /// Empty if the network device is in another network namespace.
    std::string netdev;
};

class rdma_netlink {
public:
    static outcome<rdma_netlink> open();

    /// The devices that this network namespace sees.
    outcome<std::vector<rdma_device>> devices();
    outcome<rdma_port> first_port(std::uint32_t device);

    kernel_answer add_link(const std::string& name, const std::string& type,
                           const std::string& netdev);
    kernel_answer delete_link(std::uint32_t device);
    kernel_answer rename(std::uint32_t device, const std::string& name);

private:
    class request;
    struct closer {
        void operator()(mnl_socket* socket) const noexcept;
    };
    explicit rdma_netlink(mnl_socket* socket) noexcept : socket_(socket) {}

    /// Each message of the kernel's answer but the last goes to take.
    kernel_answer exchange(const request& asked,
                           const std::function<void(const nlmsghdr&)>& take = {});

    std::unique_ptr<mnl_socket, closer> socket_;
};

}  // namespace softrnic::ctl
