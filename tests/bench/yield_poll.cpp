// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// For LD_PRELOAD, on a machine with one CPU: a program that polls an empty completion queue gives
// the CPU to its peer. Else it would keep it until the scheduler's tick, and every latency would be
// that tick. All drivers are measured with it.
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <sched.h>

#include <cstdlib>

namespace {

using create_cq_function = ibv_cq*(ibv_context*, int, void*, ibv_comp_channel*, int);
using poll_cq_function = int(ibv_cq*, int, ibv_wc*);

/// The driver's own; a process of the benchmark uses one driver only.
poll_cq_function* driver_poll_cq = nullptr;

int poll_or_yield(ibv_cq* queue, int room, ibv_wc* completions) {
    const int taken = driver_poll_cq(queue, room, completions);
    if (taken == 0) sched_yield();
    return taken;
}

create_cq_function* library_create_cq() {
    // By its version: libibverbs keeps an older one under the same name.
    return reinterpret_cast<create_cq_function*>(dlvsym(RTLD_NEXT, "ibv_create_cq", "IBVERBS_1.1"));
}

}  // namespace

extern "C" ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* user,
                                 ibv_comp_channel* channel, int vector) {
    static create_cq_function* const real = library_create_cq();
    if (real == nullptr) std::abort();
    ibv_cq* const queue = real(context, entries, user, channel, vector);
    if (queue != nullptr && queue->context->ops.poll_cq != poll_or_yield) {
        driver_poll_cq = queue->context->ops.poll_cq;
        queue->context->ops.poll_cq = poll_or_yield;
    }
    return queue;
}
