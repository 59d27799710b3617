// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Makes of raw figures what people read: table.md and ratios.csv, and data for plots.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>

#include "ratios.hpp"
#include "samples.hpp"
#include "table.hpp"

namespace {

constexpr const char* usage =
    "usage: bench_report RAW.CSV TARGETS FOLDER\n"
    "Writes FOLDER/table.md, ratios.csv and plots/RIG/*.dat; prints the ratios.\n";

void report(const char* raw, const char* targets, const std::filesystem::path& folder) {
    const bench::samples all(raw);
    const auto ratios = bench::ratios(all, targets);

    std::ofstream table(folder / "table.md");
    table << "### What is to be reached\n\n";
    bench::write_markdown(table, ratios);
    for (const std::string& rig : all.rigs()) {
        table << "\n### All figures, " << rig << " rig\n";
        bench::write_tables(table, all, rig);
        bench::write_plot_data(folder / "plots" / rig, all, rig);
    }
    std::ofstream csv(folder / "ratios.csv");
    bench::write_csv(csv, ratios);
    if (!table.flush() || !csv.flush())
        throw std::runtime_error("cannot write to " + folder.string());
    for (const std::string& rig : all.rigs()) {
        bench::write_tables(std::cout, all, rig);
        std::cout << '\n';
    }
    bench::write_markdown(std::cout, ratios);
}

}  // namespace

int main(int argc, char** argv) {
    const std::span<char*> words(argv, static_cast<std::size_t>(argc));
    if (argc != 4) {
        std::fputs(usage, stderr);
        return 2;
    }
    try {
        report(words[1], words[2], words[3]);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "bench_report: %s\n", problem.what());
        return 1;
    }
    return 0;
}
