// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// The rate limit of a queue pair. Only that something is not faster than allowed can be seen in a
// machine that may be slow by itself.
#include <chrono>
#include <future>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;
using clock_type = std::chrono::steady_clock;

constexpr std::uint32_t kbits = 16'000;
constexpr std::uint32_t size = 4'000'000;
/// 4 MB at 2 MB/s are 2 s; half of that for bursts.
constexpr std::chrono::milliseconds least = 1000ms;

int limit(const softrnic::connection& end, std::uint32_t rate, std::uint32_t burst = 0,
          std::uint16_t packet = 0) {
    ibv_qp_rate_limit_attr attr{};
    attr.rate_limit = rate;
    attr.max_burst_sz = burst;
    attr.typical_pkt_sz = packet;
    return ibv_modify_qp_rate_limit(end.qp().native(), &attr);
}

/// Until the peer has all of it, which a Read behind it tells.
clock_type::duration time_of_transfer(pair& ends) {
    const softrnic::buffer from =
        must(softrnic::buffer::create(ends.client.domain(), size, access::local_write));
    const softrnic::buffer to = must(
        softrnic::buffer::create(ends.server.domain(), size,
                                 access::local_write | access::remote_write | access::remote_read));
    const auto start = clock_type::now();
    must(ends.client.qp().write(from.all(), to.remote(), {.id = 1}));
    must(ends.client.qp().read(from.sub(0, 8), to.remote(), {.id = 2}));
    expect_good(next(ends.client.send_cq()), 1, IBV_WC_RDMA_WRITE);
    expect_good(next(ends.client.send_cq()), 2, IBV_WC_RDMA_READ);
    return clock_type::now() - start;
}

TEST(Rate, OfAConnection) {
    pair ends = connect_pair();
    ASSERT_EQ(limit(ends.client, kbits), 0);
    EXPECT_GT(time_of_transfer(ends), least);
}

TEST(Rate, SetBeforeConnecting) {
    const softrnic::listener listener = must(softrnic::listen(server_address()));
    pair ends;
    ends.client = must(softrnic::resolve(listener.local_address()));
    must(ends.client.create_queues(wide));
    ASSERT_EQ(limit(ends.client, kbits), 0);
    auto connected = std::async(std::launch::async, [&] { return ends.client.connect(); });
    ends.server = accept_next(listener);
    must(connected.get());
    EXPECT_GT(time_of_transfer(ends), least);
}

/// At 8 kbit/s the transfer would take longer than anybody waits.
TEST(Rate, TakenAway) {
    pair ends = connect_pair();
    ASSERT_EQ(limit(ends.client, 8), 0);
    ASSERT_EQ(limit(ends.client, 0), 0);
    time_of_transfer(ends);
}

TEST(Rate, BurstsAreLeftToTcp) {
    const pair ends = connect_pair();
    EXPECT_EQ(limit(ends.client, kbits, 1500), EINVAL);
    EXPECT_EQ(limit(ends.client, kbits, 0, 64), EINVAL);
}

TEST(Rate, TheDeviceSaysThatItCan) {
    ibv_device_attr_ex attr{};
    ASSERT_EQ(ibv_query_device_ex(device().native(), nullptr, &attr), 0);
    EXPECT_NE(attr.packet_pacing_caps.supported_qpts & (1U << IBV_QPT_RC), 0U);
    EXPECT_GE(attr.packet_pacing_caps.qp_rate_limit_max, kbits);
}

}  // namespace
}  // namespace verbs_test
