// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Memory that is deregistered while it is in use: when ibv_dereg_mr returns, nothing is placed
// there any more.
#include <algorithm>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

constexpr std::uint32_t size = 8U << 20;
constexpr std::uint64_t count = 6;

/// Are completions in order, and nothing good after something bad? With one CPU all of `count` may
/// be done before a thread sees their first byte, so one more is posted when memory has gone.
///
/// Whoever finds that memory has gone ends all of it, and what is under way before that request is
/// flushed as well as what comes behind: the transmitter may be the one, with a request that it has
/// not begun yet, and the receiver at the same time, with the oldest.
void expect_broken_off(softrnic::connection& end, ibv_wc_status reason,
                       std::uint64_t posted = count) {
    constexpr unsigned finders = 2;
    bool bad = false;
    unsigned found = 0;
    for (std::uint64_t i = 0; i < posted; ++i) {
        const ibv_wc wc = next(end.send_cq());
        EXPECT_EQ(wc.wr_id, i);
        if (!bad && wc.status == IBV_WC_SUCCESS) continue;
        bad = true;
        EXPECT_TRUE(wc.status == reason || wc.status == IBV_WC_WR_FLUSH_ERR)
            << ibv_wc_status_str(wc.status);
        if (wc.status != IBV_WC_WR_FLUSH_ERR) ++found;
    }
    EXPECT_LE(found, finders);
}

/// The first bytes have changed: the transfer is under way.
void wait_for_data(const std::byte* memory) {
    const volatile std::byte* first = memory;
    for (const softrnic::deadline until = patience; *first == std::byte{0};)
        if (until.expired()) throw std::runtime_error("no data comes");
}

TEST(Deregistration, OfTheTargetOfAWrite) {
    pair ends = connect_pair();
    softrnic::buffer from =
        must(softrnic::buffer::create(ends.client.domain(), size, access::none));
    std::fill(from.bytes().begin(), from.bytes().end(), std::byte{1});
    message target(size);
    softrnic::mr region = must(softrnic::mr::create(ends.server.domain(), std::span(target),
                                                    access::local_write | access::remote_write));
    const softrnic::remote_slice where = region.remote();
    for (std::uint64_t i = 0; i < count; ++i)
        must(ends.client.qp().write(from.all(), where, {.id = i}));
    wait_for_data(target.data());
    must(region.close());
    std::fill(target.begin(), target.end(), std::byte{0});
    must(ends.client.qp().write(from.all(), where, {.id = count}));
    EXPECT_TRUE(saw_event(ends.server.qp().native(), IBV_EVENT_QP_ACCESS_ERR));
    expect_broken_off(ends.client, IBV_WC_WR_FLUSH_ERR, count + 1);
    EXPECT_TRUE(
        std::all_of(target.begin(), target.end(), [](std::byte b) { return b == std::byte{0}; }));
    expect_broken(ends.server);
}

TEST(Deregistration, OfTheSinkOfARead) {
    pair ends = connect_pair();
    softrnic::buffer from =
        must(softrnic::buffer::create(ends.server.domain(), size, access::remote_read));
    std::fill(from.bytes().begin(), from.bytes().end(), std::byte{1});
    message target(size);
    softrnic::mr region =
        must(softrnic::mr::create(ends.client.domain(), std::span(target), access::local_write));
    const softrnic::local_slice sink = region.all();
    for (std::uint64_t i = 0; i < count; ++i)
        must(ends.client.qp().read(sink, from.remote(), {.id = i}));
    wait_for_data(target.data());
    must(region.close());
    std::fill(target.begin(), target.end(), std::byte{0});
    must(ends.client.qp().read(sink, from.remote(), {.id = count}));
    expect_broken_off(ends.client, IBV_WC_LOC_PROT_ERR, count + 1);
    EXPECT_TRUE(
        std::all_of(target.begin(), target.end(), [](std::byte b) { return b == std::byte{0}; }));
    expect_broken(ends.client);
}

TEST(Deregistration, OfTheSourceOfARead) {
    pair ends = connect_pair();
    softrnic::buffer from =
        must(softrnic::buffer::create(ends.server.domain(), size, access::remote_read));
    std::fill(from.bytes().begin(), from.bytes().end(), std::byte{1});
    softrnic::buffer to =
        must(softrnic::buffer::create(ends.client.domain(), size, access::local_write));
    const softrnic::remote_slice source = from.remote();
    for (std::uint64_t i = 0; i < count; ++i)
        must(ends.client.qp().read(to.all(), source, {.id = i}));
    wait_for_data(to.bytes().data());
    must(from.region().close());
    must(ends.client.qp().read(to.all(), source, {.id = count}));
    expect_broken_off(ends.client, IBV_WC_REM_ACCESS_ERR, count + 1);
    expect_broken(ends.client);
    EXPECT_TRUE(works(ends.server.wait_disconnected(patience)));
}

TEST(Deregistration, OfTheSourceOfAWrite) {
    pair ends = connect_pair();
    softrnic::buffer from =
        must(softrnic::buffer::create(ends.client.domain(), size, access::none));
    std::fill(from.bytes().begin(), from.bytes().end(), std::byte{1});
    softrnic::buffer to = must(softrnic::buffer::create(
        ends.server.domain(), size, access::local_write | access::remote_write));
    softrnic::send_batch batch;
    for (std::uint64_t i = 0; i < count; ++i) batch.write(from.all(), to.remote(), {.id = i});
    must(batch.post(ends.client.qp().native()));
    must(from.region().close());
    // Bytes in the socket were read already: all may have been in time.
    expect_broken_off(ends.client, IBV_WC_LOC_PROT_ERR);
    if (must(ends.client.qp().state()) == IBV_QPS_RTS) must(ends.client.disconnect());
    expect_broken(ends.client);
}

}  // namespace
}  // namespace verbs_test
