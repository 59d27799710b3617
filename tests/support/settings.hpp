// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Settings of the kernel and of links: what they say, and others until the end of a scope.
#pragma once

#include <string>

namespace support {

/// What a setting of MPA of the link with this RDMA device says; empty if it cannot be read.
[[nodiscard]] std::string value_of_link_setting(const std::string& device, const std::string& name);

/// What a file of the kernel's settings says until the end of the scope. Throws if it cannot be
/// written.
class kernel_setting {
public:
    kernel_setting(std::string file, const std::string& value);
    kernel_setting(const kernel_setting&) = delete;
    kernel_setting& operator=(const kernel_setting&) = delete;
    ~kernel_setting();

private:
    std::string file_;
    std::string before_;
};

/// A setting of MPA of the link with this RDMA device, for connections that are made meanwhile.
class link_setting : public kernel_setting {
public:
    link_setting(const std::string& device, const std::string& name, bool value);
};

}  // namespace support
