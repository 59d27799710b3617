// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "kernel_log.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace softrnic::ctl {

kernel_log::kernel_log() : log_(open("/dev/kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (log_ && lseek(log_.get(), 0, SEEK_END) < 0) log_.close();
}

std::vector<std::string> kernel_log::news() {
    constexpr std::string_view ours = "softrnic: ";
    std::vector<std::string> found;
    // One read is one record: "number,number,…;text" and a line for each property.
    std::array<char, 8192> record;
    while (log_) {
        const ssize_t got = read(log_.get(), record.data(), record.size());
        // EPIPE: the log has overtaken its reader, who goes on with what is left of it.
        if (got < 0 && (errno == EPIPE || errno == EINTR)) continue;
        if (got <= 0) break;
        std::string_view text(record.data(), static_cast<std::size_t>(got));
        text = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.find(';') + 1, text.size()));
        if (text.substr(0, ours.size()) == ours) found.emplace_back(text.substr(ours.size()));
    }
    return found;
}

}  // namespace softrnic::ctl
