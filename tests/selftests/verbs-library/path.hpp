// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// By which path connections of this host with itself go: TCP, or the one inside the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fixture.hpp"

namespace verbs_test {

/// Do connections of this host with itself bypass TCP? The link's setting says so.
[[nodiscard]] bool bypasses_tcp();

/// Counts ends that recognise each other, and those that bypass TCP, from its construction on.
class path_watch {
public:
    path_watch();
    /// Waits until both ends of so many connections have recognised each other, so that all that is
    /// posted from now on takes the path that the setting says. The counter says that it does.
    void settle(std::size_t connections) const;

private:
    std::uint64_t recognised_;
    std::uint64_t bypassing_;
};

/// A connection whose ends have settled on their path.
pair connect_settled(const pair_options& options = {});

}  // namespace verbs_test
