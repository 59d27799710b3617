// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "systemd.hpp"

#include <unistd.h>

#include "descriptor.hpp"
#include "process.hpp"

namespace softrnic::ctl {

// As sd_booted(3) has it.
bool systemd_runs() noexcept {
    return exists("/run/systemd/system");
}

maybe_problem switch_unit(const std::string& verb, const std::string& unit, bool now) {
    std::vector<std::string> command = {"systemctl", "--quiet", "--no-ask-password", verb};
    if (now && systemd_runs()) command.emplace_back("--now");
    command.push_back(unit);
    outcome<ended_process> ended = run_program(command);
    if (!ended)
        return problem{.what = ended.why().what,
                       .mend =
                           "links at boot need systemd; without it add the link in a script "
                           "of the system's start: softrnicctl add NAME NETDEV"};
    if (ended->status != 0)
        return problem{.status = ::geteuid() != 0 ? exit_status::denied : exit_status::failed,
                       .what = "systemctl " + verb + " '" + unit + "' failed: " + ended->output,
                       .mend = systemd_runs() ? "journalctl -u '" + unit + "'" : ""};
    return std::nullopt;
}

}  // namespace softrnic::ctl
