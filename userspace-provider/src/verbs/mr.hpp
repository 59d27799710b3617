// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Memory regions.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "abi/libibverbs_private.hpp"

namespace softrnic::provider {

ibv_mr* reg_mr(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, int access) noexcept;
/// Part of a DMA-BUF from `offset` on.
ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                      int fd, int access) noexcept;
/// A region that another process has registered with the same open device.
ibv_mr* import_mr(ibv_pd* pd, std::uint32_t handle) noexcept;
/// The region stays.
void unimport_mr(ibv_mr* mr) noexcept;
/// If it fails the region is as it was.
int rereg_mr(verbs_mr* mr, int flags, ibv_pd* pd, void* addr, std::size_t length,
             int access) noexcept;
int dereg_mr(verbs_mr* mr) noexcept;

}  // namespace softrnic::provider
