// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What the device says it can do, it can; one more is refused by name.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using softrnic::queue_config;

class Limits : public ::testing::Test {
protected:
    ibv_device_attr most = must(device().query());
    softrnic::pd domain = must(softrnic::pd::create(device()));
    softrnic::cq queue = must(softrnic::cq::create(device(), 16));
    softrnic::connection end = must(softrnic::resolve(server_address(1)));

    /// A queue pair on queues of the test's own, made and destroyed.
    softrnic::result<void> create(queue_config config) {
        config.domain = &domain;
        config.send_cq = &queue;
        const auto made = end.create_queues(config);
        end.destroy_queues();
        return made;
    }
    /// How many objects of a cache of the kernel 400 queue pairs take that have no connections.
    std::int64_t objects_of_400_queue_pairs(const std::string& cache);
};

TEST_F(Limits, QueueDepth) {
    const auto depth = static_cast<std::uint32_t>(most.max_qp_wr);
    EXPECT_TRUE(works(create({.max_send_wr = depth, .max_recv_wr = depth})));
    EXPECT_TRUE(fails_with(create({.max_send_wr = depth + 1}), EINVAL));
    EXPECT_TRUE(fails_with(create({.max_recv_wr = depth + 1}), EINVAL));
    EXPECT_TRUE(fails_with(create({.max_recv_wr = UINT32_MAX}), EINVAL));
}

TEST_F(Limits, SlicesOfARequest) {
    const auto sges = static_cast<std::uint32_t>(most.max_sge);
    EXPECT_GE(sges, 16U);
    EXPECT_TRUE(works(create({.max_send_sge = sges, .max_recv_sge = sges})));
    EXPECT_TRUE(fails_with(create({.max_send_sge = sges + 1}), EINVAL));
    EXPECT_TRUE(fails_with(create({.max_recv_sge = sges + 1}), EINVAL));
}

TEST_F(Limits, InlineData) {
    EXPECT_TRUE(works(create({.max_inline = 256})));
    EXPECT_TRUE(works(create({.max_inline = 512})));
    EXPECT_TRUE(fails_with(create({.max_inline = 1U << 20}), EINVAL));
}

TEST_F(Limits, EmptyQueuesAreAllowed) {
    EXPECT_TRUE(works(create({.max_send_wr = 0})));
    EXPECT_TRUE(works(create({.max_recv_wr = 0})));
    EXPECT_TRUE(
        works(create({.max_send_wr = 0, .max_recv_wr = 0, .max_send_sge = 0, .max_recv_sge = 0})));
}

TEST_F(Limits, TheDeviceGrantsAtLeastWhatWasAsked) {
    queue_config config{.max_send_wr = 5, .max_recv_wr = 9, .max_send_sge = 3, .max_inline = 100};
    config.domain = &domain;
    config.send_cq = &queue;
    must(end.create_queues(config));
    EXPECT_GE(end.granted().max_send_wr, 5U);
    EXPECT_GE(end.granted().max_recv_wr, 9U);
    EXPECT_GE(end.granted().max_send_sge, 3U);
    EXPECT_GE(end.granted().max_inline_data, 100U);
    const ibv_qp_cap queried = must(end.qp().query()).cap;
    EXPECT_EQ(queried.max_send_wr, end.granted().max_send_wr);
    EXPECT_EQ(queried.max_recv_wr, end.granted().max_recv_wr);
    EXPECT_EQ(queried.max_send_sge, end.granted().max_send_sge);
    EXPECT_EQ(queried.max_recv_sge, end.granted().max_recv_sge);
    EXPECT_EQ(queried.max_inline_data, end.granted().max_inline_data);
}

TEST_F(Limits, CompletionQueueDepth) {
    EXPECT_TRUE(works(softrnic::cq::create(end.context(), most.max_cqe)));
    EXPECT_TRUE(fails_with(softrnic::cq::create(end.context(), most.max_cqe + 1), EINVAL));
    EXPECT_TRUE(fails_with(softrnic::cq::create(end.context(), 0), EINVAL));
    EXPECT_TRUE(fails_with(softrnic::cq::create(end.context(), -1), EINVAL));
}

TEST_F(Limits, CompletionVector) {
    const int vectors = end.context().native()->num_comp_vectors;
    EXPECT_TRUE(works(softrnic::cq::create(end.context(), 1, nullptr, vectors - 1)));
    EXPECT_TRUE(fails_with(softrnic::cq::create(end.context(), 1, nullptr, vectors), EINVAL));
}

TEST_F(Limits, SharedReceiveQueue) {
    const auto depth = static_cast<std::uint32_t>(most.max_srq_wr);
    const auto sges = static_cast<std::uint32_t>(most.max_srq_sge);
    EXPECT_TRUE(works(softrnic::srq::create(domain, depth, sges)));
    EXPECT_TRUE(fails_with(softrnic::srq::create(domain, depth + 1), EINVAL));
    EXPECT_TRUE(fails_with(softrnic::srq::create(domain, 1, sges + 1), EINVAL));
    EXPECT_TRUE(fails_with(softrnic::srq::create(domain, 0), EINVAL));
}

TEST_F(Limits, OnlyReliableConnections) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = queue.native();
    attr.cap = {1, 1, 1, 1, 0};
    attr.qp_type = IBV_QPT_UD;
    errno = 0;
    EXPECT_EQ(ibv_create_qp(domain.native(), &attr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Limits, RegistrationRefusesWhatCannotBe) {
    message memory(4096);
    const std::span<std::byte> bytes(memory);
    EXPECT_TRUE(fails_with(softrnic::mr::create(domain, bytes, access::remote_write), EINVAL));
    EXPECT_TRUE(fails_with(softrnic::mr::create(domain, nullptr, 4096, access::none), EFAULT));
    EXPECT_FALSE(softrnic::mr::create(domain, bytes.data(), SIZE_MAX, access::none));
}

/// A hint for on-demand paging; huge pages are registered with and without it.
TEST_F(Limits, RegistrationTakesTheFlagForHugePages) {
    message memory(4096);
    const std::span<std::byte> bytes(memory);
    EXPECT_TRUE(works(softrnic::mr::create(domain, bytes, access::huge_pages)));
    EXPECT_TRUE(
        works(softrnic::mr::create(domain, bytes, access::huge_pages | access::local_write)));
    EXPECT_FALSE(softrnic::mr::create(domain, bytes, access::huge_pages | access::on_demand));
}

TEST_F(Limits, ReadOnlyMemoryIsReadOnly) {
    void* memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    EXPECT_TRUE(works(softrnic::mr::create(domain, memory, 4096, access::remote_read)));
    EXPECT_TRUE(
        fails_with(softrnic::mr::create(domain, memory, 4096, access::local_write), EFAULT));
    munmap(memory, 4096);
}

TEST_F(Limits, DomainInUseStays) {
    message memory(100);
    softrnic::mr region =
        must(softrnic::mr::create(domain, std::span<std::byte>(memory), access::none));
    EXPECT_EQ(ibv_dealloc_pd(domain.native()), EBUSY);
    EXPECT_TRUE(works(region.close()));
}

TEST_F(Limits, AsManyDomainsAsPromised) {
    std::vector<softrnic::pd> all;
    int code = 0;
    while (code == 0) {
        auto made = softrnic::pd::create(end.context());
        if (made)
            all.push_back(std::move(*made));
        else
            code = made.error().code;
        ASSERT_LE(all.size(), static_cast<std::size_t>(most.max_pd));
    }
    EXPECT_EQ(code, ENOMEM);
    // The fixture has one, rdma_cm another, and the kernel may have some.
    EXPECT_GE(all.size() + 8, static_cast<std::size_t>(most.max_pd));
}

/// Objects of the kernel's caches of this size that are in use.
std::uint64_t slab_objects(const std::string& cache) {
    std::ifstream table("/proc/slabinfo");
    std::string line, name;
    std::uint64_t active = 0;
    while (std::getline(table, line)) {
        std::istringstream columns(line);
        if (columns >> name >> active && name == cache) return active;
    }
    throw std::runtime_error("no cache has this name: " + cache);
}

std::int64_t Limits::objects_of_400_queue_pairs(const std::string& cache) {
    constexpr int count = 400;
    std::vector<softrnic::connection> ends;
    ends.reserve(count);
    for (int i = 0; i < count; ++i) ends.push_back(must(softrnic::resolve(server_address(1))));
    const std::uint64_t before = slab_objects(cache);
    for (softrnic::connection& one : ends)
        must(one.create_queues({.max_send_wr = 1, .domain = &domain, .send_cq = &queue}));
    // It may have become less: files have such nodes as well.
    return static_cast<std::int64_t>(slab_objects(cache) - before);
}

// Most of the memory of an idle connection is its queue pair. If it were a little larger than 2 KiB
// it would take 4.
TEST_F(Limits, AQueuePairTakesTwoKibibytes) {
    if (std::filesystem::exists("/proc/lockdep"))
        GTEST_SKIP() << "locks are larger on a kernel that checks them";
    EXPECT_LT(objects_of_400_queue_pairs("kmalloc-4k"), 200);
}

// Those of one program have numbers that are close to each other, so that their places in the
// tables of this driver and of the core are as well.
TEST_F(Limits, QueuePairsShareNodesOfTables) {
    EXPECT_LT(objects_of_400_queue_pairs("radix_tree_node"), 200);
}

}  // namespace
}  // namespace verbs_test
