// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// result<T>: a T or an error. It has the part of std::expected's interface that this library and
/// its users need: bool test, `*`, `->`, error(), value_or(), and_then(). It is never
/// std::expected itself, so that files compiled as C++20 and as C++23 can be one program.
///
/// Nothing here throws. Reading `*r` of a failed result, or r.error() of a good one, is a
/// programming error, checked by assert.
#pragma once

#include <cassert>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "softrnic/error.hpp"

namespace softrnic {

/// Wraps an error so that it converts to any result<T>: `return failure(e);`
class failure {
public:
    constexpr explicit failure(softrnic::error e) noexcept : error_(e) {}
    [[nodiscard]] constexpr softrnic::error error() const noexcept { return error_; }

private:
    softrnic::error error_;
};

template <class T>
class [[nodiscard]] result {
public:
    using value_type = T;

    template <class U = T>
    requires(std::is_constructible_v<T, U&&> && !std::is_same_v<std::remove_cvref_t<U>, result> &&
             !std::is_same_v<std::remove_cvref_t<U>, failure>)
        // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
        constexpr result(U&& value)
        : value_(std::forward<U>(value)) {}
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr result(failure f) noexcept : good_(false), error_(f.error()) {}

    result(const result& other) requires std::is_copy_constructible_v<T> : good_(other.good_) {
        if (good_)
            std::construct_at(std::addressof(value_), other.value_);
        else
            error_ = other.error_;
    }
    result(result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : good_(other.good_) {
        if (good_)
            std::construct_at(std::addressof(value_), std::move(other.value_));
        else
            error_ = other.error_;
    }
    result& operator=(const result& other) requires std::is_copy_constructible_v<T> {
        if (this != &other) {
            result copy(other);
            replace(std::move(copy));
        }
        return *this;
    }
    result& operator=(result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
        if (this != &other) replace(std::move(other));
        return *this;
    }
    ~result() {
        if (good_) std::destroy_at(std::addressof(value_));
    }

    [[nodiscard]] constexpr bool has_value() const noexcept { return good_; }
    constexpr explicit operator bool() const noexcept { return good_; }

    [[nodiscard]] constexpr T& operator*() & noexcept { return checked(); }
    [[nodiscard]] constexpr const T& operator*() const& noexcept { return checked(); }
    [[nodiscard]] constexpr T&& operator*() && noexcept { return std::move(checked()); }
    [[nodiscard]] constexpr T* operator->() noexcept { return std::addressof(checked()); }
    [[nodiscard]] constexpr const T* operator->() const noexcept {
        return std::addressof(checked());
    }

    [[nodiscard]] constexpr softrnic::error error() const noexcept {
        assert(!good_);
        return error_;
    }

    template <class U>
    [[nodiscard]] constexpr T value_or(U&& other) const& {
        return good_ ? value_ : static_cast<T>(std::forward<U>(other));
    }
    template <class U>
    [[nodiscard]] constexpr T value_or(U&& other) && {
        return good_ ? std::move(value_) : static_cast<T>(std::forward<U>(other));
    }

    /// Calls next(value) if there is one; next returns a result of its own.
    template <class F>
    [[nodiscard]] constexpr auto and_then(F&& next) && -> std::invoke_result_t<F, T&&> {
        if (!good_) return failure(error_);
        return std::invoke(std::forward<F>(next), std::move(value_));
    }

private:
    constexpr T& checked() noexcept {
        assert(good_);
        return value_;
    }
    constexpr const T& checked() const noexcept {
        assert(good_);
        return value_;
    }
    void replace(result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
        std::destroy_at(this);
        std::construct_at(this, std::move(other));
    }

    bool good_ = true;
    union {
        T value_;
        softrnic::error error_;
    };
};

template <>
class [[nodiscard]] result<void> {
public:
    using value_type = void;

    constexpr result() noexcept = default;
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr result(failure f) noexcept : good_(false), error_(f.error()) {}

    [[nodiscard]] constexpr bool has_value() const noexcept { return good_; }
    constexpr explicit operator bool() const noexcept { return good_; }
    constexpr void operator*() const noexcept { assert(good_); }

    [[nodiscard]] constexpr softrnic::error error() const noexcept {
        assert(!good_);
        return error_;
    }

    /// Calls next() if this is good; next returns a result of its own.
    template <class F>
    [[nodiscard]] constexpr auto and_then(F&& next) const -> std::invoke_result_t<F> {
        if (!good_) return failure(error_);
        return std::invoke(std::forward<F>(next));
    }

private:
    bool good_ = true;
    softrnic::error error_{};
};

namespace detail {

/// A failure that carries errno.
[[nodiscard]] inline failure fail_errno(const char* operation) noexcept {
    return failure(last_error(operation));
}
/// A failure that carries a given errno value.
[[nodiscard]] inline failure fail(int code, const char* operation) noexcept {
    return failure(error_from(code, operation));
}
/// For calls that return 0 or an errno value, as most of verbs do.
[[nodiscard]] inline result<void> check(int code, const char* operation) noexcept {
    if (code != 0) return fail(code, operation);
    return {};
}
/// For calls that return 0, or -1 and errno, as rdma_cm does.
[[nodiscard]] inline result<void> check_errno(int returned, const char* operation) noexcept {
    if (returned != 0) return fail_errno(operation);
    return {};
}

}  // namespace detail
}  // namespace softrnic
