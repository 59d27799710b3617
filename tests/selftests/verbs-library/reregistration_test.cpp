// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// ibv_rereg_mr(): a region gets other memory, rights or another domain.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::remote_slice;

constexpr std::uint32_t size = 5000;
constexpr int open_access =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND;
constexpr std::byte untouched{0x5a};

class Reregistration : public ::testing::Test {
protected:
    void register_with(int rights) {
        ibv_mr* made = ibv_reg_mr(ends.server.domain().native(), first.data(), size, rights);
        ASSERT_NE(made, nullptr);
        region = softrnic::mr::adopt(made);
    }
    [[nodiscard]] remote_slice remote() const {
        const ibv_mr* mr = region.native();
        return {reinterpret_cast<std::uintptr_t>(mr->addr), size, mr->rkey};
    }
    int rereg(int flags, ibv_pd* pd, void* addr, int rights) {
        return ibv_rereg_mr(region.native(), flags, pd, addr, addr != nullptr ? size : 0, rights);
    }
    void write(const remote_slice& to) {
        must(ends.client.qp().write(from.slices(), to, {.id = 1}));
        expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_WRITE);
        // It is there, or was refused, when a Read behind it is answered.
        must(ends.client.qp().read(softrnic::no_slices, {}, {.id = 2}));
    }
    void expect_written(const remote_slice& to, const message& where) {
        write(to);
        expect_good(next(ends.client.send_cq()), 2, IBV_WC_RDMA_READ);
        EXPECT_TRUE(std::equal(m.begin(), m.end(), where.begin()));
    }
    /// This ends the connection.
    void expect_refused(const remote_slice& to) {
        write(to);
        EXPECT_NE(next(ends.client.send_cq()).status, IBV_WC_SUCCESS);
    }
    static void expect_untouched(const message& where) {
        EXPECT_TRUE(
            std::all_of(where.begin(), where.end(), [](std::byte b) { return b == untouched; }));
    }

    pair ends = connect_pair();
    scattered from{ends.client.domain(), size, 2, access::none};
    message m = make_message(size, 1);
    message first = message(size, untouched);
    message second = message(size, untouched);
    softrnic::mr region;

    void SetUp() override { from.put(m); }
};

TEST_F(Reregistration, OtherMemory) {
    register_with(open_access);
    const remote_slice old = remote();
    ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, second.data(), 0), 0);
    EXPECT_NE(remote().rkey, old.rkey);
    EXPECT_EQ(region.native()->lkey, region.native()->rkey);
    expect_written(remote(), second);
    expect_untouched(first);
    // Nobody who knows the old key gets in by it.
    expect_refused(old);
    expect_untouched(first);
}

TEST_F(Reregistration, FewerRights) {
    register_with(open_access);
    expect_written(remote(), first);
    std::fill(first.begin(), first.end(), untouched);
    const remote_slice old = remote();
    ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, IBV_ACCESS_REMOTE_READ), 0);
    EXPECT_EQ(remote().rkey, old.rkey);
    expect_refused(old);
    expect_untouched(first);
}

// It is the memory that was registered, not what the process has at the address now.
TEST_F(Reregistration, TheMemoryStaysWhereverItIsMapped) {
    constexpr std::size_t length = 8192;
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    auto map = [](void* at, int how) {
        return static_cast<std::byte*>(
            mmap(at, length, PROT_READ | PROT_WRITE, flags | how, -1, 0));
    };
    std::byte* there = map(nullptr, 0);
    std::byte* elsewhere = map(nullptr, 0);
    ibv_mr* made = ibv_reg_mr(ends.server.domain().native(), there, size, open_access);
    ASSERT_NE(made, nullptr);
    region = softrnic::mr::adopt(made);
    ASSERT_EQ(mremap(there, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere), elsewhere);
    ASSERT_EQ(map(there, MAP_FIXED_NOREPLACE), there);
    ASSERT_EQ(
        rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, open_access & ~IBV_ACCESS_REMOTE_READ),
        0);
    write(remote());
    expect_good(next(ends.client.send_cq()), 2, IBV_WC_RDMA_READ);
    EXPECT_TRUE(std::equal(m.begin(), m.end(), elsewhere));
    EXPECT_TRUE(std::all_of(there, there + size, [](std::byte b) { return b == std::byte{}; }));
    // Also where the address is not mapped any more.
    munmap(there, length);
    EXPECT_EQ(rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, open_access), 0);
    must(region.close());
    munmap(elsewhere, length);
}

TEST_F(Reregistration, MoreRights) {
    register_with(IBV_ACCESS_LOCAL_WRITE);
    ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr,
                    open_access | IBV_ACCESS_RELAXED_ORDERING),
              0);
    expect_written(remote(), first);
}

// Its memory is pinned once more, and may be other memory, which the old key must not reach.
TEST_F(Reregistration, WhatWasOnlyReadGetsOtherKeysToBeWritten) {
    register_with(IBV_ACCESS_REMOTE_READ);
    const remote_slice old = remote();
    ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, open_access), 0);
    EXPECT_NE(remote().rkey, old.rkey);
    expect_written(remote(), first);
    std::fill(first.begin(), first.end(), untouched);
    expect_refused(old);
    expect_untouched(first);
}

TEST_F(Reregistration, AnotherDomainAndBack) {
    register_with(open_access);
    const softrnic::pd other = must(softrnic::pd::create(device()));
    ibv_pd* own = ends.server.domain().native();
    // A domain is in use while the region is of it.
    ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_PD, other.native(), nullptr, 0), 0);
    EXPECT_EQ(ibv_dealloc_pd(other.native()), EBUSY);
    ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_PD, own, nullptr, 0), 0);
    expect_written(remote(), first);
    std::fill(first.begin(), first.end(), untouched);
    ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_PD, other.native(), nullptr, 0), 0);
    expect_refused(remote());
    expect_untouched(first);
    must(region.close());
}

TEST_F(Reregistration, AllAtOnceAndAgain) {
    register_with(0);
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS |
                            IBV_REREG_MR_CHANGE_PD,
                        ends.server.domain().native(), i % 2 == 0 ? second.data() : first.data(),
                        open_access),
                  0);
    }
    expect_written(remote(), first);
}

TEST_F(Reregistration, ARegionWithWindowsStaysAsItIs) {
    register_with(open_access);
    const remote_slice before = remote();
    const softrnic::memory_window window =
        must(softrnic::memory_window::create(ends.server.domain()));
    must(ends.client.qp().write(softrnic::no_slices, {}));  // the initiator speaks first
    next(ends.client.send_cq());
    const std::uint32_t key = window.next_rkey();
    must(ends.server.qp().bind(window, key, {region, 0, size}, access::remote_write, {.id = 70}));
    expect_good(next(ends.server.send_cq()), 70, IBV_WC_BIND_MW);
    EXPECT_EQ(rereg(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, second.data(), 0),
              IBV_REREG_MR_ERR_CMD);
    EXPECT_EQ(remote().rkey, before.rkey);
    expect_written(remote(), first);

    must(ends.server.qp().invalidate(key, {.id = 71}));
    expect_good(next(ends.server.send_cq()), 71, IBV_WC_LOCAL_INV);
    EXPECT_EQ(rereg(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, second.data(), 0), 0);
    expect_written(remote(), second);
}

TEST_F(Reregistration, WhatCannotBeDoneLeavesItAsItIs) {
    register_with(open_access);
    const remote_slice before = remote();
    // Memory that is not there, and rights that contradict each other.
    EXPECT_EQ(ibv_rereg_mr(region.native(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
                           // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of nothing
                           reinterpret_cast<void*>(std::uintptr_t{1} << 46), size, 0),
              IBV_REREG_MR_ERR_CMD);
    EXPECT_EQ(rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, IBV_ACCESS_REMOTE_WRITE),
              IBV_REREG_MR_ERR_CMD);
    EXPECT_EQ(remote().rkey, before.rkey);
    expect_written(remote(), first);
}

}  // namespace
}  // namespace verbs_test
