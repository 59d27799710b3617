// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Memory windows: keys for part of a region that are bound by work requests and taken back by them,
// by the peer, or by binding anew. The server binds, the client uses.
#include <rdma/ib_user_verbs.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <system_error>
#include <vector>

#include "data.hpp"
#include "fixture.hpp"
#include "withheld_page.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::memory_window;
using softrnic::remote_slice;

constexpr std::uint32_t size = 5000;
constexpr std::uint32_t offset = 3000;
constexpr access both = access::remote_read | access::remote_write;

/// Neither remote read nor write: only the window lets a peer in.
constexpr access bindable = access::local_write | access::window_bind;

class Window : public ::testing::Test {
protected:
    pair ends = connect_pair();
    softrnic::buffer memory =
        must(softrnic::buffer::create(ends.server.domain(), 20'000, bindable));
    scattered here{ends.client.domain(), size, 2, access::local_write};
    memory_window window = must(memory_window::create(ends.server.domain()));

    remote_slice bind(access rights = both);
    void expect_write_arrives(const remote_slice& to, std::uint64_t seed);
    void expect_read_refused(const remote_slice& from);
    /// The server's bind fails, and its connection with it.
    void expect_bind_refused(softrnic::connection& end);
};

/// Binds the window to `size` bytes and tells what the peer has to know.
remote_slice Window::bind(access rights) {
    const std::uint32_t key = window.next_rkey();
    must(ends.server.qp().bind(window, key, {memory.region(), offset, size}, rights, {.id = 70}));
    expect_good(next(ends.server.send_cq()), 70, IBV_WC_BIND_MW);
    return {memory.region().remote_sub(offset, size).addr, size, key};
}

void Window::expect_write_arrives(const remote_slice& to, std::uint64_t seed) {
    const message m = make_message(size, seed);
    here.put(m);
    must(ends.client.qp().write(here.slices(), to, {.id = 1}));
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_WRITE);
    // It is there when a Read behind it is answered.
    const scattered back(ends.client.domain(), size, 1, access::local_write);
    must(ends.client.qp().read(back.slices(), to, {.id = 2}));
    expect_good(next(ends.client.send_cq()), 2, IBV_WC_RDMA_READ);
    back.expect(m);
    EXPECT_TRUE(std::equal(m.begin(), m.end(), memory.bytes().begin() + offset));
}

void Window::expect_read_refused(const remote_slice& from) {
    must(ends.client.qp().read(here.slices(), from, {.id = 3}));
    expect_status(next(ends.client.send_cq()), 3, IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(saw_event(ends.server.qp().native(), IBV_EVENT_QP_ACCESS_ERR));
    expect_broken(ends.client);
    expect_broken(ends.server);
}

void Window::expect_bind_refused(softrnic::connection& end) {
    expect_status(next(end.send_cq()), 70, IBV_WC_MW_BIND_ERR);
    EXPECT_TRUE(saw_event(end.qp().native(), IBV_EVENT_QP_ACCESS_ERR));
    expect_broken(end);
}

// What needs no message is complete before the request behind it fails, though it was the last
// thing that the transmitter did.
TEST_F(Window, ABadRequestBehindAnInvalidation) {
    for (const bool local : {false, true}) {
        SCOPED_TRACE(local);
        pair own = connect_pair();
        const softrnic::memory_window bound =
            must(softrnic::memory_window::create(own.client.domain()));
        const softrnic::buffer there =
            must(softrnic::buffer::create(own.client.domain(), size, bindable));
        const std::uint32_t key = bound.next_rkey();
        must(own.client.qp().bind(bound, key, {there.region(), 0, size}, access::remote_read,
                                  {.id = 1}));
        expect_good(next(own.client.send_cq()), 1, IBV_WC_BIND_MW);
        ibv_sge wrong{
            .addr = there.remote().addr, .length = 8, .lkey = there.region().native()->lkey ^ 1};
        ibv_send_wr second{}, first{}, *bad = nullptr;
        first.wr_id = 2;
        first.next = &second;
        first.opcode = IBV_WR_LOCAL_INV;
        first.send_flags = IBV_SEND_SIGNALED;
        first.invalidate_rkey = key;
        second.wr_id = 3;
        second.send_flags = IBV_SEND_SIGNALED;
        if (local) {
            second.opcode = IBV_WR_LOCAL_INV;
            second.invalidate_rkey = key;
        } else {
            second.opcode = IBV_WR_SEND;
            second.sg_list = &wrong;
            second.num_sge = 1;
        }
        ASSERT_EQ(ibv_post_send(own.client.qp().native(), &first, &bad), 0);
        expect_good(next(own.client.send_cq()), 2, IBV_WC_LOCAL_INV);
        expect_status(next(own.client.send_cq()), 3,
                      local ? IBV_WC_MW_BIND_ERR : IBV_WC_LOC_PROT_ERR);
    }
}

TEST_F(Window, WriteAndReadThroughIt) {
    expect_write_arrives(bind(), 1);
}

TEST_F(Window, NotBoundYet) {
    expect_read_refused({memory.region().remote_sub(offset, size).addr, size, window.rkey()});
}

TEST_F(Window, TheRegionItselfStaysClosed) {
    bind();
    expect_read_refused(memory.region().remote_sub(offset, size));
}

TEST_F(Window, OneByteBehindItsEnd) {
    const remote_slice open = bind();
    expect_read_refused({open.addr + 1, size, open.rkey});
}

TEST_F(Window, OneByteBeforeItsStart) {
    const remote_slice open = bind();
    expect_read_refused({open.addr - 1, size, open.rkey});
}

TEST_F(Window, ForWritingOnly) {
    expect_read_refused(bind(access::remote_write));
}

TEST_F(Window, ForReadingOnly) {
    const remote_slice open = bind(access::remote_read);
    must(ends.client.qp().read(here.slices(), open, {.id = 1}));
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_READ);
    must(ends.client.qp().write(here.slices(), open, {.id = 2}));
    next(ends.client.send_cq());
    EXPECT_TRUE(saw_event(ends.server.qp().native(), IBV_EVENT_QP_ACCESS_ERR));
}

TEST_F(Window, ZeroBased) {
    const std::uint32_t key = window.next_rkey();
    must(ends.server.qp().bind(window, key, {memory.region(), offset, size},
                               both | access::zero_based, {.id = 70}));
    expect_good(next(ends.server.send_cq()), 70, IBV_WC_BIND_MW);
    expect_write_arrives({0, size, key}, 2);
}

TEST_F(Window, InvalidatedHere) {
    const remote_slice open = bind();
    expect_write_arrives(open, 1);
    must(ends.server.qp().invalidate(open.rkey, {.id = 71}));
    expect_good(next(ends.server.send_cq()), 71, IBV_WC_LOCAL_INV);
    expect_read_refused(open);
}

TEST_F(Window, InvalidatedByThePeer) {
    const remote_slice open = bind();
    must(ends.server.qp().recv(softrnic::no_slices, 8));
    must(ends.client.qp().send_with_invalidate(softrnic::no_slices, open.rkey));
    const ibv_wc wc = next(ends.server.recv_cq());
    expect_good(wc, 8, IBV_WC_RECV);
    EXPECT_NE(wc.wc_flags & IBV_WC_WITH_INV, 0U);
    EXPECT_EQ(wc.invalidated_rkey, open.rkey);
    next(ends.client.send_cq());
    expect_read_refused(open);
}

TEST_F(Window, BoundAnewAfterItsInvalidation) {
    const remote_slice old = bind();
    must(ends.server.qp().invalidate(old.rkey, {.id = 71}));
    expect_good(next(ends.server.send_cq()), 71, IBV_WC_LOCAL_INV);
    const remote_slice open = bind();
    EXPECT_NE(open.rkey, old.rkey);
    expect_write_arrives(open, 3);
    expect_read_refused(old);
}

TEST_F(Window, BoundTwice) {
    bind();
    must(ends.server.qp().bind(window, window.next_rkey(), {memory.region(), offset, size}, both,
                               {.id = 70}));
    expect_bind_refused(ends.server);
}

TEST_F(Window, InvalidatedTwice) {
    const remote_slice open = bind();
    must(ends.server.qp().invalidate(open.rkey, {.id = 71}));
    must(ends.server.qp().invalidate(open.rkey, {.id = 72}));
    expect_good(next(ends.server.send_cq()), 71, IBV_WC_LOCAL_INV);
    expect_status(next(ends.server.send_cq()), 72, IBV_WC_MW_BIND_ERR);
}

TEST_F(Window, RegionIsBusy) {
    const remote_slice open = bind();
    EXPECT_EQ(ibv_dereg_mr(memory.region().native()), EBUSY);
    expect_write_arrives(open, 4);
    must(window.close());
    EXPECT_TRUE(works(memory.region().close()));
}

TEST_F(Window, DeallocatedWhileBound) {
    const remote_slice open = bind();
    must(window.close());
    expect_read_refused(open);
}

TEST_F(Window, NoLocalKey) {
    const remote_slice open = bind();
    must(ends.server.qp().send(softrnic::local_slice{open.addr, 100, open.rkey}, {.id = 9}));
    expect_status(next(ends.server.send_cq()), 9, IBV_WC_LOC_PROT_ERR);
}

TEST_F(Window, OfARegionThatCannotBeBound) {
    const softrnic::buffer closed =
        must(softrnic::buffer::create(ends.server.domain(), size, access::local_write | both));
    must(ends.server.qp().bind(window, window.next_rkey(), {closed.region(), 0, size}, both,
                               {.id = 70}));
    expect_bind_refused(ends.server);
}

TEST_F(Window, ToWriteWhereThisEndMayNot) {
    const softrnic::buffer constant =
        must(softrnic::buffer::create(ends.server.domain(), size, access::window_bind));
    must(ends.server.qp().bind(window, window.next_rkey(), {constant.region(), 0, size},
                               access::remote_write, {.id = 70}));
    expect_bind_refused(ends.server);
}

TEST_F(Window, BeyondTheRegion) {
    must(ends.server.qp().bind(window, window.next_rkey(), {memory.region(), 19'000, 1001}, both,
                               {.id = 70}));
    expect_bind_refused(ends.server);
}

TEST_F(Window, OfAnotherDomain) {
    const softrnic::pd elsewhere = must(softrnic::pd::create(device()));
    const softrnic::buffer other = must(softrnic::buffer::create(elsewhere, size, bindable));
    must(ends.server.qp().bind(window, window.next_rkey(), {other.region(), 0, size}, both,
                               {.id = 70}));
    expect_bind_refused(ends.server);
}

TEST_F(Window, ByAQueuePairOfAnotherDomain) {
    must(ends.client.qp().bind(window, window.next_rkey(), {memory.region(), offset, size}, both,
                               {.id = 70}));
    expect_bind_refused(ends.client);
}

/// Two connections in one protection domain.
class TwoQueuePairs : public Window {
protected:
    static softrnic::queue_config shared(const softrnic::connection& with) {
        softrnic::queue_config queues = wide;
        queues.domain = &with.domain();
        return queues;
    }
    pair others = connect_pair({.server = shared(ends.server)});
    scattered there{others.client.domain(), size, 1, access::local_write};
};

/// A window of type 2 is its queue pair's alone.
TEST_F(TwoQueuePairs, TheOtherOneIsRefused) {
    const remote_slice open = bind();
    must(others.client.qp().read(there.slices(), open, {.id = 1}));
    expect_status(next(others.client.send_cq()), 1, IBV_WC_REM_ACCESS_ERR);
    expect_broken(others.server);
    expect_write_arrives(open, 5);
}

TEST_F(TwoQueuePairs, TheOtherOneCannotWrite) {
    const remote_slice open = bind();
    must(others.client.qp().write(there.slices(), open, {.id = 1}));
    next(others.client.send_cq());
    expect_broken(others.server);
    expect_write_arrives(open, 5);
}

TEST_F(TwoQueuePairs, TheOtherOneCannotInvalidate) {
    const remote_slice open = bind();
    must(others.server.qp().invalidate(open.rkey, {.id = 71}));
    expect_status(next(others.server.send_cq()), 71, IBV_WC_MW_BIND_ERR);
    expect_write_arrives(open, 6);
}

/// A window of type 1, which has no place in the library: bound by a call, for all queue pairs of
/// its domain, and bound to something else by the next call.
class WindowType1 : public TwoQueuePairs {
protected:
    memory_window plain =
        memory_window::adopt(ibv_alloc_mw(ends.server.domain().native(), IBV_MW_TYPE_1));

    remote_slice call_bind(std::uint64_t from, std::uint64_t length) {
        ibv_mw_bind request{};
        request.wr_id = 70;
        request.send_flags = IBV_SEND_SIGNALED;
        request.bind_info.mr = length != 0 ? memory.region().native() : nullptr;
        request.bind_info.addr = length != 0 ? memory.region().remote_sub(from, 1).addr : 0;
        request.bind_info.length = length;
        request.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
        EXPECT_EQ(ibv_bind_mw(ends.server.qp().native(), plain.native(), &request), 0);
        expect_good(next(ends.server.send_cq()), 70, IBV_WC_BIND_MW);
        return {request.bind_info.addr, length, plain.rkey()};
    }
};

TEST_F(WindowType1, ServesAllQueuePairs) {
    const remote_slice open = call_bind(offset, size);
    expect_write_arrives(open, 1);
    must(others.client.qp().read(there.slices(), open, {.id = 1}));
    expect_good(next(others.client.send_cq()), 1, IBV_WC_RDMA_READ);
}

TEST_F(WindowType1, BoundAnew) {
    const remote_slice old = call_bind(100, 50);
    expect_write_arrives(call_bind(offset, size), 2);
    expect_read_refused({old.addr, 50, old.rkey});
}

TEST_F(WindowType1, Unbound) {
    const remote_slice open = call_bind(offset, size);
    const remote_slice closed = call_bind(0, 0);
    EXPECT_NE(closed.rkey, open.rkey);
    EXPECT_TRUE(works(memory.region().close()));
    expect_read_refused({open.addr, size, closed.rkey});
}

TEST_F(WindowType1, CannotBeInvalidated) {
    const remote_slice open = call_bind(offset, size);
    must(ends.server.qp().invalidate(open.rkey, {.id = 71}));
    expect_status(next(ends.server.send_cq()), 71, IBV_WC_MW_BIND_ERR);
}

/// Ends the process with a window bound to a region that is younger, so that the kernel tries to
/// deregister the region first.
[[noreturn]] void leave_with_a_bound_window() {
    pair ends = connect_pair();
    const memory_window window = must(memory_window::create(ends.server.domain()));
    const softrnic::buffer memory =
        must(softrnic::buffer::create(ends.server.domain(), size, bindable));
    must(ends.server.qp().bind(window, window.next_rkey(), {memory.region(), 0, size}, both));
    next(ends.server.send_cq());
    std::_Exit(7);
}

/// What it leaves is taken away: the machine notices if the link could not be deleted later.
TEST(WindowDeathTest, OfAProcessThatLeaves) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(leave_with_a_bound_window(), ::testing::ExitedWithCode(7), "");
    EXPECT_TRUE(works(softrnic::pd::create(device())));
}

TEST(WindowDevice, SaysThatItHasThem) {
    const ibv_device_attr attr = must(device().query());
    EXPECT_NE(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW, 0U);
    EXPECT_NE(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B, 0U);
    EXPECT_GE(attr.max_mw, 1000);
}

void open_many_files() {
    rlimit files{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
}

/// Registers memory by a command whose answer goes there. 0, or why not.
int register_into(const softrnic::pd& domain, std::span<std::byte> memory,
                  std::span<std::byte> answer) {
    constexpr std::size_t length = sizeof(ib_uverbs_cmd_hdr) + sizeof(ib_uverbs_reg_mr);
    const ib_uverbs_cmd_hdr header{IB_USER_VERBS_CMD_REG_MR, length / 4,
                                   sizeof(ib_uverbs_reg_mr_resp) / 4};
    ib_uverbs_reg_mr body{};
    body.response = reinterpret_cast<std::uintptr_t>(answer.data());
    body.start = body.hca_va = reinterpret_cast<std::uintptr_t>(memory.data());
    body.length = memory.size();
    body.pd_handle = domain.native()->handle;
    body.access_flags = static_cast<std::uint32_t>(bindable);
    std::array<std::byte, length> command{};
    std::memcpy(command.data(), &header, sizeof header);
    std::memcpy(command.data() + sizeof header, &body, sizeof body);
    return write(domain.native()->context->cmd_fd, command.data(), length) == ssize_t{length}
               ? 0
               : errno;
}

/// Binds the window to a region of which no more is known than its key.
ibv_wc_status bind_by_key(softrnic::connection& end, const memory_window& window,
                          std::uint32_t lkey, std::span<std::byte> memory) {
    ibv_mr region{};
    region.context = window.native()->context;
    region.pd = window.native()->pd;
    region.lkey = lkey;
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.bind_mw.mw = window.native();
    wr.bind_mw.rkey = window.next_rkey();
    wr.bind_mw.bind_info = {&region, reinterpret_cast<std::uintptr_t>(memory.data()), memory.size(),
                            IBV_ACCESS_REMOTE_WRITE};
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(end.qp().native(), &wr, &bad), 0);
    return next(end.send_cq()).status;
}

/// Registers memory, binds the window to it before that is complete, and makes it fail. False if
/// the key could not be guessed: the index follows the last one, and each guess of the rest costs a
/// connection.
bool bind_while_registering(std::unique_ptr<support::withheld_page> page) {
    constexpr std::size_t keys = 256;
    const auto domain = must(softrnic::pd::create(device()));
    pair_options in_it;
    in_it.client.domain = &domain;
    std::vector<pair> guesses;
    while (guesses.size() < keys) guesses.push_back(connect_pair(in_it));
    const memory_window window = must(memory_window::create(domain));
    message memory(size);
    const auto last = must(softrnic::buffer::create(domain, size, bindable));
    std::future<int> undone;
    // Whatever goes wrong, the page goes before its writer is waited for.
    const auto answer = std::move(page);
    undone = std::async(std::launch::async,
                        [&] { return register_into(domain, memory, answer->memory()); });
    answer->await_fault(patience);
    const std::uint32_t index = (last.region().native()->lkey >> 8U) + 1;
    bool bound = false;
    for (std::size_t key = 0; key < keys && !bound; ++key)
        bound =
            bind_by_key(guesses[key].client, window, index << 8U | static_cast<std::uint32_t>(key),
                        memory) == IBV_WC_SUCCESS;
    answer->take_away();
    EXPECT_EQ(undone.get(), EFAULT);
    // Nothing of it is in the way of the next.
    must(softrnic::buffer::create(domain, size, bindable));
    return bound;
}

// A region is there before its registration is complete, and its key can be guessed. The
// registration is undone if its answer cannot be written: the core does not allow a driver to
// refuse that.
TEST(WindowOf, ARegistrationThatIsUndone) {
    open_many_files();
    bool bound = false;
    for (int tries = 0; tries < 3 && !bound; ++tries) {
        std::unique_ptr<support::withheld_page> answer;
        try {
            answer = std::make_unique<support::withheld_page>();
        } catch (const std::system_error& e) {
            GTEST_SKIP() << "this kernel has no userfaultfd: " << e.what();
        }
        bound = bind_while_registering(std::move(answer));
    }
    EXPECT_TRUE(bound) << "no guess was right";
}

}  // namespace
}  // namespace verbs_test
