// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Telling the kernel that a ring has new work.
#pragma once

#include <infiniband/verbs.h>

namespace softrnic::provider {

enum class doorbell { send, receive };

/// Enters the kernel, which drains the queue: the send queue in this very call. Returns 0, or an
/// errno value if the kernel will not take that work any more, as the device or the QP is gone.
int ring(ibv_qp& qp, doorbell which) noexcept;

/// The same for the receives of a shared receive queue.
int ring(ibv_srq& srq) noexcept;

}  // namespace softrnic::provider
