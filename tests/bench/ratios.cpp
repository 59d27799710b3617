// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "ratios.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace bench {
namespace {

/// One line of tests/bench/targets.
struct target {
    std::string name;
    std::string rigs;
    std::string cell;
    metric unit;
    /// The driver to compare with; nobody: with the factor alone.
    std::string against;
    std::string its_cell;
    bool at_least;
    std::string factor;
};

target parse(const std::string& line) {
    const auto fields = split(line, '|');
    if (fields.size() != 8) throw std::runtime_error("not a target: " + line);
    return {.name = fields[0],
            .rigs = fields[1],
            .cell = fields[2],
            .unit = metric_named(fields[3]),
            .against = fields[4],
            .its_cell = fields[5],
            .at_least = fields[6] == ">=",
            .factor = fields[7]};
}

/// In a run with CRC everywhere a cell has another name.
std::optional<cell> measured_cell(const samples& all, const std::string& name) {
    const auto found = all.cell_named(name);
    return found ? found : all.cell_named(name + "-crc");
}

ratio compare(const samples& all, const target& t, const std::string& rig, const cell& ours_in) {
    ratio result{.name = t.name + (ours_in.name() == t.cell ? "" : ", CRC on"), .rig = rig};
    const auto its_cell = measured_cell(all, t.its_cell);
    for (const std::string_view driver : drivers)
        result.medians.push_back(its_cell && driver == t.against && driver != drivers[0]
                                     ? all.median(rig, driver, *its_cell, t.unit)
                                     : all.comparable(rig, driver, ours_in, t.unit));
    result.target = (t.at_least ? ">= " : "<= ") + t.factor;
    if (!t.against.empty()) result.target += " x " + t.against;
    if (t.against == drivers[0]) result.target += "'s in " + t.its_cell;

    const std::optional<double> ours = result.medians[0];
    std::optional<double> theirs;
    if (t.against.empty())
        theirs = 1;
    else if (its_cell)
        theirs = all.median(rig, t.against, *its_cell, t.unit);
    if (!ours || !theirs) return result;
    result.value = *ours / *theirs;
    const double limit = std::stod(t.factor);
    result.reached = t.at_least ? *result.value >= limit : *result.value <= limit;
    return result;
}

const char* word(std::optional<bool> reached) {
    if (!reached) return "";
    return *reached ? "yes" : "no";
}

}  // namespace

std::vector<ratio> ratios(const samples& all, const std::filesystem::path& targets) {
    std::ifstream file(targets);
    if (!file) throw std::runtime_error("cannot read " + targets.string());
    std::vector<ratio> results;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') continue;
        const target t = parse(line);
        const auto where = measured_cell(all, t.cell);
        if (!where) continue;
        for (const std::string& rig : all.rigs())
            if (t.rigs.find(rig.front()) != std::string::npos)
                results.push_back(compare(all, t, rig, *where));
    }
    return results;
}

void write_csv(std::ostream& out, const std::vector<ratio>& all) {
    out << "case,rig";
    for (const std::string_view driver : drivers) out << ',' << driver;
    out << ",target,ratio,reached\n";
    for (const ratio& r : all) {
        out << '"' << r.name << "\"," << r.rig;
        for (const auto& median : r.medians) out << ',' << figure(median);
        out << ",\"" << r.target << "\"," << figure(r.value) << ',' << word(r.reached) << '\n';
    }
}

void write_markdown(std::ostream& out, const std::vector<ratio>& all) {
    out << "| case | rig | softrnic | siw | rxe | TCP | copy | to reach | is | reached |\n"
           "|---|---|--:|--:|--:|--:|--:|---|--:|---|\n";
    for (const ratio& r : all) {
        out << "| " << r.name << " | " << r.rig;
        for (const auto& median : r.medians) out << " | " << figure(median);
        out << " | " << r.target << " | " << figure(r.value) << " | " << word(r.reached) << " |\n";
    }
}

std::string figure(std::optional<double> value) {
    if (!value) return {};
    const double digits = *value == 0 ? 0 : std::floor(std::log10(std::abs(*value)));
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.*f",
                  static_cast<int>(std::clamp(2 - digits, 0.0, 3.0)), *value);
    return text.data();
}

}  // namespace bench
