// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "raw_cm.hpp"

#include <fcntl.h>
#include <rdma/rdma_user_cm.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace support::raw_cm {

namespace {

using softrnic::address;
using softrnic::failure;
using softrnic::result;

/// Sends a command whose answer, if it has one, is at body.response.
template <class Body>
result<void> command(int channel, std::uint32_t number, const char* name, const Body& body,
                     std::size_t answer = 0) {
    const rdma_ucm_cmd_hdr header{number, sizeof(Body), static_cast<std::uint16_t>(answer)};
    std::array<std::byte, sizeof header + sizeof(Body)> message;
    std::memcpy(message.data(), &header, sizeof header);
    std::memcpy(message.data() + sizeof header, &body, sizeof body);
    if (write(channel, message.data(), message.size()) < 0)
        return softrnic::detail::fail_errno(name);
    return {};
}

template <class Answer, class Body>
result<Answer> ask(int channel, std::uint32_t number, const char* name, Body body) {
    Answer answer{};
    body.response = reinterpret_cast<std::uintptr_t>(&answer);
    if (const auto done = command(channel, number, name, body, sizeof answer); !done)
        return failure(done.error());
    return answer;
}

template <class Answer, class Body>
result<std::uint32_t> ask_number(int channel, std::uint32_t number, const char* name,
                                 const Body& body, std::uint32_t Answer::*which) {
    const auto answer = ask<Answer>(channel, number, name, body);
    if (!answer) return failure(answer.error());
    return (*answer).*which;
}

std::uint16_t length_of(const address& a) {
    if (a.empty()) return 0;
    return a.family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

template <class Storage>
void put(Storage& to, const address& from) {
    static_assert(sizeof to >= sizeof(sockaddr_in6));
    if (!from.empty()) std::memcpy(&to, from.native(), length_of(from));
}

rdma_ucm_conn_param encoded(const parameters& with) {
    rdma_ucm_conn_param p{};
    p.qp_num = with.qp_number;
    p.responder_resources = with.responder_resources;
    p.initiator_depth = with.initiator_depth;
    const std::size_t length = std::min<std::size_t>(with.private_data.size(), UINT8_MAX);
    std::copy_n(reinterpret_cast<const std::uint8_t*>(with.private_data.data()), length,
                p.private_data);
    p.private_data_len = static_cast<std::uint8_t>(length);
    p.valid = 1;
    return p;
}

result<void> query(int channel, std::uint32_t id, std::uint32_t option, void* answer,
                   std::size_t size) {
    rdma_ucm_query body{};
    body.response = reinterpret_cast<std::uintptr_t>(answer);
    body.id = id;
    body.option = option;
    return command(channel, RDMA_USER_CM_CMD_QUERY, "query", body, size);
}

}  // namespace

result<descriptor> open_channel() {
    descriptor channel(open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!channel) return softrnic::detail::fail_errno("open rdma_cm");
    return channel;
}

result<std::uint32_t> create_id(int channel, std::uint64_t uid, port_space space) {
    rdma_ucm_create_id body{};
    body.uid = uid;
    body.ps = static_cast<std::uint16_t>(space);
    body.qp_type = IBV_QPT_RC;
    return ask_number(channel, RDMA_USER_CM_CMD_CREATE_ID, "create_id", body,
                      &rdma_ucm_create_id_resp::id);
}

result<std::uint32_t> destroy_id(int channel, std::uint32_t id) {
    rdma_ucm_destroy_id body{};
    body.id = id;
    return ask_number(channel, RDMA_USER_CM_CMD_DESTROY_ID, "destroy_id", body,
                      &rdma_ucm_destroy_id_resp::events_reported);
}

result<std::uint32_t> migrate_id(int to, int from, std::uint32_t id) {
    rdma_ucm_migrate_id body{};
    body.id = id;
    body.fd = static_cast<std::uint32_t>(from);
    return ask_number(to, RDMA_USER_CM_CMD_MIGRATE_ID, "migrate_id", body,
                      &rdma_ucm_migrate_resp::events_reported);
}

result<void> bind_ip(int channel, std::uint32_t id, const address& local) {
    rdma_ucm_bind_ip body{};
    body.id = id;
    put(body.addr, local);
    return command(channel, RDMA_USER_CM_CMD_BIND_IP, "bind_ip", body);
}

result<void> bind_addr(int channel, std::uint32_t id, const address& local) {
    rdma_ucm_bind body{};
    body.id = id;
    body.addr_size = length_of(local);
    put(body.addr, local);
    return command(channel, RDMA_USER_CM_CMD_BIND, "bind", body);
}

result<void> resolve_ip(int channel, std::uint32_t id, const address& peer,
                        std::uint32_t milliseconds) {
    rdma_ucm_resolve_ip body{};
    body.id = id;
    body.timeout_ms = milliseconds;
    put(body.dst_addr, peer);
    return command(channel, RDMA_USER_CM_CMD_RESOLVE_IP, "resolve_ip", body);
}

result<void> resolve_addr(int channel, std::uint32_t id, const address& peer,
                          std::uint32_t milliseconds) {
    rdma_ucm_resolve_addr body{};
    body.id = id;
    body.timeout_ms = milliseconds;
    body.dst_size = length_of(peer);
    put(body.dst_addr, peer);
    return command(channel, RDMA_USER_CM_CMD_RESOLVE_ADDR, "resolve_addr", body);
}

result<void> resolve_route(int channel, std::uint32_t id, std::uint32_t milliseconds) {
    return command(channel, RDMA_USER_CM_CMD_RESOLVE_ROUTE, "resolve_route",
                   rdma_ucm_resolve_route{id, milliseconds});
}

result<void> listen(int channel, std::uint32_t id, std::uint32_t backlog) {
    return command(channel, RDMA_USER_CM_CMD_LISTEN, "listen", rdma_ucm_listen{id, backlog});
}

result<void> connect(int channel, std::uint32_t id, const parameters& with) {
    rdma_ucm_connect body{};
    body.id = id;
    body.conn_param = encoded(with);
    return command(channel, RDMA_USER_CM_CMD_CONNECT, "connect", body);
}

result<void> accept(int channel, std::uint32_t id, const parameters& with) {
    rdma_ucm_accept body{};
    body.id = id;
    // Of 0 there would be no events.
    body.uid = std::uint64_t{id} + 1;
    body.conn_param = encoded(with);
    return command(channel, RDMA_USER_CM_CMD_ACCEPT, "accept", body);
}

result<void> reject(int channel, std::uint32_t id, std::span<const std::byte> private_data) {
    rdma_ucm_reject body{};
    const rdma_ucm_conn_param data = encoded({.private_data = private_data});
    body.id = id;
    body.private_data_len = data.private_data_len;
    std::ranges::copy(data.private_data, body.private_data);
    return command(channel, RDMA_USER_CM_CMD_REJECT, "reject", body);
}

result<void> disconnect(int channel, std::uint32_t id) {
    return command(channel, RDMA_USER_CM_CMD_DISCONNECT, "disconnect", rdma_ucm_disconnect{id});
}

result<void> query_route(int channel, std::uint32_t id) {
    rdma_ucm_query body{};
    body.id = id;
    const auto answer =
        ask<rdma_ucm_query_route_resp>(channel, RDMA_USER_CM_CMD_QUERY_ROUTE, "query_route", body);
    if (!answer) return failure(answer.error());
    return {};
}

result<void> query_path(int channel, std::uint32_t id) {
    constexpr std::size_t paths = 2;
    std::array<std::byte, sizeof(rdma_ucm_query_path_resp) + paths * sizeof(ib_path_rec_data)>
        answer{};
    return query(channel, id, RDMA_USER_CM_QUERY_PATH, answer.data(), answer.size());
}

result<void> query_gid(int channel, std::uint32_t id) {
    rdma_ucm_query_addr_resp answer{};
    return query(channel, id, RDMA_USER_CM_QUERY_GID, &answer, sizeof answer);
}

result<address> local_address(int channel, std::uint32_t id) {
    rdma_ucm_query_addr_resp answer{};
    if (const auto done = query(channel, id, RDMA_USER_CM_QUERY_ADDR, &answer, sizeof answer);
        !done)
        return failure(done.error());
    return address(reinterpret_cast<const sockaddr*>(&answer.src_addr));
}

result<void> init_qp_attr(int channel, std::uint32_t id, ibv_qp_state state) {
    rdma_ucm_init_qp_attr body{};
    body.id = id;
    body.qp_state = state;
    const auto answer =
        ask<ib_uverbs_qp_attr>(channel, RDMA_USER_CM_CMD_INIT_QP_ATTR, "init_qp_attr", body);
    if (!answer) return failure(answer.error());
    return {};
}

result<event> get_event(int channel) {
    const auto got = ask<rdma_ucm_event_resp>(channel, RDMA_USER_CM_CMD_GET_EVENT, "get_event",
                                              rdma_ucm_get_event{});
    if (!got) return failure(got.error());
    return event{got->uid, got->id, got->event, static_cast<int>(got->status)};
}

result<void> get_event_into(int channel, std::span<std::byte> answer) {
    rdma_ucm_get_event body{};
    body.response = reinterpret_cast<std::uintptr_t>(answer.data());
    return command(channel, RDMA_USER_CM_CMD_GET_EVENT, "get_event", body,
                   sizeof(rdma_ucm_event_resp));
}

result<event> next_event(int channel, softrnic::deadline until) {
    for (;;) {
        auto got = get_event(channel);
        if (got || got.error().code != EAGAIN) return got;
        const auto readable = softrnic::detail::wait_readable(channel, until);
        if (!readable) return failure(readable.error());
        if (!*readable) return softrnic::detail::fail(ETIMEDOUT, "next_event");
    }
}

result<void> get_option(int channel, std::uint32_t id) {
    rdma_ucm_set_option body{};
    body.id = id;
    return command(channel, RDMA_USER_CM_CMD_GET_OPTION, "get_option", body);
}

result<void> set_option(int channel, std::uint32_t id, std::uint32_t level, std::uint32_t option,
                        std::span<const std::byte> value) {
    rdma_ucm_set_option body{};
    body.optval = reinterpret_cast<std::uintptr_t>(value.data());
    body.id = id;
    body.level = level;
    body.optname = option;
    body.optlen = static_cast<std::uint32_t>(value.size());
    return command(channel, RDMA_USER_CM_CMD_SET_OPTION, "set_option", body);
}

result<void> set_option(int channel, std::uint32_t id, id_option option,
                        std::span<const std::byte> value) {
    return set_option(channel, id, RDMA_OPTION_ID, static_cast<std::uint32_t>(option), value);
}

result<void> notify(int channel, std::uint32_t id, ibv_event_type what) {
    return command(channel, RDMA_USER_CM_CMD_NOTIFY, "notify",
                   rdma_ucm_notify{id, static_cast<std::uint32_t>(what)});
}

result<std::uint32_t> join_ip_multicast(int channel, std::uint32_t id, const address& group) {
    rdma_ucm_join_ip_mcast body{};
    body.id = id;
    put(body.addr, group);
    return ask_number(channel, RDMA_USER_CM_CMD_JOIN_IP_MCAST, "join_ip_multicast", body,
                      &rdma_ucm_create_id_resp::id);
}

result<std::uint32_t> join_multicast(int channel, std::uint32_t id, const address& group,
                                     std::uint16_t flags) {
    rdma_ucm_join_mcast body{};
    body.id = id;
    body.addr_size = length_of(group);
    body.join_flags = flags;
    put(body.addr, group);
    return ask_number(channel, RDMA_USER_CM_CMD_JOIN_MCAST, "join_multicast", body,
                      &rdma_ucm_create_id_resp::id);
}

result<std::uint32_t> leave_multicast(int channel, std::uint32_t group) {
    rdma_ucm_destroy_id body{};
    body.id = group;
    return ask_number(channel, RDMA_USER_CM_CMD_LEAVE_MCAST, "leave_multicast", body,
                      &rdma_ucm_destroy_id_resp::events_reported);
}

}  // namespace support::raw_cm
