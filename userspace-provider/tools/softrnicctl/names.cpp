// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "names.hpp"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <regex>

namespace softrnic::ctl {
namespace {

/// The kernel's port mapper has no room for more, and rdma_cm does not do without it.
constexpr std::size_t longest_link_name = 31;
constexpr std::size_t longest_netdev_name = IF_NAMESIZE - 1;

// Not those of <cctype>, which go by the locale.
constexpr bool is_alnum(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr bool is_control(char c) noexcept {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

bool valid_link_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= longest_link_name && is_alnum(name.front()) &&
           std::all_of(name.begin(), name.end(),
                       [](char c) { return is_alnum(c) || c == '.' || c == '_' || c == '-'; });
}

bool valid_netdev_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= longest_netdev_name && name != "." && name != ".." &&
           std::none_of(name.begin(), name.end(),
                        [](char c) { return is_control(c) || c == ' ' || c == '/' || c == ':'; });
}

std::string escape_unit_instance(std::string_view text) {
    constexpr std::array digits = {'0', '1', '2', '3', '4', '5', '6', '7',
                                   '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
    std::string escaped;
    for (const char c : text) {
        const bool kept = is_alnum(c) || c == '_' || c == ':' || (c == '.' && !escaped.empty());
        if (kept) {
            escaped += c;
        } else if (c == '/') {
            escaped += '-';
        } else {
            const auto byte = static_cast<unsigned char>(c);
            escaped += "\\x";
            escaped += digits.at(byte >> 4);
            escaped += digits.at(byte & 0xf);
        }
    }
    return escaped;
}

std::string unit_of(std::string_view netdev) {
    return "softrnic-link@" + escape_unit_instance(netdev) + ".service";
}

bool renamed_by_udev(const std::string& name) {
    static const std::regex pattern(
        "iw(x[0-9a-f]{12,16}|o[0-9]+|(P[0-9]+)?(p[0-9]+)?s[0-9]+(f[0-9]+)?(v[0-9]+)?)");
    return std::regex_match(name, pattern);
}

std::string printable(std::string_view text) {
    std::string shown(text);
    std::replace_if(shown.begin(), shown.end(), is_control, '?');
    return shown;
}

}  // namespace softrnic::ctl
