// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "diagnosis.hpp"
#include "names.hpp"
#include "output.hpp"

namespace softrnic::ctl {
namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

/// "12.3 MiB"
std::string bytes(std::uint64_t count) {
    constexpr std::array units = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto value = static_cast<double>(count);
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < units.size(); unit++) value /= 1024;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.*f %s", unit == 0 ? 0 : 1, value, units.at(unit));
    return text.data();
}

std::string state_of(const link_report& link) {
    return link.there ? std::string(state_name(link.state)) : "absent";
}

std::string netdev_of(const link_report& link) {
    return link.netdev_name.empty() ? "(another namespace)" : printable(link.netdev_name);
}

std::string addresses_of(const link_report& link) {
    return link.device ? joined(link.device->addresses) : "";
}

using row = std::array<std::string, 5>;

std::string line(const std::string& title, const std::string& text) {
    constexpr std::size_t title_width = 13;
    std::string shown = "  " + title;
    shown.resize(std::max(shown.size() + 1, title_width), ' ');
    return shown + text + "\n";
}

std::string network_of(const netdev& device) {
    return device.name + " is " + (device.up ? "up" : "down") +
           (device.up && !device.carrier ? " without carrier" : "") + ", MTU " +
           std::to_string(device.mtu) +
           (device.hardware_address.empty() ? "" : ", " + device.hardware_address);
}

std::string settings_of(const link_report& link) {
    std::vector<std::string> words;
    for (const auto& [name, value] : link.settings) {
        std::string word = name;
        word += '=';
        word += value == "1" ? "on" : value == "0" ? "off" : value;
        words.push_back(std::move(word));
    }
    return joined(words);
}

std::string connections_of(const link_report& link) {
    const auto count = [&](const char* name) { return std::to_string(link.counter(name)); };
    std::string text = count("connects") + " made, " + count("accepts") + " accepted, " +
                       count("connections_closed") + " ended";
    if (link.counter("connections_same_host") != 0)
        text += "; " + count("connections_same_host") + " ends bypassed TCP within this host";
    return text;
}

std::string traffic_of(const link_report& link, const char* direction) {
    return std::to_string(link.sum(direction, "_messages")) + " messages, " +
           bytes(link.sum(direction, "_bytes"));
}

/// Those that tell of something that went wrong, as far as it did.
std::string errors_of(const link_report& link) {
    constexpr std::array names = {"connections_lost", "connect_refused",  "connect_rejected",
                                  "connect_timeouts", "connect_failures", "requests_dropped",
                                  "cq_overflows",     "rx_crc_errors",    "rx_access_errors",
                                  "rx_no_receive",    "rx_violations",    "rx_no_memory",
                                  "tx_no_memory"};
    std::vector<std::string> words;
    for (const char* name : names) {
        if (const std::uint64_t count = link.counter(name); count != 0)
            words.push_back(std::string(name) + "=" + std::to_string(count));
    }
    return joined(words);
}

std::string one_link(const link_report& link, const std::vector<link_report>& all) {
    std::string text = link.name + " on " + netdev_of(link) + ": " + state_of(link) +
                       (link.at_boot ? ", also at boot" : "") + "\n";
    if (link.device) {
        text += line("network", printable(network_of(*link.device)));
        text += line("addresses", link.device->addresses.empty() ? "none" : addresses_of(link));
    }
    if (link.there) {
        text += line("GID", link.gid.empty() ? "unknown" : link.gid);
        text += line("MPA", settings_of(link));
        text += line("connections", connections_of(link));
        text += line("sent", traffic_of(link, "tx_"));
        text += line("received", traffic_of(link, "rx_"));
        if (const std::string errors = errors_of(link); !errors.empty())
            text += line("errors", errors);
    }
    const std::vector<finding> found = diagnose(link, all);
    for (const finding& finding : found) {
        text += line("wrong", printable(finding.what));
        text += line("mend by", printable(finding.mend));
    }
    if (found.empty()) text += line("wrong", "nothing");
    return text;
}

}  // namespace

std::string list_as_text(const std::vector<link_report>& links) {
    std::vector<row> rows = {{"LINK", "NETDEV", "STATE", "BOOT", "ADDRESSES"}};
    for (const link_report& link : links)
        rows.push_back({link.name, netdev_of(link), state_of(link), link.at_boot ? "yes" : "no",
                        addresses_of(link)});
    row::size_type column = 0;
    std::array<std::size_t, std::tuple_size_v<row>> widths{};
    for (; column < widths.size(); column++) {
        for (const row& row : rows)
            widths.at(column) = std::max(widths.at(column), row.at(column).size());
    }
    std::string text;
    for (const row& row : rows) {
        std::string shown;
        for (column = 0; column < row.size(); column++) {
            std::string cell = row.at(column);
            cell.resize(widths.at(column) + 2, ' ');
            shown += cell;
        }
        shown.erase(shown.find_last_not_of(' ') + 1);
        text += shown + "\n";
    }
    return text;
}

std::string status_as_text(const std::vector<link_report>& shown,
                           const std::vector<link_report>& all) {
    std::string text;
    for (const link_report& link : shown) text += (text.empty() ? "" : "\n") + one_link(link, all);
    return text;
}

}  // namespace softrnic::ctl
