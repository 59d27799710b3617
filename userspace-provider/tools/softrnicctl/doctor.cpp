// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "doctor.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "names.hpp"

namespace softrnic::ctl {
namespace {

void append(checks& all, checks more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
}

/// One line; what programs have said may have several.
std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return printable(text);
}

}  // namespace

checks examine(std::optional<unsigned> port) {
    const wanted_links wanted = read_link_files(SOFTRNIC_LINKS_DIR);
    std::vector<link> links;
    checks all = check_module();
    // Without InfiniBand there are no links, and the kernel's check has said so.
    if (outcome<rdma_netlink> kernel = rdma_netlink::open()) {
        if (outcome<std::vector<link>> found = softrnic_links(*kernel)) links = *std::move(found);
    }
    const std::vector<link_report> reports = report_links(links, wanted);
    append(all, check_provider(links));
    append(all, check_programs(reports, port));
    append(all, check_firewall());
    append(all, check_links(reports, wanted));
    return all;
}

std::string checks_as_text(const checks& found) {
    constexpr std::array<std::string_view, 3> verdicts = {"ok     ", "wrong  ", "unknown"};
    constexpr std::array<std::string_view, 3> leads = {
        "; see also: ", "; mend by: ", "; look at: "};
    std::string text;
    for (const check& check : found) {
        const auto row = static_cast<std::size_t>(check.verdict);
        text += std::string(verdicts.at(row)) + "  " + check.topic + ": " + one_line(check.what);
        if (!check.mend.empty()) text += std::string(leads.at(row)) + one_line(check.mend);
        text += "\n";
    }
    return text;
}

std::size_t count_wrong(const checks& found) {
    return static_cast<std::size_t>(
        std::count_if(found.begin(), found.end(),
                      [](const check& check) { return check.verdict == verdict::wrong; }));
}

}  // namespace softrnic::ctl
