// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "link.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "descriptor.hpp"

namespace softrnic::ctl {
namespace {

const std::string devices = "/sys/class/infiniband/";

/// The module gives each of its devices this folder, and no other driver does.
std::string settings_folder(const std::string& device) {
    return devices + device + "/mpa";
}

std::vector<std::string> names_in(const std::string& folder) {
    std::error_code error;
    std::vector<std::string> names;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error))
        names.push_back(at->path().filename());
    return names;
}

std::map<std::string, std::string> read_settings(const std::string& device) {
    const std::string folder = settings_folder(device) + "/";
    std::map<std::string, std::string> settings;
    for (const std::string& name : names_in(folder)) {
        if (const auto value = read_line(folder + name)) settings[name] = *value;
    }
    return settings;
}

std::map<std::string, std::uint64_t> read_counters(const std::string& device) {
    const std::string folder = devices + device + "/ports/1/hw_counters/";
    std::map<std::string, std::uint64_t> counters;
    for (const std::string& name : names_in(folder)) {
        const auto text = read_line(folder + name);
        std::uint64_t value = 0;
        // "lifespan" is no counter, but how old the values may be.
        if (!text || name == "lifespan") continue;
        const auto parsed = std::from_chars(text->data(), text->data() + text->size(), value);
        if (parsed.ec == std::errc()) counters[name] = value;
    }
    return counters;
}

link_report report(const link& link, const wanted_links& wanted) {
    link_report report{.name = link.name, .netdev_name = link.port.netdev, .there = true};
    report.at_boot = wanted.named(link.name) != nullptr;
    report.state = link.port.state;
    report.gid = read_line(devices + link.name + "/ports/1/gids/0").value_or("");
    report.cm_gid = read_line(devices + link.name + "/ports/1/gids/31").value_or("");
    report.settings = read_settings(link.name);
    report.counters = read_counters(link.name);
    if (!link.port.netdev.empty()) report.device = look_at_netdev(link.port.netdev);
    return report;
}

}  // namespace

outcome<std::vector<link>> softrnic_links(rdma_netlink& kernel) {
    outcome<std::vector<rdma_device>> all = kernel.devices();
    if (!all) return all.why();
    std::vector<link> links;
    for (rdma_device& device : *all) {
        if (!exists(settings_folder(device.name))) continue;
        outcome<rdma_port> port = kernel.first_port(device.index);
        // It may have gone meanwhile.
        if (port) links.push_back({device.index, std::move(device.name), *std::move(port)});
    }
    std::sort(links.begin(), links.end(),
              [](const link& a, const link& b) { return a.name < b.name; });
    return links;
}

const link* link_named(const std::vector<link>& links, std::string_view name) noexcept {
    const auto found = std::find_if(links.begin(), links.end(),
                                    [&](const link& link) { return link.name == name; });
    return found == links.end() ? nullptr : &*found;
}

const link* link_on(const std::vector<link>& links, std::string_view netdev) noexcept {
    const auto found = std::find_if(links.begin(), links.end(),
                                    [&](const link& link) { return link.port.netdev == netdev; });
    return found == links.end() ? nullptr : &*found;
}

std::string_view state_name(std::uint8_t state) noexcept {
    constexpr std::array<std::string_view, 6> names = {"NOP",   "DOWN",   "INIT",
                                                       "ARMED", "ACTIVE", "ACTIVE_DEFER"};
    return state < names.size() ? names.at(state) : "UNKNOWN";
}

std::uint64_t link_report::counter(const std::string& of) const {
    const auto found = counters.find(of);
    return found == counters.end() ? 0 : found->second;
}

std::uint64_t link_report::sum(std::string_view begin, std::string_view end) const {
    std::uint64_t total = 0;
    for (const auto& [counter_name, value] : counters) {
        if (counter_name.starts_with(begin) && counter_name.ends_with(end)) total += value;
    }
    return total;
}

std::vector<link_report> report_links(const std::vector<link>& links, const wanted_links& wanted) {
    std::vector<link_report> reports;
    reports.reserve(links.size() + wanted.links.size());
    for (const link& link : links) reports.push_back(report(link, wanted));
    for (const wanted_link& link : wanted.links) {
        if (link_named(links, link.name) != nullptr) continue;
        reports.push_back({.name = link.name, .netdev_name = link.netdev, .at_boot = true});
        reports.back().device = look_at_netdev(link.netdev);
    }
    std::sort(reports.begin(), reports.end(),
              [](const link_report& a, const link_report& b) { return a.name < b.name; });
    return reports;
}

}  // namespace softrnic::ctl
