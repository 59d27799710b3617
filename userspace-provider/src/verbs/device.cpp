// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What a device says about itself.
#include <rdma/ib_user_verbs.h>

#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include "uverbs/message.hpp"
#include "verbs/context.hpp"

namespace softrnic::provider {

int query_device(ibv_context* base, const ibv_query_device_ex_input* input,
                 ibv_device_attr_ex* attr, std::size_t attr_size) noexcept {
    ib_uverbs_ex_query_device_resp resp{};
    std::size_t resp_size = sizeof(resp);
    if (const int error =
            ibv_cmd_query_device_any(base, input, attr, attr_size, &resp, &resp_size)) {
        return error;
    }
    const std::uint64_t version = resp.base.fw_ver;
    std::snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
                  "%" PRIu64 ".%" PRIu64 ".%" PRIu64, version >> 32, (version >> 16) & 0xffff,
                  version & 0xffff);
    // attr_size is less for a program that was built for an older libibverbs.
    if (attr_size >=
        offsetof(ibv_device_attr_ex, packet_pacing_caps) + sizeof(attr->packet_pacing_caps)) {
        attr->packet_pacing_caps = {1, UINT32_MAX, 1U << IBV_QPT_RC};
    }
    return 0;
}

int query_rt_values(ibv_context* /*base*/, ibv_values_ex* values) noexcept {
    values->comp_mask &= IBV_VALUES_MASK_RAW_CLOCK;
    if (values->comp_mask == 0) return 0;
    timespec& clock = values->raw_clock;
    if (::clock_gettime(CLOCK_REALTIME, &clock) != 0) return errno;
    // One number, as completions have it: programs look for it there.
    if constexpr (sizeof(clock.tv_nsec) >= sizeof(std::int64_t)) {
        clock.tv_nsec += clock.tv_sec * 1'000'000'000;
        clock.tv_sec = 0;
    }
    return 0;
}

int query_port(ibv_context* base, std::uint8_t port, ibv_port_attr* attr) noexcept {
    request<ib_uverbs_query_port> req;
    if (const int error = ibv_cmd_query_port(base, port, attr, req.data(), sizeof(req)); error != 0)
        return error;
    // The kernel has one for its own connection manager. A program that sees one takes the device
    // for InfiniBand's: libfabric then looks for addresses of that kind. Where it shall be taken
    // for that, programs look for the usual key.
    if (base->device->node_type != IBV_NODE_CA) attr->pkey_tbl_len = 0;
    return 0;
}

}  // namespace softrnic::provider
