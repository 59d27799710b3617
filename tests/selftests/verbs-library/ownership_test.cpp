// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What the library's objects own: replaced ones are freed at once and in order, lent ones are left
// as they were.
#include <fcntl.h>
#include <malloc.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <iterator>
#include <span>
#include <thread>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// A message from the client arrives, and each end has its completion.
void expect_alive(pair& ends) {
    must(ends.server.qp().recv(softrnic::no_slices, 1));
    must(ends.client.qp().send(softrnic::no_slices, {.id = 2}));
    expect_good(next(ends.client.send_cq()), 2, IBV_WC_SEND);
    expect_good(next(ends.server.recv_cq()), 1, IBV_WC_RECV);
}

/// A queue pair of that depth does not exist; a completion queue for it does.
softrnic::queue_config impossible() {
    const ibv_device_attr limits = must(device().query());
    return {.max_send_wr = static_cast<std::uint32_t>(limits.max_qp_wr) + 1, .max_recv_wr = 1};
}

class Ownership : public ::testing::Test {
protected:
    // rdma_cm opens the device once, for the life of the process.
    void SetUp() override { device(); }
};

TEST_F(Ownership, AssignmentReplacesALiveConnection) {
    pair first = connect_pair();
    pair second = connect_pair();
    const std::ptrdiff_t files = open_files();
    first.client = std::move(second.client);
    // Those of the id and of the completion channel.
    EXPECT_EQ(open_files(), files - 2);
    EXPECT_FALSE(second.client);  // NOLINT(bugprone-use-after-move): that is what is tested
    expect_broken(first.server);

    pair moved{.client = std::move(first.client), .server = std::move(second.server)};
    expect_alive(moved);
}

TEST_F(Ownership, AssignmentOfNothingEndsAConnection) {
    const std::ptrdiff_t files = open_files();
    pair ends = connect_pair();
    ends.client = {};
    expect_broken(ends.server);
    ends.server = {};
    EXPECT_EQ(open_files(), files);
}

TEST_F(Ownership, AssignmentToItselfChangesNothing) {
    pair ends = connect_pair();
    softrnic::connection& same = ends.client;
    ends.client = std::move(same);
    expect_alive(ends);
}

// The id of a listener whose channel went first stays in this process's memory.
TEST_F(Ownership, AssignmentReplacesALiveListener) {
    constexpr std::size_t rounds = 50;
    softrnic::listener listener = must(softrnic::listen(server_address()));
    softrnic::address where = listener.local_address();
    listener = must(softrnic::listen(server_address()));
    const std::ptrdiff_t files = open_files();
    const std::size_t memory = mallinfo2().uordblks;
    for (std::size_t i = 0; i < rounds; ++i) {
        // The port is free again, and its successor takes requests.
        softrnic::listener next = must(softrnic::listen(where));
        where = listener.local_address();
        listener = std::move(next);
    }
    EXPECT_EQ(open_files(), files);
    EXPECT_LT(mallinfo2().uordblks, memory + rounds * sizeof(rdma_cm_id));

    softrnic::connection client = must(softrnic::resolve(listener.local_address()));
    must(client.create_queues(wide));
    auto outcome = std::async(std::launch::async, [&] { return client.connect(); });
    const softrnic::connection server = accept_next(listener);
    EXPECT_TRUE(works(outcome.get()));
}

TEST_F(Ownership, AssignmentReplacesALiveQueuePair) {
    softrnic::connection made = must(softrnic::resolve(server_address(1)));
    const softrnic::pd domain = must(softrnic::pd::create(made.context()));
    softrnic::cq queue = must(softrnic::cq::create(made.context(), 2));
    ibv_qp_init_attr attr{};
    attr.qp_type = IBV_QPT_RC;
    attr.send_cq = attr.recv_cq = queue.native();
    attr.cap = {1, 1, 1, 1, 0};
    ASSERT_EQ(rdma_create_qp(made.native(), domain.native(), &attr), 0);
    softrnic::qp first = softrnic::qp::adopt(made.native());
    softrnic::qp second;
    first = std::move(second);
    EXPECT_TRUE(works(queue.close())) << "nothing uses it any more";
}

TEST_F(Ownership, AssignmentReplacesABuffer) {
    const softrnic::connection made = must(softrnic::resolve(server_address(1)));
    softrnic::pd domain = must(softrnic::pd::create(made.context()));
    softrnic::buffer first = must(softrnic::buffer::create(domain, 4096, access::none));
    softrnic::buffer second;
    first = std::move(second);
    EXPECT_TRUE(works(domain.close())) << "nothing uses it any more";
}

TEST_F(Ownership, QueuesThatCouldNotBeMadeLeaveNothing) {
    const std::ptrdiff_t files = open_files();
    {
        softrnic::connection made = must(softrnic::resolve(server_address(1)));
        for (int i = 0; i < 3; ++i)
            EXPECT_TRUE(fails_with(made.create_queues(impossible()), EINVAL));
        must(made.create_queues(wide));
        made.destroy_queues();
        must(made.create_queues(wide));
    }
    EXPECT_EQ(open_files(), files);
}

TEST_F(Ownership, SecondQueuesAreRefused) {
    const std::ptrdiff_t files = open_files();
    {
        pair ends = connect_pair();
        EXPECT_TRUE(fails_with(ends.client.create_queues(wide), EINVAL));
        EXPECT_TRUE(fails_with(ends.client.create_queues(impossible()), EINVAL));
        expect_alive(ends);
    }
    EXPECT_EQ(open_files(), files);
}

TEST_F(Ownership, DeviceOfAnotherKeepsItsFlags) {
    const int events = device().native()->async_fd;
    const int flags = fcntl(events, F_GETFL);
    ASSERT_EQ(flags & O_NONBLOCK, 0) << "somebody else has set it";
    (void)device().wait_async_event(0s);
    EXPECT_EQ(fcntl(events, F_GETFL), flags);
}

// Another thread polls meanwhile, and sees none of its receives flushed.
TEST(Destruction, OfAQueuePairCompletesNothing) {
    softrnic::cq queue = must(softrnic::cq::create(device(), 64));
    std::size_t seen = 0;
    for (int round = 0; round < 100; ++round) {
        softrnic::connection end = must(softrnic::resolve(server_address(1)));
        must(end.create_queues({.send_cq = &queue}));
        for (std::uint64_t i = 0; i < 8; ++i) must(end.qp().recv(softrnic::no_slices, i));
        std::atomic<bool> over = false;
        std::jthread polls([&] {
            ibv_wc wc{};
            while (!over) seen += must(queue.poll(std::span(&wc, 1))).size();
        });
        end.destroy_queues();
        over = true;
    }
    EXPECT_EQ(seen, 0U);
}

}  // namespace
}  // namespace verbs_test
