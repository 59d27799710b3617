// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "check.hpp"
#include "diagnosis.hpp"
#include "names.hpp"
#include "process.hpp"

namespace softrnic::ctl {
namespace {

void check_one(const link_report& link, const std::vector<link_report>& all, checks& found) {
    const std::vector<finding> wrong = diagnose(link, all);
    for (const finding& finding : wrong)
        found.push_back(
            {verdict::wrong, "link", link.name + ": " + printable(finding.what), finding.mend});
    if (wrong.empty())
        found.push_back({verdict::ok, "link",
                         link.name + " on " + printable(link.netdev_name) + ": " +
                             std::string(state_name(link.state)) + ", GID " + link.gid});
}

void check_unit(const wanted_link& link, checks& found) {
    const std::string unit = unit_of(link.netdev);
    outcome<ended_process> ended = run_program({"systemctl", "is-enabled", unit});
    if (!ended)
        found.push_back({verdict::unknown, "boot",
                         "whether " + link.name + " comes at boot: " + ended.why().what,
                         "systemctl is-enabled '" + unit + "'"});
    else if (ended->status == 0)
        found.push_back({verdict::ok, "boot", link.name + " comes at boot"});
    else
        found.push_back({verdict::wrong, "boot",
                         link.name + " has a file, but its unit is not enabled: " + ended->output,
                         "systemctl enable --now '" + unit + "'"});
}

}  // namespace

checks check_links(const std::vector<link_report>& links, const wanted_links& wanted) {
    checks found;
    for (const link_report& link : links) check_one(link, links, found);
    if (links.empty())
        found.push_back({verdict::ok, "link", "there are none", "softrnicctl add NAME NETDEV"});
    for (const problem& problem : wanted.problems)
        found.push_back({verdict::wrong, "boot", printable(problem.what),
                         "ls " SOFTRNIC_LINKS_DIR " && softrnicctl enable NAME NETDEV"});
    for (const wanted_link& link : wanted.links) check_unit(link, found);
    return found;
}

}  // namespace softrnic::ctl
