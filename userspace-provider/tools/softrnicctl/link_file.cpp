// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "link_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "descriptor.hpp"
#include "names.hpp"

namespace softrnic::ctl {
namespace {

constexpr std::string_view suffix = ".conf";
/// More than any file of ours has, with room for comments.
constexpr std::size_t largest_file = 65536;

std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view blanks = " \t";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

problem errno_problem(const std::string& what) {
    const int code = errno;
    return {code == EACCES || code == EPERM || code == EROFS ? exit_status::denied
                                                             : exit_status::failed,
            what + ": " + std::generic_category().message(code)};
}

outcome<std::string> read_file(const std::string& path) {
    // Whoever puts a FIFO there shall not make the boot wait.
    const descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file) return errno_problem(path);
    struct stat about {};
    if (fstat(file.get(), &about) != 0) return errno_problem(path);
    if (!S_ISREG(about.st_mode)) return problem{.what = path + ": it is not a file"};
    std::optional<std::string> content = read_all(file, largest_file);
    if (!content) return problem{.what = path + ": it cannot be read, or is too large"};
    return *std::move(content);
}

outcome<wanted_link> read_link_file(const std::filesystem::path& path) {
    const std::string name = path.stem();
    if (!valid_link_name(name))
        return problem{.what = printable(path.native()) + ": no link can have this name"};
    outcome<std::string> content = read_file(path);
    if (!content) return content.why();
    outcome<wanted_link> link = parse_link_file(name, *content);
    if (!link) return problem{.what = path.native() + ": " + link.why().what};
    return link;
}

/// Each network device can have one link: the first keeps it.
void drop_rivals(wanted_links& wanted, const std::string& folder) {
    std::vector<wanted_link> kept;
    for (wanted_link& link : wanted.links) {
        const auto rival = std::find_if(kept.begin(), kept.end(), [&](const wanted_link& other) {
            return other.netdev == link.netdev;
        });
        if (rival == kept.end()) {
            kept.push_back(std::move(link));
            continue;
        }
        wanted.problems.push_back({.what = link_file_path(folder, link.name) + ": " + link.netdev +
                                           " has the link " + rival->name + " already"});
    }
    wanted.links = std::move(kept);
}

/// Writes a file's content and waits until it is on the disk.
bool write_out(const descriptor& file, std::string_view content) {
    while (!content.empty()) {
        const ssize_t written = write(file.get(), content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return fchmod(file.get(), S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) == 0 && fsync(file.get()) == 0;
}

}  // namespace

outcome<wanted_link> parse_link_file(std::string_view name, std::string_view content) {
    wanted_link link{std::string(name), {}};
    for (std::size_t line_number = 1; !content.empty(); line_number++) {
        const std::size_t end = std::min(content.find('\n'), content.size());
        const std::string_view line = trimmed(content.substr(0, end));
        content.remove_prefix(std::min(end + 1, content.size()));
        if (line.empty() || line.front() == '#') continue;

        const std::string where = "line " + std::to_string(line_number) + ": ";
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos)
            return problem{.what = where + "it is not of the form KEY = VALUE"};
        const std::string_view key = trimmed(line.substr(0, equals));
        const std::string_view value = trimmed(line.substr(equals + 1));
        if (key != "netdev")
            return problem{.what = where + "unknown key \"" + printable(key) + "\""};
        if (!link.netdev.empty()) return problem{.what = where + "netdev is there twice"};
        if (!valid_netdev_name(value))
            return problem{.what = where + "no network device can be called \"" + printable(value) +
                                   "\""};
        link.netdev = value;
    }
    if (link.netdev.empty()) return problem{.what = "no line says netdev = …"};
    return link;
}

std::string format_link_file(const wanted_link& link) {
    return "# A link that comes at boot, see softrnicctl(8): \"softrnicctl enable\" has written "
           "this file.\nnetdev = " +
           link.netdev + "\n";
}

const wanted_link* wanted_links::named(std::string_view name) const noexcept {
    const auto found = std::find_if(links.begin(), links.end(),
                                    [&](const wanted_link& link) { return link.name == name; });
    return found == links.end() ? nullptr : &*found;
}

const wanted_link* wanted_links::on(std::string_view netdev) const noexcept {
    const auto found = std::find_if(links.begin(), links.end(),
                                    [&](const wanted_link& link) { return link.netdev == netdev; });
    return found == links.end() ? nullptr : &*found;
}

wanted_links read_link_files(const std::string& folder) {
    wanted_links wanted;
    std::error_code error;
    std::vector<std::filesystem::path> files;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
        if (at->path().extension() == suffix) files.push_back(at->path());
    }
    if (error && error != std::errc::no_such_file_or_directory)
        wanted.problems.push_back({.what = folder + ": " + error.message()});
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path& file : files) {
        outcome<wanted_link> link = read_link_file(file);
        if (link)
            wanted.links.push_back(*std::move(link));
        else
            wanted.problems.push_back(link.why());
    }
    drop_rivals(wanted, folder);
    return wanted;
}

std::string link_file_path(const std::string& folder, std::string_view name) {
    return folder + "/" + std::string(name) + std::string(suffix);
}

maybe_problem write_link_file(const std::string& folder, const wanted_link& link) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    std::string scratch = folder + "/.new-XXXXXX";
    descriptor file(mkostemp(scratch.data(), O_CLOEXEC));
    if (!file) return errno_problem(folder);
    const std::string path = link_file_path(folder, link.name);
    if (write_out(file, format_link_file(link)) && rename(scratch.c_str(), path.c_str()) == 0)
        return std::nullopt;
    problem failed = errno_problem(path);
    unlink(scratch.c_str());
    return failed;
}

maybe_problem remove_link_file(const std::string& folder, std::string_view name) {
    const std::string path = link_file_path(folder, name);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return errno_problem(path);
    return std::nullopt;
}

}  // namespace softrnic::ctl
