// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Requests that name memory of this side which they may not use: IBV_WC_LOC_PROT_ERR here, the end
// of the connection on both sides.
#include <optional>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::local_slice;

enum class fault {
    bad_key,
    beyond_the_end,
    before_the_start,
    other_domain,
    deregistered,
    not_writable,
};

constexpr std::uint32_t size = 512;

/// A slice with that fault, and what it needs to exist.
struct faulty {
    std::optional<softrnic::pd> elsewhere;
    softrnic::buffer memory;
    local_slice slice;

    faulty(const softrnic::pd& domain, fault what) {
        access rights = access::local_write;
        if (what == fault::not_writable) rights = access::remote_read;
        if (what == fault::other_domain) elsewhere = must(softrnic::pd::create(domain.context()));
        memory = must(softrnic::buffer::create(elsewhere ? *elsewhere : domain, 4096, rights));
        slice = memory.sub(0, size);
        if (what == fault::bad_key) slice.lkey ^= 0xff;
        if (what == fault::beyond_the_end) slice = memory.sub(4096 - size + 1, size);
        if (what == fault::before_the_start) slice.addr -= 1;
        if (what == fault::deregistered) must(memory.region().close());
    }
};

std::string fault_name(const ::testing::TestParamInfo<fault>& info) {
    switch (info.param) {
        case fault::bad_key: return "BadKey";
        case fault::beyond_the_end: return "BeyondTheEnd";
        case fault::before_the_start: return "BeforeTheStart";
        case fault::other_domain: return "OtherDomain";
        case fault::deregistered: return "Deregistered";
        case fault::not_writable: return "NotWritable";
    }
    return "";
}

/// Memory that requests read from.
class LocalSource : public ::testing::TestWithParam<fault> {};
/// Memory that requests write to.
class LocalSink : public ::testing::TestWithParam<fault> {};

TEST_P(LocalSource, OfASend) {
    pair ends = connect_pair();
    const scattered to(ends.server.domain(), size, 1, access::local_write);
    must(ends.server.qp().recv(to.slices(), 5));
    const faulty bad(ends.client.domain(), GetParam());
    must(ends.client.qp().send(bad.slice, {.id = 1, .flags = softrnic::send_flag::none}));
    expect_status(next(ends.client.send_cq()), 1, IBV_WC_LOC_PROT_ERR);
    expect_status(next(ends.server.recv_cq()), 5, IBV_WC_WR_FLUSH_ERR);
    to.expect_untouched();
    expect_broken(ends.client);
    expect_broken(ends.server);
}

TEST_P(LocalSource, OfAWrite) {
    pair ends = connect_pair();
    const scattered to(ends.server.domain(), size, 1, access::local_write | access::remote_write);
    const faulty bad(ends.client.domain(), GetParam());
    must(ends.client.qp().write(bad.slice, to.remote(), {.id = 1}));
    must(ends.client.qp().send(softrnic::no_slices, {.id = 2}));
    expect_status(next(ends.client.send_cq()), 1, IBV_WC_LOC_PROT_ERR);
    expect_status(next(ends.client.send_cq()), 2, IBV_WC_WR_FLUSH_ERR);
    to.expect_untouched();
    expect_broken(ends.client);
    expect_broken(ends.server);
}

/// What is before the bad request is executed, and only its own slices count.
TEST_P(LocalSource, InTheLastSliceAfterGoodRequests) {
    pair ends = connect_pair();
    const scattered to(ends.server.domain(), size, 1, access::local_write);
    for (std::uint64_t i = 0; i < 3; ++i) must(ends.server.qp().recv(to.slices(), i));
    scattered good(ends.client.domain(), 300, 1, access::none);
    const message m = make_message(300, 1);
    good.put(m);
    const faulty bad(ends.client.domain(), GetParam());
    softrnic::send_batch batch;
    batch.send(good.slices(), {.id = 1});
    const std::vector<local_slice> mixed{good.slices().front(), bad.slice.sub(0, size - 300)};
    const bool by_length = GetParam() == fault::beyond_the_end;
    batch.send(by_length ? std::vector<local_slice>{good.slices().front(), bad.slice} : mixed,
               {.id = 2});
    must(batch.post(ends.client.qp().native()));
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_SEND);
    expect_status(next(ends.client.send_cq()), 2, IBV_WC_LOC_PROT_ERR);
    expect_good(next(ends.server.recv_cq()), 0, IBV_WC_RECV);
    expect_status(next(ends.server.recv_cq()), 1, IBV_WC_WR_FLUSH_ERR);
    to.expect(m);
}

TEST_P(LocalSink, OfAReceive) {
    pair ends = connect_pair();
    scattered from(ends.client.domain(), size, 1, access::none);
    from.put(make_message(size, 1));
    const faulty bad(ends.server.domain(), GetParam());
    must(ends.server.qp().recv(bad.slice, 1));
    must(ends.server.qp().recv(softrnic::no_slices, 2));
    must(ends.client.qp().send(from.slices(), {.id = 3}));
    expect_status(next(ends.server.recv_cq()), 1, IBV_WC_LOC_PROT_ERR);
    expect_status(next(ends.server.recv_cq()), 2, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(next(ends.client.send_cq()).wr_id, 3U);
    expect_broken(ends.client);
    expect_broken(ends.server);
}

TEST_P(LocalSink, OfARead) {
    pair ends = connect_pair();
    scattered from(ends.server.domain(), size, 1, access::remote_read);
    from.put(make_message(size, 1));
    const faulty bad(ends.client.domain(), GetParam());
    must(ends.client.qp().read(bad.slice, from.remote(), {.id = 1}));
    must(ends.client.qp().send(softrnic::no_slices, {.id = 2}));
    expect_status(next(ends.client.send_cq()), 1, IBV_WC_LOC_PROT_ERR);
    expect_status(next(ends.client.send_cq()), 2, IBV_WC_WR_FLUSH_ERR);
    expect_broken(ends.client);
    expect_broken(ends.server);
}

/// A region of one page that a Receive of two pages reaches beyond, and what may come into it.
class ReceiveBeyondItsRegion : public ::testing::Test {
protected:
    static constexpr std::uint32_t page = 4096;

    void receive(std::uint32_t length) {
        scattered from(ends.client.domain(), length, 1, access::none);
        sent = make_message(length, 1);
        from.put(sent);
        slice = memory.sub(0, page);
        slice.length = 2 * page;
        must(ends.server.qp().recv(slice, 1));
        must(ends.client.qp().send(from.slices(), {.id = 2}));
    }

    pair ends = connect_pair();
    softrnic::buffer memory =
        must(softrnic::buffer::create(ends.server.domain(), page, access::local_write));
    local_slice slice;
    message sent;
};

/// perftest posts such Receives to a shared queue, and rxe checks only where bytes are placed.
TEST_F(ReceiveBeyondItsRegion, TakesWhatEndsWithTheRegion) {
    receive(page);
    expect_good(next(ends.server.recv_cq()), 1, IBV_WC_RECV);
    EXPECT_EQ(next(ends.client.send_cq()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(std::ranges::equal(memory.bytes(), sent));
}

TEST_F(ReceiveBeyondItsRegion, RefusesOneByteMore) {
    receive(page + 1);
    expect_status(next(ends.server.recv_cq()), 1, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(next(ends.client.send_cq()).wr_id, 2U);
    expect_broken(ends.client);
    expect_broken(ends.server);
}

constexpr fault every_source[] = {fault::bad_key, fault::beyond_the_end, fault::before_the_start,
                                  fault::other_domain, fault::deregistered};

INSTANTIATE_TEST_SUITE_P(Fault, LocalSource, ::testing::ValuesIn(every_source), fault_name);
INSTANTIATE_TEST_SUITE_P(Fault, LocalSink, ::testing::ValuesIn(every_source), fault_name);
INSTANTIATE_TEST_SUITE_P(Right, LocalSink, ::testing::Values(fault::not_writable), fault_name);

}  // namespace
}  // namespace verbs_test
