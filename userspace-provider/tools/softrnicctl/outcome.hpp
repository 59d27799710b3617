// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What a step of the program comes to: a value, or a problem that it tells and ends with.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace softrnic::ctl {

/// The program's exit statuses. softrnicctl(8) documents them.
enum class exit_status : int {
    done = 0,
    failed = 1,   ///< it could not be done, or doctor has found something wrong
    usage = 2,    ///< the command line makes no sense
    missing = 3,  ///< there is no link or network device of that name
    denied = 4,   ///< the caller may not do that
};

/// Why something was not done.
struct problem {
    exit_status status = exit_status::failed;
    std::string what;
    /// What the user can do about it; may be empty.
    std::string mend{};
};

/// Of a step without a value: nothing, or what went wrong.
using maybe_problem = std::optional<problem>;

/// A T, or a problem.
template <class T>
class [[nodiscard]] outcome {
public:
    // NOLINTNEXTLINE(google-explicit-constructor)
    outcome(T value) : held_(std::move(value)) {}
    // NOLINTNEXTLINE(google-explicit-constructor)
    outcome(struct problem p) : held_(std::move(p)) {}

    explicit operator bool() const noexcept { return held_.index() == 0; }
    T& operator*() & noexcept { return *std::get_if<0>(&held_); }
    T&& operator*() && noexcept { return std::move(*std::get_if<0>(&held_)); }
    T* operator->() noexcept { return std::get_if<0>(&held_); }
    [[nodiscard]] const problem& why() const noexcept { return *std::get_if<1>(&held_); }

private:
    std::variant<T, problem> held_;
};

}  // namespace softrnic::ctl
