// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "script_steps.hpp"

#include <csignal>
#include <cstdio>

#include "die.hpp"

namespace support {

namespace {

sigset_t go_signal() {
    sigset_t go{};
    sigemptyset(&go);
    sigaddset(&go, SIGUSR1);
    return go;
}

}  // namespace

void say(const std::string& what) {
    std::puts(what.c_str());
    std::fflush(stdout);
}

void block_signal() {
    const sigset_t go = go_signal();
    sigprocmask(SIG_BLOCK, &go, nullptr);
}

void wait_for_signal() {
    const sigset_t go = go_signal();
    int which = 0;
    if (sigwait(&go, &which) != 0) die("sigwait");
}

}  // namespace support
