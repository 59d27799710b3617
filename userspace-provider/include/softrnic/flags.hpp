// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Strongly typed flag sets: access rights of memory and queue pairs, and options of a work
/// request. They combine with `|`, `&`, `^`, `~`; any(flags) tests for a non-empty set. The values
/// are those of verbs, so to_native() is free.
#pragma once

#include <infiniband/verbs.h>

#include <type_traits>

namespace softrnic {

/// What may be done to a memory region or window, or by a peer through a queue pair.
/// Reading locally is always allowed.
enum class access : unsigned {
    none = 0,
    local_write = IBV_ACCESS_LOCAL_WRITE,    ///< receives and reads may place data here
    remote_write = IBV_ACCESS_REMOTE_WRITE,  ///< needs local_write too
    remote_read = IBV_ACCESS_REMOTE_READ,
    remote_atomic = IBV_ACCESS_REMOTE_ATOMIC,  ///< needs local_write too
    window_bind = IBV_ACCESS_MW_BIND,          ///< memory windows may be bound to this region
    zero_based = IBV_ACCESS_ZERO_BASED,
    on_demand = IBV_ACCESS_ON_DEMAND,
    huge_pages = IBV_ACCESS_HUGETLB,
    relaxed_ordering = IBV_ACCESS_RELAXED_ORDERING,  ///< a hint; ignored by devices without it
};

/// How one work request of the send queue behaves.
enum class send_flag : unsigned {
    none = 0,
    signaled = IBV_SEND_SIGNALED,    ///< completes with an entry in the completion queue
    solicited = IBV_SEND_SOLICITED,  ///< wakes a peer that armed its queue for solicited events
    fence = IBV_SEND_FENCE,          ///< starts only when all earlier RDMA reads have completed
    inline_data = IBV_SEND_INLINE,   ///< bytes are copied while posting; lkeys are not looked at
};

/// Whether `E` is a set of flags; specialise for an enum of your own to give it the operators.
template <class E>
inline constexpr bool is_flag_set = false;
template <>
inline constexpr bool is_flag_set<access> = true;
template <>
inline constexpr bool is_flag_set<send_flag> = true;

template <class E>
concept flag_set = std::is_enum_v<E> && is_flag_set<E>;

template <flag_set E>
[[nodiscard]] constexpr std::underlying_type_t<E> bits(E flags) noexcept {
    return static_cast<std::underlying_type_t<E>>(flags);
}
template <flag_set E>
[[nodiscard]] constexpr E operator|(E a, E b) noexcept {
    return static_cast<E>(bits(a) | bits(b));
}
template <flag_set E>
[[nodiscard]] constexpr E operator&(E a, E b) noexcept {
    return static_cast<E>(bits(a) & bits(b));
}
template <flag_set E>
[[nodiscard]] constexpr E operator^(E a, E b) noexcept {
    return static_cast<E>(bits(a) ^ bits(b));
}
template <flag_set E>
[[nodiscard]] constexpr E operator~(E a) noexcept {
    return static_cast<E>(~bits(a));
}
template <flag_set E>
constexpr E& operator|=(E& a, E b) noexcept {
    return a = a | b;
}
template <flag_set E>
constexpr E& operator&=(E& a, E b) noexcept {
    return a = a & b;
}

/// Is anything set?
template <flag_set E>
[[nodiscard]] constexpr bool any(E flags) noexcept {
    return bits(flags) != 0;
}

/// The value that the C interface wants.
[[nodiscard]] constexpr int to_native(access flags) noexcept {
    return static_cast<int>(bits(flags));
}
[[nodiscard]] constexpr unsigned to_native(send_flag flags) noexcept {
    return bits(flags);
}

}  // namespace softrnic
