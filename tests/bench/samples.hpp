// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// The raw figures of the benchmark, by cell, rig and driver.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

inline constexpr std::array<std::string_view, 5> drivers{"softrnic", "siw", "rxe", "tcp", "copy"};

/// What is measured; several rounds, rigs and drivers share it.
struct cell {
    std::string operation;
    unsigned long size = 0;
    std::string path;
    unsigned qps = 1;
    unsigned list = 1;
    /// CRC "off" or "on" at both ends; "default": links as they are added; "placed": as "off", and
    /// completions wait until the peer has placed the data.
    std::string crc = "off";

    /// operation-size-path, then what is not usual.
    std::string name() const;
    /// Where a driver's figure for it is: the cell itself, unless the driver has another name for
    /// the operation, or for the path.
    cell of(std::string_view driver) const;

    // NOLINTNEXTLINE(modernize-use-nullptr): there is no pointer here
    auto operator<=>(const cell&) const = default;
};

enum class metric { mib_s, msg_s, usec, bytes };
inline constexpr std::array<std::string_view, 4> metric_names{"mib_s", "msg_s", "usec", "bytes"};
metric metric_named(std::string_view name);

/// The figures of one driver in one cell: those of all rounds.
class series {
public:
    void add(metric m, double value) { values_[static_cast<std::size_t>(m)].push_back(value); }
    std::optional<double> median(metric m) const;
    /// From the smallest to the largest, in percent of the median.
    std::optional<double> spread(metric m) const;

private:
    std::array<std::vector<double>, metric_names.size()> values_;
};

class samples {
public:
    /// Throws if a line is not what tests/bench/guest.sh writes.
    explicit samples(const std::filesystem::path& raw);

    const std::vector<std::string>& rigs() const { return rigs_; }
    /// In the order in which they were measured.
    const std::vector<cell>& cells() const { return cells_; }
    unsigned retries(std::string_view rig) const;

    std::optional<double> median(std::string_view rig, std::string_view driver, const cell& c,
                                 metric m) const;
    std::optional<double> spread(std::string_view rig, std::string_view driver, const cell& c,
                                 metric m) const;
    /// The driver's figure for what the cell is about, which may be in another cell.
    std::optional<double> comparable(std::string_view rig, std::string_view driver, const cell& c,
                                     metric m) const;
    /// Nothing if no such cell was measured.
    std::optional<cell> cell_named(std::string_view name) const;

private:
    const series* find(std::string_view rig, std::string_view driver, const cell& c) const;
    void add_line(const std::vector<std::string>& fields);

    std::map<std::string, series> series_;
    std::map<std::string, unsigned, std::less<>> retries_;
    std::vector<std::string> rigs_;
    std::vector<cell> cells_;
};

/// "a,b,,c" in its parts.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace bench
