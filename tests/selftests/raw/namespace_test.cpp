// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A network namespace exits while a queue pair of its link is busy. Neither an id of rdma_cm nor a
// process keeps it: the program has brought up the two ends in their namespaces, and left these.
// Wants the devices SRN_RAW_DEVICE in namespace a and SRN_RAW_PEER in namespace b, which have one
// setting same_host. Namespace a goes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>

#include "end.hpp"
#include "settings.hpp"

namespace {

using namespace by_hand;

constexpr auto patience = 60s;

/// The thread that it runs in is that namespace's, and ends.
void in_namespace(const std::string& name, const std::function<void()>& work) {
    std::async(std::launch::async, [&] {
        const int file = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
        const bool entered = file >= 0 && setns(file, CLONE_NEWNET) == 0;
        if (file >= 0) close(file);
        if (!entered) throw std::runtime_error("no namespace " + name);
        work();
    }).get();
}

void to_rts(end& e, const end& peer) {
    ASSERT_EQ(e.to_init(), 0);
    ibv_qp_attr attr = e.rtr(peer.number(), peer.psn());
    attr.ah_attr.grh.dgid = peer.of().gid();
    ASSERT_EQ(e.modify(attr, end::rtr_mask), 0);
    ASSERT_EQ(e.to_rts(), 0);
}

bool bypasses_tcp(const device& dev) {
    return support::value_of_link_setting(dev.name(), "same_host") == "host";
}

/// What became of an end that was never left idle.
struct fate {
    std::uint64_t done = 0;
    int outstanding = 0;
    std::optional<ibv_wc_status> first_failure;
    bool refused = false;
};

/// Keeps some Writes to the peer outstanding until one fails or is refused, and waits for all.
fate write_until_the_end(end& from, end& to) {
    constexpr int depth = 4;
    fate f;
    for (const auto until = clock_type::now() + patience; clock_type::now() < until;) {
        while (!f.refused && !f.first_failure && f.outstanding < depth) {
            f.refused = from.post(IBV_WR_RDMA_WRITE, 1, &to) != 0;
            if (!f.refused) f.outstanding++;
        }
        if (f.outstanding == 0) break;
        const auto wc = from.completion(1s);
        if (!wc) continue;
        f.outstanding--;
        if (wc->status == IBV_WC_SUCCESS)
            f.done++;
        else if (!f.first_failure)
            f.first_failure = wc->status;
    }
    return f;
}

void expect_counted(const device& dev, std::uint64_t expected) {
    for (int i = 0; i < 200 && dev.counter("connections_same_host") != expected; i++)
        std::this_thread::sleep_for(20ms);
    EXPECT_EQ(dev.counter("connections_same_host"), expected) << dev.name();
}

TEST(NamespaceExit, WhileBothEndsAreBusy) {
    const device here("SRN_RAW_DEVICE"), there("SRN_RAW_PEER");
    const std::uint64_t direct = bypasses_tcp(here) ? 1 : 0;
    const std::uint64_t before_here = here.counter("connections_same_host");
    const std::uint64_t before_there = there.counter("connections_same_host");
    end a(here), b(there);
    ASSERT_NO_FATAL_FAILURE(in_namespace("a", [&] { to_rts(a, b); }));
    ASSERT_NO_FATAL_FAILURE(in_namespace("b", [&] { to_rts(b, a); }));
    expect_counted(here, before_here + direct);
    expect_counted(there, before_there + direct);

    auto from_a = std::async(std::launch::async, [&] { return write_until_the_end(a, b); });
    auto from_b = std::async(std::launch::async, [&] { return write_until_the_end(b, a); });
    std::this_thread::sleep_for(300ms);
    // NOLINTNEXTLINE(cert-env33-c,concurrency-mt-unsafe): the shell is wanted
    EXPECT_EQ(std::system("timeout -k 2 20 ip netns delete a"), 0);
    const fate of_a = from_a.get(), of_b = from_b.get();

    EXPECT_GT(of_a.done, 0U);
    EXPECT_TRUE(of_a.refused || of_a.first_failure) << "its device is there for ever";
    EXPECT_EQ(of_a.outstanding, 0);
    bool fatal = false;
    for (auto event = here.event(30s); event && !fatal; event = here.event(0s))
        fatal = *event == IBV_EVENT_DEVICE_FATAL;
    EXPECT_TRUE(fatal) << "no IBV_EVENT_DEVICE_FATAL";

    EXPECT_GT(of_b.done, 0U);
    EXPECT_FALSE(of_b.refused);
    ASSERT_TRUE(of_b.first_failure) << "it does not notice that its peer has gone";
    EXPECT_EQ(*of_b.first_failure, IBV_WC_RETRY_EXC_ERR) << ibv_wc_status_str(*of_b.first_failure);
    EXPECT_EQ(of_b.outstanding, 0);
    EXPECT_EQ(b.query().qp_state, IBV_QPS_ERR);

    // The other link goes on.
    in_namespace("b", [&] {
        end c(there), d(there);
        bring_up(c, d);
        expect_send(c, d);
    });
}

}  // namespace
