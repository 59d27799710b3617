// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "netdev.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>

#include "descriptor.hpp"

namespace softrnic::ctl {
namespace {

unsigned mtu_of(const std::string& name) {
    const descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    name.copy(request.ifr_name, IF_NAMESIZE - 1);
    if (!socket || ioctl(socket.get(), SIOCGIFMTU, &request) != 0) return 0;
    return static_cast<unsigned>(request.ifr_mtu);
}

/// The bits of a netmask that are set.
unsigned prefix_length(const void* mask, std::size_t size) {
    unsigned length = 0;
    for (std::size_t i = 0; i < size; i++)
        length += static_cast<unsigned>(std::popcount(static_cast<const std::uint8_t*>(mask)[i]));
    return length;
}

void add_address(netdev& device, int family, const void* address, const void* mask,
                 std::size_t size) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (inet_ntop(family, address, text.data(), text.size()) == nullptr) return;
    std::string shown = text.data();
    if (mask != nullptr) shown += "/" + std::to_string(prefix_length(mask, size));
    device.addresses.push_back(std::move(shown));
}

void take_ipv4(netdev& device, const ifaddrs& entry) {
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry.ifa_addr);
    const auto* mask = reinterpret_cast<const sockaddr_in*>(entry.ifa_netmask);
    add_address(device, AF_INET, &address->sin_addr, mask == nullptr ? nullptr : &mask->sin_addr,
                sizeof address->sin_addr);
    device.reachable = true;
}

void take_ipv6(netdev& device, const ifaddrs& entry) {
    const auto* address = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr);
    const auto* mask = reinterpret_cast<const sockaddr_in6*>(entry.ifa_netmask);
    add_address(device, AF_INET6, &address->sin6_addr, mask == nullptr ? nullptr : &mask->sin6_addr,
                sizeof address->sin6_addr);
    if (!IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr)) device.reachable = true;
}

void take_hardware(netdev& device, const ifaddrs& entry) {
    const auto* address = reinterpret_cast<const sockaddr_ll*>(entry.ifa_addr);
    std::array<char, 4> octet{};
    for (std::size_t i = 0; i < address->sll_halen && i < sizeof address->sll_addr; i++) {
        std::snprintf(octet.data(), octet.size(), "%s%02x", i == 0 ? "" : ":",
                      static_cast<unsigned>(address->sll_addr[i]));
        device.hardware_address += octet.data();
    }
}

/// An IPv4 address may have a label, "eth0:1", instead of the device's name.
bool is_of(std::string_view label, std::string_view name) noexcept {
    return label.substr(0, label.find(':')) == name;
}

}  // namespace

bool netdev_exists(const std::string& name) noexcept {
    return if_nametoindex(name.c_str()) != 0;
}

std::string own_name(const std::string& name) {
    std::array<char, IF_NAMESIZE> shown{};
    const unsigned index = if_nametoindex(name.c_str());
    return index != 0 && if_indextoname(index, shown.data()) != nullptr ? shown.data() : name;
}

std::optional<netdev> look_at_netdev(const std::string& name) {
    if (!netdev_exists(name)) return std::nullopt;
    netdev device{.name = name};
    device.mtu = mtu_of(name);
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return device;
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || !is_of(entry->ifa_name, name)) continue;
        device.up = device.up || (entry->ifa_flags & IFF_UP) != 0;
        device.carrier = device.carrier || (entry->ifa_flags & IFF_RUNNING) != 0;
        switch (entry->ifa_addr->sa_family) {
            case AF_INET: take_ipv4(device, *entry); break;
            case AF_INET6: take_ipv6(device, *entry); break;
            case AF_PACKET: take_hardware(device, *entry); break;
            default: break;
        }
    }
    return device;
}

}  // namespace softrnic::ctl
