// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Queue pairs of two network namespaces, which a program has brought up in these, and left them:
// the network between them is cut, and a namespace exits while they are busy, as neither an id of
// rdma_cm nor a process keeps it. Wants the devices SRN_RAW_DEVICE in namespace a and SRN_RAW_PEER
// in namespace b, which have one setting same_host and the addresses 10.0.0.1 and 10.0.0.2.
// Namespace a goes at last.
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

/// Each end is in the namespace of its device, and both take the path that the setting says.
void bring_up_apart(end& a, end& b) {
    const std::uint64_t direct = bypasses_tcp(a.of()) ? 1 : 0;
    const std::uint64_t before_a = a.of().counter("connections_same_host");
    const std::uint64_t before_b = b.of().counter("connections_same_host");
    ASSERT_NO_FATAL_FAILURE(in_namespace("a", [&] { to_rts(a, b); }));
    ASSERT_NO_FATAL_FAILURE(in_namespace("b", [&] { to_rts(b, a); }));
    expect_counted(a.of(), before_a + direct);
    expect_counted(b.of(), before_b + direct);
}

int shell(const std::string& command) {
    // NOLINTNEXTLINE(cert-env33-c,concurrency-mt-unsafe): the shell is wanted
    return std::system(command.c_str());
}

TEST(NamespaceCut, WhileThePeerAnswersByTcp) {
    const device here("SRN_RAW_DEVICE"), there("SRN_RAW_PEER");
    end a(here), b(there);
    ASSERT_NO_FATAL_FAILURE(bring_up_apart(a, b));
    // TCP keeps the rate, so b's answers leave the path inside this host, and a's requests do not.
    ibv_qp_rate_limit_attr limit{};
    limit.rate_limit = 1000000;
    ASSERT_EQ(ibv_modify_qp_rate_limit(b.get(), &limit), 0);
    ASSERT_EQ(a.post(IBV_WR_RDMA_READ, 1, &b), 0);
    ASSERT_NO_FATAL_FAILURE(expect_completion(a, 1));

    EXPECT_EQ(shell("ip -n b route add blackhole 10.0.0.1/32"), 0);
    ASSERT_EQ(a.post(IBV_WR_RDMA_READ, 2, &b), 0);
    // Timeout 14 and 7 retries mean the shortest time that there is, which is 5 s.
    const auto wc = a.completion(patience);
    EXPECT_EQ(shell("ip -n b route delete blackhole 10.0.0.1/32"), 0);
    ASSERT_TRUE(wc) << "it waits for the answer for ever";
    EXPECT_EQ(wc->status, IBV_WC_RETRY_EXC_ERR) << ibv_wc_status_str(wc->status);
}

TEST(NamespaceExit, WhileBothEndsAreBusy) {
    const device here("SRN_RAW_DEVICE"), there("SRN_RAW_PEER");
    end a(here), b(there);
    ASSERT_NO_FATAL_FAILURE(bring_up_apart(a, b));

    auto from_a = std::async(std::launch::async, [&] { return write_until_the_end(a, b); });
    auto from_b = std::async(std::launch::async, [&] { return write_until_the_end(b, a); });
    std::this_thread::sleep_for(300ms);
    EXPECT_EQ(shell("timeout -k 2 20 ip netns delete a"), 0);
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
