// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <nlohmann/json.hpp>

#include "diagnosis.hpp"
#include "output.hpp"

namespace softrnic::ctl {
namespace {

using json = nlohmann::ordered_json;

std::string written(const json& value) {
    // Names of network devices may have any bytes; those that are not UTF-8 are replaced.
    return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

json short_form(const link_report& link) {
    json value = {{"name", link.name},
                  {"netdev", link.netdev_name.empty() ? json() : json(link.netdev_name)},
                  {"state", link.there ? json(state_name(link.state)) : json()},
                  {"at_boot", link.at_boot},
                  {"addresses", json::array()}};
    if (link.device) value["addresses"] = link.device->addresses;
    return value;
}

json long_form(const link_report& link, const std::vector<link_report>& all) {
    json value = short_form(link);
    if (link.device)
        value["network"] = {{"up", link.device->up},
                            {"carrier", link.device->carrier},
                            {"mtu", link.device->mtu},
                            {"hardware_address", link.device->hardware_address}};
    if (link.there) {
        value["gid"] = link.gid;
        for (const auto& [name, setting] : link.settings)
            value["mpa"][name] =
                setting == "1" || setting == "0" ? json(setting == "1") : json(setting);
        value["counters"] = link.counters;
    }
    value["wrong"] = json::array();
    for (const finding& finding : diagnose(link, all))
        value["wrong"].push_back({{"what", finding.what}, {"mend", finding.mend}});
    return value;
}

}  // namespace

std::string list_as_json(const std::vector<link_report>& links) {
    json value = json::array();
    for (const link_report& link : links) value.push_back(short_form(link));
    return written(value);
}

std::string status_as_json(const std::vector<link_report>& shown,
                           const std::vector<link_report>& all) {
    json value = json::array();
    for (const link_report& link : shown) value.push_back(long_form(link, all));
    return written(value);
}

}  // namespace softrnic::ctl
