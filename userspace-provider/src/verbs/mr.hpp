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
/// If it fails the region is as it was.
int rereg_mr(verbs_mr* mr, int flags, ibv_pd* pd, void* addr, std::size_t length,
             int access) noexcept;
int dereg_mr(verbs_mr* mr) noexcept;

}  // namespace softrnic::provider
