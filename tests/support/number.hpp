// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Numbers on the command lines of the tests' programs.
#pragma once

#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace support {

/// The number above 0 that is all of a text; throws std::invalid_argument if the text is not one.
template <class T>
T number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value == 0)
        throw std::invalid_argument("not a number above 0: " + std::string(text));
    return value;
}

}  // namespace support
