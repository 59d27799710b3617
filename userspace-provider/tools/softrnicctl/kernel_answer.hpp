// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What the kernel answers to a netlink request.
#pragma once

#include <linux/netlink.h>

#include <string>

namespace softrnic::ctl {

struct kernel_answer {
    /// An errno value, or 0: it is done.
    int code = 0;
    /// What the kernel says about it; empty if it says nothing but the code.
    std::string said{};

    explicit operator bool() const noexcept { return code == 0; }
    /// One line for people.
    [[nodiscard]] std::string text() const;
};

/// Reads a message of type NLMSG_ERROR, with the extended acknowledgement that it may have.
kernel_answer read_answer(const nlmsghdr& message);

}  // namespace softrnic::ctl
