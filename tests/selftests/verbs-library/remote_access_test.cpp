// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Requests that name memory of the peer which they may not use. Nothing is placed, the peer raises
// IBV_EVENT_QP_ACCESS_ERR and ends the connection. A Read tells its initiator so; a Write may have
// completed before (RFC 5040 section 3.2), then only what follows is flushed.
#include <optional>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::remote_slice;

enum class fault {
    bad_key,
    unknown_key,
    beyond_the_end,
    before_the_start,
    no_right,
    other_domain,
    queue_pair_forbids,
    deregistered,
};

constexpr std::uint32_t size = 700;

std::string fault_name(const ::testing::TestParamInfo<fault>& info) {
    switch (info.param) {
        case fault::bad_key: return "BadKey";
        case fault::unknown_key: return "UnknownKey";
        case fault::beyond_the_end: return "BeyondTheEnd";
        case fault::before_the_start: return "BeforeTheStart";
        case fault::no_right: return "NoRight";
        case fault::other_domain: return "OtherDomain";
        case fault::queue_pair_forbids: return "QueuePairForbids";
        case fault::deregistered: return "Deregistered";
    }
    return "";
}

class RemoteAccess : public ::testing::TestWithParam<fault> {
protected:
    pair ends = connect_pair();
    std::optional<softrnic::pd> elsewhere;
    std::optional<scattered> memory;  // of the server

    /// Memory that the peer would be allowed `right` to, but for the fault.
    remote_slice faulty(access right, access other_right);
    void expect_refused();
};

remote_slice RemoteAccess::faulty(access right, access other_right) {
    const fault what = GetParam();
    if (what == fault::other_domain) elsewhere = must(softrnic::pd::create(device()));
    if (what == fault::queue_pair_forbids) must(ends.server.qp().set_access(other_right));
    if (what == fault::no_right) right = other_right;
    memory.emplace(elsewhere ? *elsewhere : ends.server.domain(), size, 1,
                   access::local_write | right);
    // The guard bytes around belong to the region as well: go beyond those.
    const std::uint64_t whole = memory->memory().size();
    remote_slice slice = memory->remote();
    if (what == fault::bad_key) slice.rkey ^= 0x01;
    if (what == fault::unknown_key) slice.rkey += 0x12300;
    if (what == fault::beyond_the_end)
        slice = memory->memory().region().remote_sub(whole - size + 1, size);
    if (what == fault::before_the_start) slice = memory->memory().region().remote_sub(~0ULL, size);
    if (what == fault::deregistered) must(memory->memory().region().close());
    return slice;
}

void RemoteAccess::expect_refused() {
    EXPECT_TRUE(saw_event(ends.server.qp().native(), IBV_EVENT_QP_ACCESS_ERR));
    memory->expect_untouched();
    expect_broken(ends.client);
    expect_broken(ends.server);
}

TEST_P(RemoteAccess, OfAWrite) {
    const remote_slice target = faulty(access::remote_write, access::remote_read);
    scattered from(ends.client.domain(), size, 3, access::none);
    from.put(make_message(size, 1));
    must(ends.client.qp().write(from.slices(), target, {.id = 1}));
    const ibv_wc wc = next(ends.client.send_cq());
    if (wc.status != IBV_WC_WR_FLUSH_ERR) expect_good(wc, 1, IBV_WC_RDMA_WRITE);
    expect_refused();
}

TEST_P(RemoteAccess, OfAnInlineWrite) {
    const remote_slice target = faulty(access::remote_write, access::remote_read);
    const message m = make_message(GetParam() == fault::beyond_the_end ? 512 : 100, 1);
    const std::uint64_t skip = GetParam() == fault::beyond_the_end ? size - 512 : 0;
    must(ends.client.qp().write_inline(m, target.sub(skip, m.size()), {.id = 1}));
    EXPECT_EQ(next(ends.client.send_cq()).wr_id, 1U);
    expect_refused();
}

TEST_P(RemoteAccess, OfARead) {
    const remote_slice source = faulty(access::remote_read, access::remote_write);
    const scattered to(ends.client.domain(), size, 3, access::local_write);
    must(ends.client.qp().read(to.slices(), source, {.id = 1}));
    must(ends.client.qp().read(to.slices(), source, {.id = 2}));
    expect_status(next(ends.client.send_cq()), 1, IBV_WC_REM_ACCESS_ERR);
    expect_status(next(ends.client.send_cq()), 2, IBV_WC_WR_FLUSH_ERR);
    to.expect_untouched();
    expect_refused();
}

/// A long write is stopped where its region ends.
TEST(RemoteBounds, OfALongWrite) {
    constexpr std::uint32_t room = 300'000;
    constexpr std::uint32_t length = 1U << 20;
    pair ends = connect_pair();
    const softrnic::buffer from =
        must(softrnic::buffer::create(ends.client.domain(), length, access::none));
    softrnic::buffer memory =
        must(softrnic::buffer::create(ends.server.domain(), length, access::local_write));
    std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{0xa5});
    const softrnic::mr open =
        must(softrnic::mr::create(ends.server.domain(), memory.bytes().first(room),
                                  access::local_write | access::remote_write));
    must(ends.client.qp().write(from.all(), open.remote(), {.id = 1}));
    EXPECT_TRUE(saw_event(ends.server.qp().native(), IBV_EVENT_QP_ACCESS_ERR));
    EXPECT_EQ(next(ends.client.send_cq()).wr_id, 1U);
    expect_broken(ends.client);
    expect_broken(ends.server);
    const auto beyond = memory.bytes().subspan(room);
    EXPECT_TRUE(std::all_of(beyond.begin(), beyond.end(),
                            [](std::byte b) { return b == std::byte{0xa5}; }));
}

/// Earlier reads are answered before the bad one ends the stream.
TEST(RemoteBounds, OfTheThirdRead) {
    pair ends = connect_pair();
    scattered from(ends.server.domain(), size, 1, access::remote_read);
    const message m = make_message(size, 2);
    from.put(m);
    const scattered to(ends.client.domain(), size, 1, access::local_write);
    must(ends.client.qp().read(to.slices(), from.remote(), {.id = 1}));
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_READ);
    remote_slice bad = from.remote();
    bad.rkey ^= 0xff;
    must(ends.client.qp().read(to.slices(), bad, {.id = 2}));
    expect_status(next(ends.client.send_cq()), 2, IBV_WC_REM_ACCESS_ERR);
    to.expect(m);
    expect_broken(ends.client);
}

/// A registration is not the peer's to invalidate.
TEST(RemoteInvalidate, OfAPlainRegion) {
    pair ends = connect_pair();
    const scattered memory(ends.server.domain(), size, 1,
                           access::local_write | access::remote_write);
    must(ends.server.qp().recv(softrnic::no_slices, 1));
    must(ends.client.qp().send_with_invalidate(softrnic::no_slices, memory.remote().rkey));
    expect_status(next(ends.server.recv_cq()), 1, IBV_WC_REM_INV_REQ_ERR);
    EXPECT_TRUE(saw_event(ends.server.qp().native(), IBV_EVENT_QP_ACCESS_ERR));
    next(ends.client.send_cq());
    expect_broken(ends.client);
}

INSTANTIATE_TEST_SUITE_P(Fault, RemoteAccess,
                         ::testing::Values(fault::bad_key, fault::unknown_key,
                                           fault::beyond_the_end, fault::before_the_start,
                                           fault::no_right, fault::other_domain,
                                           fault::queue_pair_forbids, fault::deregistered),
                         fault_name);

}  // namespace
}  // namespace verbs_test
