// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Commands to /dev/infiniband/rdma_cm without librdmacm, by file descriptor and number of the id:
/// for programs that do to connections what a library would not let them do. Nothing here is owned;
/// what is not destroyed goes with its file.
///
/// The kernel takes commands only from the process that has opened the file: a child of fork() gets
/// EACCES. It opens one of its own and migrates ids to it.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "descriptor.hpp"
#include "softrnic/address.hpp"
#include "softrnic/deadline.hpp"
#include "softrnic/result.hpp"

namespace support::raw_cm {

/// A file for ids and their events, which does not block.
softrnic::result<descriptor> open_channel();

/// Numbers of the kernel's: its header and that of librdmacm cannot be included together.
enum class port_space : std::uint16_t { ipoib = 0x0002, udp = 0x0111, tcp = 0x0106, ib = 0x013f };
enum class id_option : std::uint32_t { tos, reuseaddr, afonly, ack_timeout };

/// `uid` comes back with the events of the id; with 0 there are none.
softrnic::result<std::uint32_t> create_id(int channel, std::uint64_t uid,
                                          port_space space = port_space::tcp);
/// What these two return is the number of events of the id that were taken.
softrnic::result<std::uint32_t> destroy_id(int channel, std::uint32_t id);
softrnic::result<std::uint32_t> migrate_id(int to, int from, std::uint32_t id);

softrnic::result<void> bind_ip(int channel, std::uint32_t id, const softrnic::address& local);
softrnic::result<void> bind_addr(int channel, std::uint32_t id, const softrnic::address& local);
softrnic::result<void> resolve_ip(int channel, std::uint32_t id, const softrnic::address& peer,
                                  std::uint32_t milliseconds);
softrnic::result<void> resolve_addr(int channel, std::uint32_t id, const softrnic::address& peer,
                                    std::uint32_t milliseconds);
softrnic::result<void> resolve_route(int channel, std::uint32_t id, std::uint32_t milliseconds);
softrnic::result<void> listen(int channel, std::uint32_t id, std::uint32_t backlog);

/// Which queue pair, how many Reads, and what the other side gets to see.
struct parameters {
    std::uint32_t qp_number = 0;
    std::uint8_t responder_resources = 1;
    std::uint8_t initiator_depth = 1;
    std::span<const std::byte> private_data = {};
};
softrnic::result<void> connect(int channel, std::uint32_t id, const parameters& with);
softrnic::result<void> accept(int channel, std::uint32_t id, const parameters& with);
softrnic::result<void> reject(int channel, std::uint32_t id,
                              std::span<const std::byte> private_data = {});
softrnic::result<void> disconnect(int channel, std::uint32_t id);

softrnic::result<void> query_route(int channel, std::uint32_t id);
softrnic::result<void> query_path(int channel, std::uint32_t id);
softrnic::result<void> query_gid(int channel, std::uint32_t id);
softrnic::result<softrnic::address> local_address(int channel, std::uint32_t id);
softrnic::result<void> init_qp_attr(int channel, std::uint32_t id, ibv_qp_state state);

/// What happened to an id. `kind` is one of librdmacm's RDMA_CM_EVENT_…; a request has the number
/// of its new id and the uid of the listening one.
struct event {
    std::uint64_t uid;
    std::uint32_t id;
    std::uint32_t kind;
    int status;
};
/// EAGAIN if there is none.
softrnic::result<event> get_event(int channel);
/// The kernel writes the event there, whatever memory that is.
softrnic::result<void> get_event_into(int channel, std::span<std::byte> answer);
/// The next one; ETIMEDOUT if none comes in time.
softrnic::result<event> next_event(int channel, softrnic::deadline until);

softrnic::result<void> get_option(int channel, std::uint32_t id);
softrnic::result<void> set_option(int channel, std::uint32_t id, std::uint32_t level,
                                  std::uint32_t option, std::span<const std::byte> value);
softrnic::result<void> set_option(int channel, std::uint32_t id, id_option option,
                                  std::span<const std::byte> value);
softrnic::result<void> notify(int channel, std::uint32_t id, ibv_event_type what);
/// A multicast group: its number, for leave_multicast().
softrnic::result<std::uint32_t> join_ip_multicast(int channel, std::uint32_t id,
                                                  const softrnic::address& group);
softrnic::result<std::uint32_t> join_multicast(int channel, std::uint32_t id,
                                               const softrnic::address& group, std::uint16_t flags);
softrnic::result<std::uint32_t> leave_multicast(int channel, std::uint32_t group);

}  // namespace support::raw_cm
