// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What softrnic is to reach (tests/bench/targets), and whether it does.
#pragma once

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "samples.hpp"

namespace bench {

struct ratio {
    std::string name;
    std::string rig;
    /// The medians of all drivers, in the order of `drivers`.
    std::vector<std::optional<double>> medians{};
    /// Such as ">= 4 x siw".
    std::string target{};
    std::optional<double> value{};
    std::optional<bool> reached{};
};

/// A ratio for each target whose cell was measured, and each of its rigs.
std::vector<ratio> ratios(const samples& all, const std::filesystem::path& targets);

void write_csv(std::ostream& out, const std::vector<ratio>& all);
void write_markdown(std::ostream& out, const std::vector<ratio>& all);

/// Three significant digits or all before the point; nothing for nothing.
std::string figure(std::optional<double> value);

}  // namespace bench
