// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// What all verbs tests stand on: two connected ends in this process, and waits that end.
/// A step that must work and does not throws, which GoogleTest reports as a failure.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "must.hpp"
#include "settings.hpp"
#include "softrnic/softrnic.hpp"

namespace verbs_test {

using namespace std::chrono_literals;

/// The longest that anything may take, in a machine that is emulated and busy.
inline constexpr std::chrono::seconds patience = 15s;
/// Long enough to see that something does not happen.
inline constexpr std::chrono::milliseconds moment = 100ms;

using support::must;

/// Does the result carry this errno?
template <class T>
::testing::AssertionResult fails_with(const softrnic::result<T>& r, int code) {
    if (r) return ::testing::AssertionFailure() << "it worked";
    if (r.error().code == code) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << r.error().message();
}
template <class T>
::testing::AssertionResult works(const softrnic::result<T>& r) {
    if (r) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << r.error().message();
}

/// This host's address: $SRN_SERVER_ADDR or 10.1.0.1.
softrnic::address server_address(std::uint16_t port = 0);

/// Room for whatever a test is likely to post.
inline constexpr softrnic::queue_config wide{.max_send_wr = 64,
                                             .max_recv_wr = 64,
                                             .max_send_sge = 16,
                                             .max_recv_sge = 16,
                                             .max_inline = 512};

/// Two ends of one connection, each with a protection domain and completion queue of its own unless
/// the queue_config says otherwise.
struct pair {
    softrnic::connection client;
    softrnic::connection server;
};

struct pair_options {
    softrnic::queue_config client = wide;
    softrnic::queue_config server = wide;
    softrnic::connect_options connect{};
    softrnic::connect_options accept{};
    softrnic::address where = server_address();
};

pair connect_pair(const pair_options& options = {});

/// The next request to `listener`, answered with a connection.
softrnic::connection accept_next(const softrnic::listener& listener,
                                 const softrnic::queue_config& queues = wide,
                                 const softrnic::connect_options& options = {});

/// The device that leads to server_address(), for tests that need no connection.
softrnic::context_view device();

/// Connections that are made meanwhile do not find out that both of their ends are softrnics, so
/// they are as those with anybody else.
class stranger_to_itself : support::link_setting {
public:
    stranger_to_itself();
};

/// The next completion; none in time is a failure.
ibv_wc next(softrnic::cq& queue);
/// The next `count` completions.
std::vector<ibv_wc> next(softrnic::cq& queue, std::size_t count);

/// A good completion of that request.
void expect_good(const ibv_wc& wc, std::uint64_t id, ibv_wc_opcode opcode);
/// A bad one.
void expect_status(const ibv_wc& wc, std::uint64_t id, ibv_wc_status status);
/// Nothing more is there, or comes for a moment.
void expect_quiet(softrnic::cq& queue, std::chrono::milliseconds wait = moment);

/// An asynchronous event about this object comes, or has come since the last connect_pair().
bool saw_event(const void* object, ibv_event_type type);

/// The connection has ended: the event comes, the QP is in ERR, and what is posted now is flushed.
/// Its completion queues must be empty before.
void expect_broken(softrnic::connection& end);

/// Takes what is left in the queue.
void discard(softrnic::cq& queue);

}  // namespace verbs_test
