// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Requests and responses of uverbs commands.
///
/// The structures of <rdma/ib_user_verbs.h> end in flexible arrays for the driver's part, so they
/// cannot be members or bases in C++: messages are laid out in bytes here.
#pragma once

#include <rdma/ib_user_verbs.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace softrnic::provider {

struct no_driver_part {};

template <class Driver>
constexpr std::size_t driver_size() noexcept {
    return std::is_same_v<Driver, no_driver_part> ? 0 : sizeof(Driver);
}

/// Room for the command header and Core, which the ibv_cmd_* functions fill in, and for what the
/// driver adds.
template <class Core, class Driver = no_driver_part>
struct request {
    static constexpr std::size_t core_size() noexcept {
        return sizeof(ib_uverbs_cmd_hdr) + sizeof(Core);
    }
    alignas(8) std::byte bytes[core_size() + driver_size<Driver>()] = {};

    void* data() noexcept { return bytes; }

    void put(const Driver& part) noexcept {
        static_assert(std::is_trivially_copyable_v<Driver>);
        std::memcpy(bytes + core_size(), &part, driver_size<Driver>());
    }
};

/// The same for an extended command, which has a second header.
template <class Core>
struct extended_request {
    alignas(8) std::byte
        bytes[sizeof(ib_uverbs_cmd_hdr) + sizeof(ib_uverbs_ex_cmd_hdr) + sizeof(Core)] = {};

    void* data() noexcept { return bytes; }
};

/// Room for Core, which the ibv_cmd_* functions read, and for what the driver adds. What an older
/// kernel does not send stays zero.
template <class Core, class Driver = no_driver_part>
struct response {
    alignas(8) std::byte bytes[sizeof(Core) + driver_size<Driver>()] = {};

    void* data() noexcept { return bytes; }

    [[nodiscard]] Driver driver() const noexcept {
        Driver part{};
        std::memcpy(&part, bytes + sizeof(Core), driver_size<Driver>());
        return part;
    }
};

}  // namespace softrnic::provider
