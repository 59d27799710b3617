// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// One connection that takes all it can get leaves the others their share.
#include <atomic>
#include <thread>

#include "data.hpp"
#include "fixture.hpp"

namespace verbs_test {
namespace {

using softrnic::access;

/// Keeps large Writes outstanding until it is told to stop.
class greedy {
public:
    greedy() : thread_([this](const std::stop_token& stop) { run(stop); }) {}
    [[nodiscard]] std::uint64_t written() const { return written_; }

private:
    static constexpr std::uint32_t size = 1 << 20;
    static constexpr std::uint64_t depth = 16;

    void run(const std::stop_token& stop) {
        std::uint64_t posted = 0;
        for (; posted < depth; ++posted) post(posted);
        for (; !stop.stop_requested(); ++posted) {
            finish_one();
            post(posted);
        }
        while (written_ < posted) finish_one();
    }
    void post(std::uint64_t id) {
        must(ends_.client.qp().write(from_.sub(0, size), to_.remote(), {.id = id}));
    }
    void finish_one() {
        const ibv_wc wc = next(ends_.client.send_cq());
        if (wc.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(wc.status));
        ++written_;
    }

    pair ends_ = connect_pair();
    softrnic::buffer from_ =
        must(softrnic::buffer::create(ends_.client.domain(), size, access::none));
    softrnic::buffer to_ = must(softrnic::buffer::create(
        ends_.server.domain(), size, access::local_write | access::remote_write));
    std::atomic<std::uint64_t> written_ = 0;
    std::jthread thread_;  // last: it uses the rest
};

/// There and back.
void exchange(pair& ends, std::uint64_t id) {
    must(ends.server.qp().recv(softrnic::no_slices, id));
    must(ends.client.qp().recv(softrnic::no_slices, id));
    must(ends.client.qp().send(softrnic::no_slices, {.id = id}));
    expect_good(next(ends.client.send_cq()), id, IBV_WC_SEND);
    expect_good(next(ends.server.recv_cq()), id, IBV_WC_RECV);
    must(ends.server.qp().send(softrnic::no_slices, {.id = id}));
    expect_good(next(ends.server.send_cq()), id, IBV_WC_SEND);
    expect_good(next(ends.client.recv_cq()), id, IBV_WC_RECV);
}

/// Each answer comes in the time that a test waits for one, round after round, and the greedy one
/// gets on as well.
TEST(Fairness, OneGreedyAndManyQuietQueuePairs) {
    constexpr std::size_t quiet_pairs = 16;
    constexpr std::uint64_t rounds = 20;
    std::vector<pair> quiet;
    quiet.reserve(quiet_pairs);
    for (std::size_t i = 0; i < quiet_pairs; ++i) quiet.push_back(connect_pair());
    const greedy other;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::uint64_t before = other.written();
        for (pair& ends : quiet) exchange(ends, round);
        const softrnic::deadline until(patience);
        while (other.written() == before && !until.expired()) std::this_thread::yield();
        ASSERT_GT(other.written(), before) << "the greedy one stands still";
    }
}

}  // namespace
}  // namespace verbs_test
