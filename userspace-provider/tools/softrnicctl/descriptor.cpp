// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "descriptor.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace softrnic::ctl {

std::optional<std::string> read_all(const descriptor& file, std::size_t limit) {
    std::string content;
    std::array<char, 4096> piece;
    for (;;) {
        const ssize_t got = read(file.get(), piece.data(), piece.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;
        if (got == 0) return content;
        content.append(piece.data(), static_cast<std::size_t>(got));
        if (content.size() > limit) return std::nullopt;
    }
}

std::optional<std::string> read_line(const std::string& path) {
    constexpr std::size_t page = 4096;
    const descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file) return std::nullopt;
    std::optional<std::string> content = read_all(file, page);
    if (content) content->erase(std::min(content->find('\n'), content->size()));
    return content;
}

bool exists(const std::string& path) noexcept {
    return access(path.c_str(), F_OK) == 0;
}

}  // namespace softrnic::ctl
