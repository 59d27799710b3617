// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "table.hpp"

#include <array>
#include <cmath>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string_view>

#include "ratios.hpp"

namespace bench {
namespace {

struct section {
    std::string_view title;
    metric unit;
    bool (*has)(const cell&);
};

/// Reads or writes of a disk or a file that follow each other.
bool is_storage_stream(const cell& c) {
    return c.operation.starts_with("nvme_") || c.operation.starts_with("nfs_");
}

const std::array sections{
    section{"Bandwidth, MiB/s", metric::mib_s,
            [](const cell& c) {
                return (c.operation.ends_with("_bw") && c.size > 64) || is_storage_stream(c) ||
                       (c.operation == "stream" && c.qps > 1);
            }},
    section{"Message rate, 1/s", metric::msg_s,
            [](const cell& c) {
                return (c.operation.ends_with("_bw") && c.size <= 4096) || c.operation == "nvme" ||
                       c.operation == "nfs" || c.operation == "rounds";
            }},
    section{"Latency, µs", metric::usec,
            [](const cell& c) { return c.operation.ends_with("_lat"); }},
    section{"To make and to end a connection, µs", metric::usec,
            [](const cell& c) { return c.operation.ends_with("connect"); }},
    section{"Kernel memory of an idle connection's end, without socket and rings, bytes",
            metric::bytes, [](const cell& c) { return c.operation == "memory"; }},
};

bool measured(const samples& all, const std::string& rig, const cell& c, metric m) {
    for (const std::string_view driver : drivers)
        if (all.median(rig, driver, c, m)) return true;
    return false;
}

void write_row(std::ostream& out, const samples& all, const std::string& rig, const cell& c,
               metric m) {
    out << "| " << c.operation << " | " << c.size << " | " << c.path << " | " << c.crc << " | "
        << c.qps << " | " << c.list;
    for (const std::string_view driver : drivers) {
        const cell where = c.of(driver);
        out << " | " << figure(all.median(rig, driver, where, m));
        if (const auto spread = all.spread(rig, driver, where, m))
            out << " (" << std::lround(*spread) << ")";
    }
    out << " |\n";
}

/// A plot, and the cells that are on it.
struct plot {
    std::string_view name;
    metric unit;
    std::string_view operation;
    bool over_qps = false;
    std::string_view path = "veth1500";
};

constexpr std::array plots{
    plot{"write-bandwidth", metric::mib_s, "write_bw"},
    plot{"send-bandwidth", metric::mib_s, "send_bw"},
    plot{"read-bandwidth", metric::mib_s, "read_bw"},
    plot{"send-latency", metric::usec, "send_lat"},
    plot{"read-latency", metric::usec, "read_lat"},
    plot{"write-rate-over-qps", metric::msg_s, "write_bw", true},
    plot{"one-host-write-bandwidth", metric::mib_s, "write_bw", false, "same64k"},
    plot{"one-host-send-latency", metric::usec, "send_lat", false, "same64k"},
};
constexpr unsigned long qps_plot_size = 4096;

bool belongs(const plot& p, const cell& c) {
    return c.operation == p.operation && c.path == p.path && c.crc == "off" && c.list == 1 &&
           (p.over_qps ? c.size == qps_plot_size : c.qps == 1);
}

/// The cells of a plot that have a figure, ordered by x, whatever the order of measuring.
std::set<cell> cells_on(const plot& p, const samples& all, const std::string& rig) {
    std::set<cell> on_it;
    for (const cell& c : all.cells())
        if (belongs(p, c) && measured(all, rig, c, p.unit)) on_it.insert(c);
    return on_it;
}

void write_plot(std::ostream& out, const samples& all, const std::string& rig, const plot& p,
                const std::set<cell>& on_it) {
    out << 'x';
    for (const std::string_view driver : drivers) out << ' ' << driver;
    out << '\n';
    for (const cell& c : on_it) {
        out << (p.over_qps ? c.qps : c.size);
        for (const std::string_view driver : drivers) {
            const auto value = all.comparable(rig, driver, c, p.unit);
            out << ' ' << (value ? std::to_string(*value) : "?");
        }
        out << '\n';
    }
}

}  // namespace

void write_tables(std::ostream& out, const samples& all, const std::string& rig) {
    for (const section& s : sections) {
        bool headed = false;
        for (const cell& c : all.cells()) {
            if (!s.has(c) || !measured(all, rig, c, s.unit)) continue;
            if (!headed)
                out << "\n#### " << s.title << " (spread, %)\n\n"
                    << "| operation | bytes | path | CRC | QPs | list | softrnic | siw | rxe | TCP "
                       "| copy |\n"
                    << "|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|\n";
            headed = true;
            write_row(out, all, rig, c, s.unit);
        }
    }
    out << "\nRuns that were done again: " << all.retries(rig) << ".\n";
}

void write_plot_data(const std::filesystem::path& folder, const samples& all,
                     const std::string& rig) {
    // A plot of a former run, of which nothing was measured now, must not stay.
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    for (const plot& p : plots) {
        const std::set<cell> on_it = cells_on(p, all, rig);
        if (on_it.empty()) continue;
        std::ofstream out(folder / (std::string(p.name) + ".dat"));
        write_plot(out, all, rig, p, on_it);
        if (!out.flush()) throw std::runtime_error("cannot write to " + folder.string());
    }
}

}  // namespace bench
