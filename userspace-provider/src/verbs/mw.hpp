// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Memory windows.
#pragma once

#include <infiniband/verbs.h>

namespace softrnic::provider {

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) noexcept;
int dealloc_mw(ibv_mw* window) noexcept;
/// Of a window of type 1; one of type 2 is bound by a work request of its own.
int bind_mw(ibv_qp* queue, ibv_mw* window, ibv_mw_bind* bind) noexcept;

}  // namespace softrnic::provider
