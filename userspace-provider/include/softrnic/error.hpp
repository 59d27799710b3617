// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What went wrong: an errno value and the verbs or rdma_cm call that reported it.
///
/// Thread safety: values, no shared state.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace softrnic {

/// The failure of one operation. Trivially copyable, so that it costs nothing to hand upwards.
struct error {
    /// A positive errno value, never 0.
    int code = EIO;
    /// The call that failed, such as "ibv_reg_mr": a string that lives as long as the program.
    const char* operation = "";

    /// For code that already speaks std::error_code.
    [[nodiscard]] std::error_code error_code() const noexcept {
        return {code, std::generic_category()};
    }

    /// One line for people: "ibv_reg_mr: Cannot allocate memory".
    [[nodiscard]] std::string message() const {
        return std::string(operation) + ": " + error_code().message();
    }

    friend constexpr bool operator==(const error& a, const error& b) noexcept {
        return a.code == b.code;
    }
};

namespace detail {

/// The error of a call that returned an errno value. Some calls hand back negative values and some
/// fail without setting errno: both become something that a caller can test.
[[nodiscard]] inline error error_from(int code, const char* operation) noexcept {
    if (code == 0) return {EIO, operation};
    return {code < 0 ? -code : code, operation};
}

/// The error of a call that has just set errno.
[[nodiscard]] inline error last_error(const char* operation) noexcept {
    return error_from(errno, operation);
}

}  // namespace detail
}  // namespace softrnic
