// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <filesystem>
#include <fstream>

#include "check.hpp"
#include "descriptor.hpp"
#include "verbs_probe.hpp"

namespace softrnic::ctl {
namespace {

const std::string driver_files = SOFTRNIC_CONFIG_DIR;

/// What a driver file calls the provider, with or without a path; empty: no file does.
std::string driver_name() {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(driver_files, error)) {
        std::ifstream file(entry.path());
        for (std::string key, name; file >> key;) {
            if (key == "driver" && file >> name) {
                const std::string base = std::filesystem::path(name).filename();
                if (base == "softrnic" || base == "libsoftrnic") return name;
            }
            std::getline(file, key);
        }
    }
    return "";
}

/// Where libibverbs looks for it.
std::string provider_path(const std::string& driver, const verbs_probe& verbs) {
    const std::string end = "-rdmav" + std::to_string(verbs.private_abi) + ".so";
    if (driver.front() == '/') return driver + end;
    return std::filesystem::path(verbs.library).parent_path() / "libibverbs" /
           ("lib" + driver + end);
}

check check_library(const verbs_probe& verbs) {
    const std::string file = std::filesystem::path(verbs.library).filename();
    if (!verbs.no_library.empty())
        return {verdict::wrong, "libibverbs", verbs.no_library, "apt install libibverbs1"};
    if (verbs.private_abi == 0)
        return {verdict::unknown, "libibverbs", file + ": its private ABI cannot be told"};
    return {verdict::ok, "libibverbs", file + ", private ABI " + std::to_string(verbs.private_abi)};
}

check check_file(const verbs_probe& verbs) {
    const std::string driver = driver_name();
    if (driver.empty())
        return {verdict::wrong, "provider",
                "not installed: no file in " + driver_files + " names softrnic",
                install_provider_command()};
    const std::string path = provider_path(driver, verbs);
    if (!exists(path))
        return {verdict::wrong, "provider",
                "not installed for this libibverbs: there is no " + path,
                install_provider_command()};
    if (const std::string why = why_not_loaded(path); !why.empty())
        return {verdict::wrong, "provider", "it cannot be loaded: " + why,
                install_provider_command()};
    return {verdict::ok, "provider", path + " fits libibverbs"};
}

check check_device(const verbs_probe::device& device, const verbs_probe& verbs) {
    if (device.problem.empty())
        return {verdict::ok, "verbs", device.name + " can be opened, provider and module fit"};
    return {verdict::wrong, "verbs",
            device.name + ": " + device.problem +
                (verbs.complaints.empty() ? "" : " (" + verbs.complaints + ")"),
            mend_misfit_command()};
}

}  // namespace

checks check_provider(const std::vector<link>& links) {
    std::vector<std::string> names;
    names.reserve(links.size());
    for (const link& link : links) names.push_back(link.name);
    const verbs_probe verbs = try_verbs(names);
    checks found = {check_library(verbs)};
    if (verbs.private_abi != 0) found.push_back(check_file(verbs));
    for (const verbs_probe::device& device : verbs.devices)
        found.push_back(check_device(device, verbs));
    if (verbs.died)
        found.push_back({verdict::wrong, "verbs", "a program that opens the links dies or hangs",
                         install_provider_command()});
    if (names.empty() && verbs.no_library.empty())
        found.push_back({verdict::unknown, "verbs",
                         "whether provider and module fit shows when there is a link",
                         "softrnicctl add NAME NETDEV"});
    return found;
}

}  // namespace softrnic::ctl
