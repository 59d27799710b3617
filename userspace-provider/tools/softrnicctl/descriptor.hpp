// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// A file descriptor and its owner; reading files.
#pragma once

#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

namespace softrnic::ctl {

class descriptor {
public:
    descriptor() noexcept = default;
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { close(); }

    void close() noexcept {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    [[nodiscard]] int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }

private:
    int fd_ = -1;
};

/// All that can be read from a descriptor, or nothing if it fails or has more than limit bytes.
std::optional<std::string> read_all(const descriptor& file, std::size_t limit);

/// The first line of a short file, such as those of sysfs.
std::optional<std::string> read_line(const std::string& path);

/// Whether something of that name is there.
bool exists(const std::string& path) noexcept;

}  // namespace softrnic::ctl
