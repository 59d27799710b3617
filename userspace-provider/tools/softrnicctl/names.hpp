// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Names of links, network devices and units. Nothing here looks at the system.
#pragma once

#include <string>
#include <string_view>

namespace softrnic::ctl {

/// Whether a link may have this name. The kernel takes more; but a name is also that of a file, and
/// is typed in shells.
bool valid_link_name(std::string_view name) noexcept;

/// What a valid name is, for messages.
inline constexpr const char* link_name_rule =
    "a name has 1 to 31 letters, digits, '.', '_' and '-', and begins with a letter or digit";

/// Whether a network device can have this name, and no control characters are in it.
bool valid_netdev_name(std::string_view name) noexcept;

/// The text as systemd wants it between "@" and the unit's suffix; systemd.unit(5) has the rules.
std::string escape_unit_instance(std::string_view text);

/// The unit that keeps a link on this network device.
std::string unit_of(std::string_view netdev);

/// Whether rdma_rename of rdma-core makes such names: "iw" and where an iWARP device is on the PCI
/// bus, or its GUID.
bool renamed_by_udev(const std::string& name);

/// The text with anything replaced that a terminal would act upon.
std::string printable(std::string_view text);

}  // namespace softrnic::ctl
