// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "samples.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace bench {
namespace {

/// The columns of raw.csv.
enum column : std::size_t {
    col_rig,
    col_boot,
    col_round,
    col_driver,
    col_path,
    col_crc,
    col_operation,
    col_size,
    col_qps,
    col_list,
    col_mib_s,
    col_retries = col_mib_s + metric_names.size(),
    columns
};

std::string key(std::string_view rig, std::string_view driver, const cell& c) {
    return std::string(rig) + '/' + std::string(driver) + '/' + c.name();
}

template <class T>
void add_once(std::vector<T>& all, const T& one) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

}  // namespace

std::string cell::name() const {
    std::string text = operation + '-' + std::to_string(size) + '-' + path;
    if (qps != 1) text += "-q" + std::to_string(qps);
    if (list != 1) text += "-l" + std::to_string(list);
    if (crc != "off") text += "-" + (crc == "on" ? "crc" : crc);
    return text;
}

cell cell::of(std::string_view driver) const {
    cell same = *this;
    // The same host without softrnic's path inside it.
    if (driver != "softrnic" && path == "same64k") same.path = "own64k";
    if (driver == "tcp" && operation.ends_with("_bw"))
        same.operation = "stream";
    else if (driver == "tcp" && operation.ends_with("_lat"))
        same.operation = "pingpong";
    else if (driver == "copy" && operation.ends_with("_bw"))
        same.operation = "mappings";
    else
        return same;
    same.qps = same.list = 1;
    same.crc = "off";
    return same;
}

metric metric_named(std::string_view name) {
    const auto found = std::find(metric_names.begin(), metric_names.end(), name);
    if (found == metric_names.end()) throw std::runtime_error("no metric " + std::string(name));
    return static_cast<metric>(found - metric_names.begin());
}

std::optional<double> series::median(metric m) const {
    std::vector<double> sorted = values_[static_cast<std::size_t>(m)];
    if (sorted.empty()) return {};
    std::sort(sorted.begin(), sorted.end());
    const std::size_t middle = sorted.size() / 2;
    if (sorted.size() % 2 == 1) return sorted[middle];
    return (sorted[middle - 1] + sorted[middle]) / 2;
}

std::optional<double> series::spread(metric m) const {
    const auto& values = values_[static_cast<std::size_t>(m)];
    const auto middle = median(m);
    if (!middle) return {};
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return (*high - *low) / *middle * 100;
}

samples::samples(const std::filesystem::path& raw) {
    std::ifstream file(raw);
    if (!file) throw std::runtime_error("cannot read " + raw.string());
    for (std::string line; std::getline(file, line);) add_line(split(line, ','));
}

void samples::add_line(const std::vector<std::string>& fields) {
    if (fields.size() != columns)
        throw std::runtime_error("a line of " + std::to_string(fields.size()) + " columns");
    const cell c{.operation = fields[col_operation],
                 .size = std::stoul(fields[col_size]),
                 .path = fields[col_path],
                 .qps = static_cast<unsigned>(std::stoul(fields[col_qps])),
                 .list = static_cast<unsigned>(std::stoul(fields[col_list])),
                 .crc = fields[col_crc]};
    add_once(rigs_, fields[col_rig]);
    add_once(cells_, c);
    series& s = series_[key(fields[col_rig], fields[col_driver], c)];
    for (std::size_t m = 0; m < metric_names.size(); ++m)
        if (const std::string& value = fields[col_mib_s + m]; !value.empty())
            s.add(static_cast<metric>(m), std::stod(value));
    retries_[fields[col_rig]] += static_cast<unsigned>(std::stoul(fields[col_retries]));
}

unsigned samples::retries(std::string_view rig) const {
    const auto found = retries_.find(rig);
    return found == retries_.end() ? 0 : found->second;
}

const series* samples::find(std::string_view rig, std::string_view driver, const cell& c) const {
    const auto found = series_.find(key(rig, driver, c));
    return found == series_.end() ? nullptr : &found->second;
}

std::optional<double> samples::median(std::string_view rig, std::string_view driver, const cell& c,
                                      metric m) const {
    const series* s = find(rig, driver, c);
    return s == nullptr ? std::nullopt : s->median(m);
}

std::optional<double> samples::spread(std::string_view rig, std::string_view driver, const cell& c,
                                      metric m) const {
    const series* s = find(rig, driver, c);
    return s == nullptr ? std::nullopt : s->spread(m);
}

std::optional<double> samples::comparable(std::string_view rig, std::string_view driver,
                                          const cell& c, metric m) const {
    return median(rig, driver, c.of(driver), m);
}

std::optional<cell> samples::cell_named(std::string_view name) const {
    const auto found =
        std::find_if(cells_.begin(), cells_.end(), [&](const cell& c) { return c.name() == name; });
    if (found == cells_.end()) return {};
    return *found;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (;;) {
        const std::size_t end = text.find(separator);
        parts.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

}  // namespace bench
