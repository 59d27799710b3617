// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// "rdma link add" and "delete" as calls, so that a fault can be put into them and not into the
/// start of a program.
#pragma once

#include <cstdint>
#include <string>

#include "softrnic/softrnic.hpp"

namespace support {

/// The kernel's answer to RDMA_NLDEV_CMD_NEWLINK.
softrnic::result<void> link_add(const std::string& name, const std::string& netdev);

/// The kernel's answer to RDMA_NLDEV_CMD_DELLINK. ENODEV: no device of that name.
softrnic::result<void> link_delete(const std::string& name);

}  // namespace support
