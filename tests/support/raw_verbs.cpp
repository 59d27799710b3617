// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "raw_verbs.hpp"

#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace support::raw {

namespace {

using softrnic::failure;
using softrnic::result;

/// What a driver may have to say: more with siw, which some tests are tried with, than with ours.
constexpr std::size_t driver_room = 64;

/// Sends a command; the answer is the core's and then the driver's.
template <class Body, std::size_t Answer>
result<void> command(int device, unsigned number, const char* name, Body body,
                     std::array<std::byte, Answer>& answer) {
    constexpr std::size_t size = sizeof(ib_uverbs_cmd_hdr) + sizeof(Body);
    static_assert(size % 4 == 0 && Answer % 4 == 0);
    if constexpr (requires { body.response; })
        body.response = reinterpret_cast<std::uintptr_t>(answer.data());
    const ib_uverbs_cmd_hdr header{number, size / 4, Answer / 4};
    std::array<std::byte, size> message;
    std::memcpy(message.data(), &header, sizeof header);
    std::memcpy(message.data() + sizeof header, &body, sizeof body);
    if (write(device, message.data(), message.size()) < 0)
        return softrnic::detail::fail_errno(name);
    return {};
}

template <class Body>
result<void> command(int device, unsigned number, const char* name, const Body& body) {
    std::array<std::byte, 0> none;
    return command(device, number, name, body, none);
}

template <class T>
T part(std::span<const std::byte> answer, std::size_t offset = 0) {
    T value;
    std::memcpy(&value, answer.data() + offset, sizeof value);
    return value;
}

/// Creates a queue whose core part of the answer is Core and whose driver's part is Driver.
template <class Core, class Driver, class Body>
result<queue> create_queue(int device, unsigned number, const char* name, const Body& body,
                           std::uint32_t Core::*handle) {
    static_assert(sizeof(Driver) <= driver_room);
    std::array<std::byte, sizeof(Core) + driver_room> answer{};
    if (const auto done = command(device, number, name, body, answer); !done)
        return failure(done.error());
    const auto core = part<Core>(answer);
    queue made{core.*handle, part<Driver>(answer, sizeof(Core)).map};
    if constexpr (requires { core.qpn; }) made.number = core.qpn;
    return made;
}

ib_uverbs_create_qp qp_of(std::uint32_t pd, std::uint32_t cq) {
    ib_uverbs_create_qp body{};
    body.pd_handle = pd;
    body.send_cq_handle = body.recv_cq_handle = cq;
    body.max_send_wr = body.max_recv_wr = 16;
    body.max_send_sge = body.max_recv_sge = 2;
    body.qp_type = IBV_QPT_RC;
    return body;
}

result<queue> create_qp(int device, const ib_uverbs_create_qp& body) {
    return create_queue<ib_uverbs_create_qp_resp, srn_uresp_create_qp>(
        device, IB_USER_VERBS_CMD_CREATE_QP, "create_qp", body,
        &ib_uverbs_create_qp_resp::qp_handle);
}

}  // namespace

result<descriptor> open_device(const std::string& path) {
    descriptor device(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!device) return softrnic::detail::fail_errno("open");
    std::array<std::byte, sizeof(ib_uverbs_get_context_resp) + driver_room> answer{};
    if (const auto done = command(device.get(), IB_USER_VERBS_CMD_GET_CONTEXT, "get_context",
                                  ib_uverbs_get_context{}, answer);
        !done)
        return failure(done.error());
    // Asynchronous events are not listened to.
    const descriptor events(static_cast<int>(part<ib_uverbs_get_context_resp>(answer).async_fd));
    return device;
}

result<std::uint32_t> alloc_pd(int device) {
    std::array<std::byte, sizeof(ib_uverbs_alloc_pd_resp)> answer{};
    if (const auto done =
            command(device, IB_USER_VERBS_CMD_ALLOC_PD, "alloc_pd", ib_uverbs_alloc_pd{}, answer);
        !done)
        return failure(done.error());
    return part<ib_uverbs_alloc_pd_resp>(answer).pd_handle;
}

result<std::uint32_t> reg_mr(int device, std::uint32_t pd, std::span<std::byte> memory) {
    ib_uverbs_reg_mr body{};
    body.start = body.hca_va = reinterpret_cast<std::uintptr_t>(memory.data());
    body.length = memory.size();
    body.pd_handle = pd;
    body.access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    std::array<std::byte, sizeof(ib_uverbs_reg_mr_resp)> answer{};
    if (const auto done = command(device, IB_USER_VERBS_CMD_REG_MR, "reg_mr", body, answer); !done)
        return failure(done.error());
    return part<ib_uverbs_reg_mr_resp>(answer).mr_handle;
}

result<descriptor> create_comp_channel(int device) {
    std::array<std::byte, sizeof(ib_uverbs_create_comp_channel_resp)> answer{};
    if (const auto done = command(device, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
                                  "create_comp_channel", ib_uverbs_create_comp_channel{}, answer);
        !done)
        return failure(done.error());
    return descriptor(static_cast<int>(part<ib_uverbs_create_comp_channel_resp>(answer).fd));
}

result<queue> create_cq(int device, std::uint32_t entries, int channel) {
    ib_uverbs_create_cq body{};
    body.cqe = entries;
    body.comp_channel = channel;
    return create_queue<ib_uverbs_create_cq_resp, srn_uresp_create_cq>(
        device, IB_USER_VERBS_CMD_CREATE_CQ, "create_cq", body,
        &ib_uverbs_create_cq_resp::cq_handle);
}

result<queue> create_srq(int device, std::uint32_t pd) {
    ib_uverbs_create_srq body{};
    body.pd_handle = pd;
    body.max_wr = 16;
    body.max_sge = 2;
    return create_queue<ib_uverbs_create_srq_resp, srn_uresp_create_srq>(
        device, IB_USER_VERBS_CMD_CREATE_SRQ, "create_srq", body,
        &ib_uverbs_create_srq_resp::srq_handle);
}

result<queue> create_qp(int device, std::uint32_t pd, std::uint32_t cq) {
    return create_qp(device, qp_of(pd, cq));
}

result<queue> create_qp(int device, std::uint32_t pd, std::uint32_t cq, std::uint32_t srq) {
    ib_uverbs_create_qp body = qp_of(pd, cq);
    body.is_srq = 1;
    body.srq_handle = srq;
    body.max_recv_wr = 0;
    return create_qp(device, body);
}

result<void> dealloc_pd(int device, std::uint32_t pd) {
    return command(device, IB_USER_VERBS_CMD_DEALLOC_PD, "dealloc_pd", ib_uverbs_dealloc_pd{pd});
}

result<void> dereg_mr(int device, std::uint32_t mr) {
    return command(device, IB_USER_VERBS_CMD_DEREG_MR, "dereg_mr", ib_uverbs_dereg_mr{mr});
}

result<void> destroy_cq(int device, std::uint32_t cq) {
    std::array<std::byte, sizeof(ib_uverbs_destroy_cq_resp)> answer{};
    return command(device, IB_USER_VERBS_CMD_DESTROY_CQ, "destroy_cq",
                   ib_uverbs_destroy_cq{0, cq, 0}, answer);
}

result<void> destroy_srq(int device, std::uint32_t srq) {
    std::array<std::byte, sizeof(ib_uverbs_destroy_srq_resp)> answer{};
    return command(device, IB_USER_VERBS_CMD_DESTROY_SRQ, "destroy_srq",
                   ib_uverbs_destroy_srq{0, srq, 0}, answer);
}

result<void> destroy_qp(int device, std::uint32_t qp) {
    std::array<std::byte, sizeof(ib_uverbs_destroy_qp_resp)> answer{};
    return command(device, IB_USER_VERBS_CMD_DESTROY_QP, "destroy_qp",
                   ib_uverbs_destroy_qp{0, qp, 0}, answer);
}

result<void> modify_qp(int device, std::uint32_t qp, ibv_qp_state state) {
    ib_uverbs_modify_qp body{};
    body.qp_handle = qp;
    body.attr_mask = IBV_QP_STATE;
    body.qp_state = static_cast<std::uint8_t>(state);
    return command(device, IB_USER_VERBS_CMD_MODIFY_QP, "modify_qp", body);
}

result<void> query_qp(int device, std::uint32_t qp) {
    std::array<std::byte, sizeof(ib_uverbs_query_qp_resp)> answer{};
    return command(device, IB_USER_VERBS_CMD_QUERY_QP, "query_qp",
                   ib_uverbs_query_qp{0, qp, IBV_QP_STATE}, answer);
}

result<void> set_srq_limit(int device, std::uint32_t srq, std::uint32_t limit) {
    return command(device, IB_USER_VERBS_CMD_MODIFY_SRQ, "modify_srq",
                   ib_uverbs_modify_srq{srq, IBV_SRQ_LIMIT, 0, limit});
}

result<void> query_srq(int device, std::uint32_t srq) {
    std::array<std::byte, sizeof(ib_uverbs_query_srq_resp)> answer{};
    return command(device, IB_USER_VERBS_CMD_QUERY_SRQ, "query_srq", ib_uverbs_query_srq{0, srq, 0},
                   answer);
}

result<void> ring_doorbell(int device, std::uint32_t qp) {
    // ISO C++ cannot initialize the array at its end.
    ib_uverbs_post_send body;
    body.response = 0;
    body.qp_handle = qp;
    body.wr_count = 0;
    body.sge_count = 0;
    body.wqe_size = sizeof(ib_uverbs_send_wr);
    std::array<std::byte, sizeof(ib_uverbs_post_send_resp)> answer{};
    return command(device, IB_USER_VERBS_CMD_POST_SEND, "post_send", body, answer);
}

}  // namespace support::raw
