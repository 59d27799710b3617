// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "module.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include "descriptor.hpp"
#include "process.hpp"

namespace softrnic::ctl {

std::string kernel_release() {
    utsname name{};
    return uname(&name) == 0 ? name.release : "";
}

bool module_loaded() noexcept {
    return exists("/sys/module/softrnic");
}

maybe_problem load_module() {
    if (module_loaded()) return std::nullopt;
    outcome<ended_process> ended = run_program({"modprobe", "softrnic"});
    if (!ended) return ended.why();
    if (ended->status == 0) return std::nullopt;
    return problem{geteuid() == 0 ? exit_status::failed : exit_status::denied,
                   "the module cannot be loaded: " + ended->output,
                   geteuid() == 0 ? "softrnicctl doctor" : ""};
}

}  // namespace softrnic::ctl
