// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "diagnosis.hpp"

#include "names.hpp"

namespace softrnic::ctl {
namespace {

/// Names of network devices in a command, so that a shell takes them as they are.
std::string quoted(const std::string& name) {
    constexpr std::string_view harmless =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_@";
    if (name.find_first_not_of(harmless) == std::string::npos) return name;
    std::string text = "'";
    for (const char c : name) {
        if (c == '\'')
            text += "'\\''";
        else
            text += c;
    }
    return text + "'";
}

/// The link that the network device of a wanted link has instead.
const link_report* rival_of(const link_report& wanted, const std::vector<link_report>& all) {
    for (const link_report& other : all) {
        if (other.there && other.netdev_name == wanted.netdev_name) return &other;
    }
    return nullptr;
}

finding why_absent(const link_report& link, const std::vector<link_report>& all) {
    const std::string& netdev = link.netdev_name;
    if (!link.device) return {"there is no network device " + netdev, "ip link show"};
    if (const link_report* rival = rival_of(link, all))
        return {netdev + " has the link " + rival->name + " instead",
                "systemctl restart '" + unit_of(netdev) + "'"};
    return {"it is enabled, but not there", "systemctl restart '" + unit_of(netdev) + "'"};
}

void look_at_device(const netdev& device, std::vector<finding>& found) {
    const std::string name = quoted(device.name);
    if (!device.up)
        found.push_back({device.name + " is down", "ip link set " + name + " up"});
    else if (!device.carrier)
        found.push_back({device.name + " has no carrier: look at the cable, or at the peer",
                         "ip link show " + name});
    if (device.addresses.empty())
        found.push_back({device.name + " has no IP address, so no program can connect",
                         "ip address add ADDRESS/LENGTH dev " + name});
    else if (!device.reachable)
        found.push_back({device.name + " has link-local addresses only, which programs have to "
                                       "give a scope",
                         "ip address add ADDRESS/LENGTH dev " + name});
}

/// rdma_cm of Linux before 6.4 finds the device by a GID.
void look_at_gid(const link_report& link, const std::vector<link_report>& all,
                 std::vector<finding>& found) {
    if (link.cm_gid.find_first_not_of("0:") == std::string::npos) {
        found.push_back({"it has no GID, by which rdma_cm finds it",
                         "softrnicctl del " + link.name + " && softrnicctl add " + link.name + " " +
                             quoted(link.netdev_name)});
        return;
    }
    for (const link_report& other : all) {
        if (other.there && other.name != link.name && other.cm_gid == link.cm_gid)
            found.push_back({"its GID is that of " + other.name + " as well",
                             "ip link set " + quoted(link.netdev_name) + " address MAC"});
    }
}

}  // namespace

std::vector<finding> diagnose(const link_report& link, const std::vector<link_report>& all) {
    if (!link.there) return {why_absent(link, all)};
    std::vector<finding> found;
    if (link.device) look_at_device(*link.device, found);
    look_at_gid(link, all, found);
    return found;
}

}  // namespace softrnic::ctl
