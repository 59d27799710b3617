// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Links that come at boot: a file NAME.conf for each in /etc/softrnic/links.d. It has lines
/// "KEY = VALUE", empty lines, and comments that begin with "#". The only key is netdev.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "outcome.hpp"

namespace softrnic::ctl {

/// A link that is wanted.
struct wanted_link {
    std::string name;
    std::string netdev;

    friend bool operator==(const wanted_link&, const wanted_link&) = default;
};

/// The link of this name that a file's content describes.
outcome<wanted_link> parse_link_file(std::string_view name, std::string_view content);

/// The content that describes the link.
std::string format_link_file(const wanted_link& link);

/// The folder's files, as far as they make sense, and what is wrong with the others.
struct wanted_links {
    std::vector<wanted_link> links;
    std::vector<problem> problems;

    [[nodiscard]] const wanted_link* named(std::string_view name) const noexcept;
    [[nodiscard]] const wanted_link* on(std::string_view netdev) const noexcept;
};

/// Reads a folder. One that does not exist has no files.
wanted_links read_link_files(const std::string& folder);

/// Where the file of a link is.
std::string link_file_path(const std::string& folder, std::string_view name);

/// Writes a link's file: all of it or nothing, also if the power fails.
maybe_problem write_link_file(const std::string& folder, const wanted_link& link);

/// Removes a link's file.
maybe_problem remove_link_file(const std::string& folder, std::string_view name);

}  // namespace softrnic::ctl
