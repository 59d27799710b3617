// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "verbs/doorbell.hpp"

#include <rdma/ib_user_verbs.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "uverbs/ioctl.hpp"
#include "verbs/context.hpp"

namespace softrnic::provider {
namespace {

/// IB_USER_VERBS_CMD_POST_SEND, _POST_RECV or _POST_SRQ_RECV without work requests. They have one
/// layout; the uverbs core wants to hear of entries as large as its own even if there are none.
struct post_command {
    std::uint64_t response;
    std::uint32_t handle;
    std::uint32_t wr_count;
    std::uint32_t sge_count;
    std::uint32_t wqe_size;
};
static_assert(sizeof(post_command) == sizeof(ib_uverbs_post_send));
static_assert(sizeof(post_command) == sizeof(ib_uverbs_post_recv));
static_assert(sizeof(post_command) == sizeof(ib_uverbs_post_srq_recv));
static_assert(offsetof(post_command, wqe_size) == offsetof(ib_uverbs_post_send, wqe_size));

struct post_message {
    ib_uverbs_cmd_hdr header;
    post_command command;
};
static_assert(sizeof(post_message) == sizeof(ib_uverbs_cmd_hdr) + sizeof(post_command));

struct command_kind {
    std::uint32_t number;
    std::uint32_t wqe_size;
};

constexpr command_kind kind_of(doorbell which) noexcept {
    if (which == doorbell::send) return {IB_USER_VERBS_CMD_POST_SEND, sizeof(ib_uverbs_send_wr)};
    return {IB_USER_VERBS_CMD_POST_RECV, sizeof(ib_uverbs_recv_wr)};
}

constexpr command_kind shared_receive{IB_USER_VERBS_CMD_POST_SRQ_RECV, sizeof(ib_uverbs_recv_wr)};

/// What is rung for.
struct object {
    ibv_context* context;
    std::uint32_t handle;
};

constexpr std::uint16_t words(std::size_t bytes) noexcept {
    return static_cast<std::uint16_t>(bytes / sizeof(std::uint32_t));
}

/// Not by the function write(): that is a place where a thread may be cancelled, while it has the
/// lock of a queue or has posted what it has not rung for.
int ring_by_write(const object& queue, const command_kind& kind) noexcept {
    ib_uverbs_post_send_resp resp{};
    const post_message message{
        {kind.number, words(sizeof(post_message)), words(sizeof(resp))},
        {reinterpret_cast<std::uintptr_t>(&resp), queue.handle, 0, 0, kind.wqe_size}};
    return ::syscall(SYS_write, queue.context->cmd_fd, &message, sizeof(message)) >= 0 ? 0 : errno;
}

/// The same command by ioctl(): slower, but without write()'s check of who opened the device.
int ring_by_ioctl(const object& queue, const command_kind& kind) noexcept {
    ib_uverbs_post_send_resp resp{};
    const post_command command{reinterpret_cast<std::uintptr_t>(&resp), queue.handle, 0, 0,
                               kind.wqe_size};
    uverbs_ioctl<3> call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
    call.in(UVERBS_ATTR_WRITE_CMD, std::uint64_t{kind.number});
    call.in(UVERBS_ATTR_CORE_IN, command);
    call.out(UVERBS_ATTR_CORE_OUT, resp);
    return call.call(queue.context->cmd_fd);
}

int ring_once(const object& queue, const command_kind& kind) noexcept {
    const std::atomic_ref by_ioctl(context_of(queue.context)->ring_by_ioctl);
    if (!by_ioctl.load(std::memory_order_relaxed)) {
        const int error = ring_by_write(queue, kind);
        if (error != EACCES) return error;
        // The process has changed its credentials since it opened the device, as a daemon does
        // that drops its privileges; write() is refused from now on.
        by_ioctl.store(true, std::memory_order_relaxed);
    }
    return ring_by_ioctl(queue, kind);
}

constexpr bool passes(int error) noexcept {
    return error == EINTR || error == EAGAIN || error == ENOMEM || error == EBUSY;
}

int ring_until_heard(const object& queue, const command_kind& kind) noexcept {
    constexpr int attempts = 1000;
    for (int i = 0; i < attempts; ++i) {
        const int error = ring_once(queue, kind);
        if (!passes(error)) return error;
        ::sched_yield();
    }
    // The kernel still wants a kick, so the next request posted brings one. The work requests
    // are in the ring and cannot be taken back: they count as posted.
    return 0;
}

}  // namespace

int ring(ibv_qp& qp, doorbell which) noexcept {
    return ring_until_heard({qp.context, qp.handle}, kind_of(which));
}

int ring(ibv_srq& srq) noexcept {
    return ring_until_heard({srq.context, srq.handle}, shared_receive);
}

}  // namespace softrnic::provider
