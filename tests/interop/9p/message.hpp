// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Messages of 9P2000.L, the dialect of Linux: little-endian numbers, and strings behind their
/// length. As in the kernel's Documentation/filesystems/9p.rst and the protocol's description by
/// diod.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace ninep {

/// Types of requests. The answer to each has the next number.
enum class request : std::uint8_t {
    statfs = 8,
    lopen = 12,
    lcreate = 14,
    symlink = 16,
    readlink = 22,
    getattr = 24,
    setattr = 26,
    readdir = 40,
    fsync = 50,
    link = 70,
    mkdir = 72,
    renameat = 74,
    unlinkat = 76,
    version = 100,
    attach = 104,
    flush = 108,
    walk = 110,
    read = 116,
    write = 118,
    clunk = 120,
};

/// The type of the answer that is an error.
inline constexpr std::uint8_t error_type = 7;

/// Size, type and tag, which all messages begin with.
inline constexpr std::uint32_t head_size = 7;

/// Takes a message apart. Past its end everything is zero or empty, and good() is false.
class reader {
public:
    explicit reader(std::span<const std::byte> message) : left_(message) {}

    template <class T>
    T number() {
        T value{};
        const auto from = take(sizeof value);
        if (good_) std::memcpy(&value, from.data(), sizeof value);
        return value;
    }
    std::string text() {
        const auto from = take(number<std::uint16_t>());
        return {reinterpret_cast<const char*>(from.data()), from.size()};
    }
    std::span<const std::byte> take(std::size_t count) {
        good_ = good_ && count <= left_.size();
        if (!good_) return {};
        const auto taken = left_.first(count);
        left_ = left_.subspan(count);
        return taken;
    }
    [[nodiscard]] bool good() const { return good_; }

private:
    std::span<const std::byte> left_;
    bool good_ = true;
};

/// Puts a message together. What does not fit is left out, and good() is false.
class writer {
public:
    explicit writer(std::span<std::byte> room) : room_(room) {}

    template <class T>
    void number(T value) {
        bytes(std::as_bytes(std::span(&value, 1)));
    }
    void text(std::string_view value) {
        number(static_cast<std::uint16_t>(value.size()));
        bytes(std::as_bytes(std::span(value)));
    }
    void bytes(std::span<const std::byte> value) {
        good_ = good_ && value.size() <= room_.size() - used_;
        if (good_) std::memcpy(room_.data() + used_, value.data(), value.size());
        if (good_) used_ += value.size();
    }
    /// Room for what is written in place, as far as there is so much. used() does not count it yet.
    [[nodiscard]] std::span<std::byte> spare(std::size_t count) const {
        const auto left = room_.subspan(used_);
        return left.first(count < left.size() ? count : left.size());
    }
    void advance(std::size_t count) { used_ += count; }
    /// Goes back to where `used` bytes were in it.
    void truncate(std::size_t used) { used_ = used; }

    [[nodiscard]] std::size_t used() const { return used_; }
    [[nodiscard]] bool good() const { return good_; }

private:
    std::span<std::byte> room_;
    std::size_t used_ = 0;
    bool good_ = true;
};

}  // namespace ninep
