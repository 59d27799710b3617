// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Commands to a uverbs device without libibverbs, by file descriptor and handle: for programs that
/// do to objects what a library would not survive. Nothing here is owned; what is not destroyed
/// goes with its file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "descriptor.hpp"
#include "softrnic-abi.h"
#include "softrnic/softrnic.hpp"

namespace support::raw {

/// A queue: its handle, where its ring is mapped, and of a queue pair the number that peers know.
struct queue {
    std::uint32_t handle;
    srn_mapping ring;
    std::uint32_t number = 0;
};

/// An open device with a context: from here on there can be objects.
softrnic::result<descriptor> open_device(const std::string& path);

softrnic::result<std::uint32_t> alloc_pd(int device);
softrnic::result<std::uint32_t> reg_mr(int device, std::uint32_t pd, std::span<std::byte> memory);
softrnic::result<descriptor> create_comp_channel(int device);
/// `channel`: -1 for none.
softrnic::result<queue> create_cq(int device, std::uint32_t entries, int channel = -1);
softrnic::result<queue> create_srq(int device, std::uint32_t pd);
/// For both directions `cq`; `srq` only if there is one.
softrnic::result<queue> create_qp(int device, std::uint32_t pd, std::uint32_t cq);
softrnic::result<queue> create_qp(int device, std::uint32_t pd, std::uint32_t cq,
                                  std::uint32_t srq);

softrnic::result<void> dealloc_pd(int device, std::uint32_t pd);
softrnic::result<void> dereg_mr(int device, std::uint32_t mr);
softrnic::result<void> destroy_cq(int device, std::uint32_t cq);
softrnic::result<void> destroy_srq(int device, std::uint32_t srq);
softrnic::result<void> destroy_qp(int device, std::uint32_t qp);

softrnic::result<void> modify_qp(int device, std::uint32_t qp, ibv_qp_state state);
softrnic::result<void> query_qp(int device, std::uint32_t qp);
softrnic::result<void> set_srq_limit(int device, std::uint32_t srq, std::uint32_t limit);
softrnic::result<void> query_srq(int device, std::uint32_t srq);
/// Looks at the send ring.
softrnic::result<void> ring_doorbell(int device, std::uint32_t qp);

}  // namespace support::raw
