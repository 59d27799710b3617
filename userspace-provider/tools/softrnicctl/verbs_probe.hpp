// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// libibverbs as a program finds it, tried in a process of its own: a provider that does not fit
/// may do anything.
#pragma once

#include <string>
#include <vector>

namespace softrnic::ctl {

struct verbs_probe {
    /// Why the library could not be loaded; empty if it was.
    std::string no_library;
    /// Its file, such as /usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0.
    std::string library;
    /// The number of its private ABI, which is in the names of its providers; 0: not found.
    unsigned private_abi = 0;

    struct device {
        std::string name;
        /// Why it could not be used; empty if it could.
        std::string problem;
    };
    std::vector<device> devices;
    /// The process did not come to its end.
    bool died = false;
    /// What the library and the provider complain of.
    std::string complaints;
};

/// Loads the library, and opens these devices by it.
verbs_probe try_verbs(const std::vector<std::string>& devices);

/// Why the dynamic linker does not load this file; empty if it does.
std::string why_not_loaded(const std::string& file);

}  // namespace softrnic::ctl
