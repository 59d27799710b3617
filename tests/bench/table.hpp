// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// All medians as tables, and as data for plots.
#pragma once

#include <filesystem>
#include <ostream>
#include <string>

#include "samples.hpp"

namespace bench {

/// One table for each path and kind of figure, in Markdown: medians, and their spread in percent.
void write_tables(std::ostream& out, const samples& all, const std::string& rig);

/// FOLDER/NAME.dat for each plot (see plots.gp): what is on its x axis, then each driver's median.
void write_plot_data(const std::filesystem::path& folder, const samples& all,
                     const std::string& rig);

}  // namespace bench
