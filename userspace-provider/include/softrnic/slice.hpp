// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Pieces of registered memory: here (local_slice, named by an lkey) and at the peer (remote_slice,
/// named by an rkey). Both are plain values that own nothing; the registration must outlive their
/// use.
///
/// sub() does not compare with the registered length: the device does, for every work request, and
/// answers with IBV_WC_LOC_PROT_ERR or a remote access error. Nothing is ever placed outside.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace softrnic {

/// `length` bytes at `addr` in this process, within the region that `lkey` names. At most 4 GiB -
/// 1, as in verbs. A default slice is empty and good for zero-length messages.
struct local_slice {
    std::uint64_t addr = 0;
    std::uint32_t length = 0;
    std::uint32_t lkey = 0;

    [[nodiscard]] constexpr local_slice sub(std::uint64_t offset, std::uint32_t n) const noexcept {
        return {addr + offset, n, lkey};
    }
    friend constexpr bool operator==(const local_slice&, const local_slice&) = default;
};

/// For a message of no bytes, or a receive that takes only those: `qp.send(no_slices)`.
inline constexpr std::span<const local_slice> no_slices{};

/// `length` bytes at the peer's address `addr`, within the region that its `rkey` names.
/// Travels to the peer as `wire_size` bytes, big-endian: addr, length, rkey.
struct remote_slice {
    std::uint64_t addr = 0;
    std::uint64_t length = 0;
    std::uint32_t rkey = 0;

    static constexpr std::size_t wire_size = 20;
    using wire_bytes = std::array<std::byte, wire_size>;

    [[nodiscard]] constexpr remote_slice sub(std::uint64_t offset, std::uint64_t n) const noexcept {
        return {addr + offset, n, rkey};
    }
    [[nodiscard]] constexpr wire_bytes to_bytes() const noexcept;
    [[nodiscard]] static constexpr remote_slice from_bytes(
        std::span<const std::byte, wire_size> bytes) noexcept;

    friend constexpr bool operator==(const remote_slice&, const remote_slice&) = default;
};

namespace detail {

template <std::size_t N>
constexpr void store_be(std::byte* out, std::uint64_t value) noexcept {
    for (std::size_t i = 0; i < N; ++i)
        out[i] = static_cast<std::byte>((value >> (8 * (N - 1 - i))) & 0xff);
}

template <std::size_t N>
[[nodiscard]] constexpr std::uint64_t load_be(const std::byte* in) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < N; ++i)
        value = (value << 8) | std::to_integer<std::uint64_t>(in[i]);
    return value;
}

}  // namespace detail

constexpr remote_slice::wire_bytes remote_slice::to_bytes() const noexcept {
    wire_bytes out{};
    detail::store_be<8>(out.data(), addr);
    detail::store_be<8>(out.data() + 8, length);
    detail::store_be<4>(out.data() + 16, rkey);
    return out;
}

constexpr remote_slice remote_slice::from_bytes(
    std::span<const std::byte, wire_size> bytes) noexcept {
    return {detail::load_be<8>(bytes.data()), detail::load_be<8>(bytes.data() + 8),
            static_cast<std::uint32_t>(detail::load_be<4>(bytes.data() + 16))};
}

namespace detail {

// A list of slices is handed to verbs as it is, so the two must be the same bytes.
// NOLINTBEGIN(misc-redundant-expression): each is a comparison of two types
static_assert(sizeof(local_slice) == sizeof(ibv_sge) && alignof(local_slice) == alignof(ibv_sge));
static_assert(offsetof(local_slice, addr) == offsetof(ibv_sge, addr));
static_assert(offsetof(local_slice, length) == offsetof(ibv_sge, length));
static_assert(offsetof(local_slice, lkey) == offsetof(ibv_sge, lkey));
// NOLINTEND(misc-redundant-expression)
static_assert(std::is_trivially_copyable_v<local_slice>);
static_assert(std::is_trivially_copyable_v<remote_slice>);

/// The same list for the C interface, which wants it mutable and does not change it.
[[nodiscard]] inline ibv_sge* to_native(const local_slice* first) noexcept {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast,cppcoreguidelines-pro-type-const-cast)
    return reinterpret_cast<ibv_sge*>(const_cast<local_slice*>(first));
}

}  // namespace detail
}  // namespace softrnic
