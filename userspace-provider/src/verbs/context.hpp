// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// An open device.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "abi/libibverbs_private.hpp"

namespace softrnic::provider {

/// libibverbs allocates it, zeroed, around its own verbs_context.
struct device_context : whole_verbs_context {
    std::uint32_t device_number;
    std::uint32_t max_inline;
    std::uint64_t features;  ///< SRN_FEATURE_*
    /// Doorbells go through ioctl(): set once write() was found to be refused. See doorbell.hpp.
    bool ring_by_ioctl;
    /// The user wants no doorbell to wait for others: SOFTRNIC_LAZY=0 in the environment.
    bool never_lazy;
};

inline device_context* context_of(ibv_context* base) noexcept {
    return static_cast<device_context*>(verbs_get_ctx(base));
}

// Verbs.
verbs_context* open_context(ibv_device* device, int cmd_fd, void* private_data) noexcept;
/// The device was opened by another process, from which cmd_fd is.
verbs_context* import_context(ibv_device* device, int cmd_fd) noexcept;
void free_context(ibv_context* base) noexcept;
int query_device(ibv_context* base, const ibv_query_device_ex_input* input,
                 ibv_device_attr_ex* attr, std::size_t attr_size) noexcept;
int query_rt_values(ibv_context* base, ibv_values_ex* values) noexcept;
int query_port(ibv_context* base, std::uint8_t port, ibv_port_attr* attr) noexcept;

/// The operations that every context gets.
const verbs_context_ops& provider_ops() noexcept;

}  // namespace softrnic::provider
