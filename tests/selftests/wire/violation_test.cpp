// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What a peer must not send: each case of the tables, from a peer in either role. The stream ends
// with the right Terminate, nothing is placed or delivered, and the link goes on.
#include "violations.hpp"

#include <future>
#include <tuple>

#include "session.hpp"

namespace wirepeer {
namespace {

std::string role_name(role peer) {
    return peer == role::initiator ? "initiator" : "responder";
}

/// As a name for a case of a table that is tried in both roles.
template <class Case>
std::string name_of(const ::testing::TestParamInfo<std::tuple<role, Case>>& info) {
    return std::string(std::get<1>(info.param).name) + "_by_" + role_name(std::get<0>(info.param));
}

const auto both_roles = ::testing::Values(role::initiator, role::responder);

class Violation : public ::testing::TestWithParam<std::tuple<role, violation>> {};

/// Receives up to the one that the message at fault took. Return: the first one that is flushed.
std::uint64_t expect_fate(session& s, const violation& v) {
    std::uint64_t id = 1;
    for (; id <= v.delivered; ++id) s.expect_status(id, IBV_WC_SUCCESS);
    if (v.fate == receive_fate::too_long) s.expect_status(id++, IBV_WC_LOC_LEN_ERR);
    if (v.fate == receive_fate::bad_invalidation) s.expect_status(id++, IBV_WC_REM_INV_REQ_ERR);
    return id;
}

TEST_P(Violation, EndsWithTerminate) {
    const auto& [peer, v] = GetParam();
    session s(usual_options(peer));
    const std::vector<segment> sent = v.make(arena::get().layout());
    bytes all = fpdus(sent);
    // What comes behind is dropped, RFC 5041 section 7.1.
    append(all, fpdu(make_send(v.delivered + 1, pattern(5))));
    s.wire.send(all);
    s.expect_terminate(terminate_payload(v.why, v.with, sent.back()));
    const std::uint64_t flushed = expect_fate(s, v);
    s.expect_failed(event_of(v.why), flushed);
    arena::get().expect_free_of(poison);
    expect_service();
}

INSTANTIATE_TEST_SUITE_P(, Violation,
                         ::testing::Combine(both_roles, ::testing::ValuesIn(violations().begin(),
                                                                            violations().end())),
                         name_of<violation>);

class BrokenFpdu : public ::testing::TestWithParam<std::tuple<role, broken_fpdu>> {};

TEST_P(BrokenFpdu, EndsWithTerminate) {
    const auto& [peer, b] = GetParam();
    session s(usual_options(peer));
    const bytes sent = b.make(arena::get().layout());
    // In a thread of its own, whose bytes begin a page of their own: in one piece the FPDU is
    // checked before any of it is placed.
    std::async(std::launch::async, [&] { s.wire.send(sent); }).get();
    s.expect_terminate(terminate_payload(b.why, term_headers::none, {}));
    s.expect_failed(event_of(b.why), 1);
    arena::get().expect_free_of(poison);
    expect_service();
}

INSTANTIATE_TEST_SUITE_P(, BrokenFpdu,
                         ::testing::Combine(both_roles, ::testing::ValuesIn(broken_fpdus().begin(),
                                                                            broken_fpdus().end())),
                         name_of<broken_fpdu>);

}  // namespace
}  // namespace wirepeer
