// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Queue pairs that are brought up by hand, both ends on the device that SRN_RAW_DEVICE names.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "end.hpp"
#include "must.hpp"
#include "port.hpp"
#include "run_tests.hpp"
#include "settings.hpp"

namespace {

using namespace by_hand;
using namespace std::string_literals;

struct Raw : testing::Test {
    device dev;
};

TEST_F(Raw, QueryTellsWhatWasSet) {
    end a(dev, 0x123456), b(dev);
    ASSERT_EQ(a.to_init(), 0);
    ASSERT_EQ(a.to_rtr(b.number(), 0xabcdef), 0);
    EXPECT_EQ(a.query().qp_state, IBV_QPS_RTR);
    ASSERT_EQ(a.to_rts(), 0);
    const ibv_qp_attr attr = a.query();
    EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
    EXPECT_EQ(attr.path_mtu, IBV_MTU_1024);
    EXPECT_EQ(attr.dest_qp_num, b.number());
    EXPECT_EQ(attr.rq_psn, 0xabcdefU);
    EXPECT_EQ(attr.sq_psn, 0x123456U);
    EXPECT_EQ(attr.timeout, 14);
    EXPECT_EQ(attr.retry_cnt, 7);
    EXPECT_EQ(attr.rnr_retry, 7);
    EXPECT_EQ(attr.min_rnr_timer, 12);
    EXPECT_EQ(attr.max_rd_atomic, 4);
    EXPECT_EQ(attr.max_dest_rd_atomic, 4);
    EXPECT_EQ(attr.ah_attr.is_global, 1);
    EXPECT_EQ(attr.ah_attr.grh.hop_limit, 64);
    EXPECT_TRUE(std::ranges::equal(attr.ah_attr.grh.dgid.raw, dev.gid().raw));
}

// A link has one worker for all of them.
TEST_F(Raw, ManyOneAfterTheOther) {
    for (int i = 0; i < 40; i++) {
        end a(dev), b(dev);
        ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
        ASSERT_NO_FATAL_FAILURE(expect_send(a, b));
    }
}

// Whoever asks holds the queue pair's lock for a moment. A peer that comes just then is taken at
// its first attempt all the same.
TEST_F(Raw, PeerComesWhileOthersAsk) {
    constexpr std::size_t others = 3;
    const std::uint64_t dropped = dev.counter("requests_dropped");
    for (int i = 0; i < 20; i++) {
        end a(dev), b(dev);
        // Of the numbers of one link the lower one connects.
        end& comes = a.number() < b.number() ? a : b;
        end& waits = &comes == &a ? b : a;
        for (end* e : {&comes, &waits}) ASSERT_EQ(e->to_init(), 0);
        ASSERT_EQ(waits.to_rtr(comes.number(), comes.psn()), 0);
        ASSERT_EQ(waits.to_rts(), 0);
        std::vector<std::jthread> threads;
        threads.reserve(others);
        for (std::size_t n = 0; n < others; n++)
            threads.emplace_back([&waits](const std::stop_token& over) {
                while (!over.stop_requested()) (void)waits.query();
            });
        ASSERT_EQ(comes.to_rtr(waits.number(), waits.psn()), 0);
        ASSERT_EQ(comes.to_rts(), 0);
        ASSERT_NO_FATAL_FAILURE(expect_send(comes, waits));
    }
    EXPECT_EQ(dev.counter("requests_dropped"), dropped);
}

// Not a test by itself: throttled.sh takes its processor away, so that it stops anywhere, and lets
// others bring up theirs. The peers never come.
TEST_F(Raw, DISABLED_AsksAllTheTime) {
    constexpr std::size_t count = 16;
    std::vector<std::unique_ptr<end>> ends;
    for (std::size_t i = 0; i < count; i++) {
        ends.push_back(std::make_unique<end>(dev));
        ASSERT_EQ(ends.back()->to_init(), 0);
        ASSERT_EQ(ends.back()->to_rtr(ends.back()->number() ^ 0x800000, 7), 0);
        ASSERT_EQ(ends.back()->to_rts(), 0);
    }
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (const auto& e : ends)
        threads.emplace_back([&e] {
            while (e->query().qp_state == IBV_QPS_RTS) {
            }
        });
}

TEST_F(Raw, WhatCannotBeIsRefused) {
    end a(dev);
    EXPECT_EQ(a.to_rts(), EINVAL) << "from RESET";
    EXPECT_EQ(a.to_rtr(5, 7), EINVAL) << "from RESET";
    ASSERT_EQ(a.to_init(), 0);
    EXPECT_EQ(a.to_rts(), EINVAL) << "from INIT";
    const ibv_qp_attr good = a.rtr(5, 7);
    ibv_qp_attr attr = good;
    attr.ah_attr.is_global = 0;
    EXPECT_EQ(a.modify(attr, end::rtr_mask), EINVAL) << "no GRH";
    // The core looks for the GID, and answers as it does for each device.
    for (const auto& [index, answer] :
         std::map<std::uint8_t, int>{{30, ENODATA}, {31, EINVAL}, {32, EINVAL}, {255, EINVAL}}) {
        attr = good;
        attr.ah_attr.grh.sgid_index = index;
        EXPECT_EQ(a.modify(attr, end::rtr_mask), answer) << "sgid_index " << unsigned{index};
    }
    attr = good;
    attr.ah_attr.grh.dgid = {};
    EXPECT_EQ(a.modify(attr, end::rtr_mask), EINVAL) << "no address";
    attr.ah_attr.grh.dgid.raw[0] = 0xfd;
    EXPECT_EQ(a.modify(attr, end::rtr_mask), EINVAL) << "another family";
    attr = good;
    attr.ah_attr.grh.dgid.raw[12] = 224;
    EXPECT_EQ(a.modify(attr, end::rtr_mask), EINVAL) << "multicast";
    for (const int bit : {IBV_QP_AV, IBV_QP_DEST_QPN, IBV_QP_RQ_PSN})
        EXPECT_EQ(a.modify(good, end::rtr_mask & ~bit), EINVAL) << "without " << bit;
    ASSERT_EQ(a.modify(good, end::rtr_mask), 0) << "nothing was left of all that";
    EXPECT_EQ(a.modify(good, end::rtr_mask), EINVAL) << "twice";
    EXPECT_EQ(a.post(IBV_WR_SEND, 1), EINVAL) << "in RTR";
}

TEST_F(Raw, WhereItCannotBeItIsRefused) {
    end a(dev), b(dev);
    for (end* e : {&a, &b}) ASSERT_EQ(e->to_init(), 0);
    {
        const support::kernel_setting off("/sys/class/infiniband/"s + dev.name() + "/raw/port",
                                          "0");
        EXPECT_EQ(a.to_rtr(b.number(), b.psn()), EOPNOTSUPP);
    }
    int elsewhere = 0;
    std::thread([&] {
        if (unshare(CLONE_NEWNET) == 0) elsewhere = a.to_rtr(b.number(), b.psn());
    }).join();
    EXPECT_EQ(elsewhere, EPERM) << "in another network namespace";
    ASSERT_EQ(a.to_rtr(b.number(), b.psn()), 0);
}

/// The address that a GID stands for.
softrnic::address address_of(const ibv_gid& gid) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(AF_INET, &gid.raw[12], text.data(), text.size());
    return support::must(softrnic::address::resolve(text.data(), 0));
}

// A queue pair is rdma_cm's, or it is brought up by hand.
TEST_F(Raw, NotThoseOfRdmaCm) {
    const auto listener = support::must(softrnic::listen(address_of(dev.gid())));
    auto dialled = std::async(std::launch::async,
                              [&] { return softrnic::dial(listener.local_address(), {}); });
    auto server = support::must(listener.next(30s));
    support::must(server.create_queues({}));
    support::must(server.accept());
    const auto client = support::must(dialled.get());
    end other(dev);
    ibv_qp_attr attr = other.rtr(other.number(), other.psn());
    EXPECT_EQ(ibv_modify_qp(client.qp().native(), &attr, end::rtr_mask), EINVAL);
    EXPECT_EQ(ibv_modify_qp(server.qp().native(), &attr, end::rtr_mask), EINVAL);

    // The other way round.
    auto late = support::must(softrnic::resolve(listener.local_address()));
    support::must(late.create_queues({}));
    ASSERT_EQ(ibv_modify_qp(late.qp().native(), &attr, end::rtr_mask), 0);
    const auto refused = late.connect({.timeout = 10s});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EISCONN) << refused.error().message();
}

// A limit of the rate keeps a queue pair from the path inside the host. RESET takes it away.
TEST_F(Raw, RateOfTheFirstStep) {
    const support::kernel_setting within_the_host(
        "/sys/class/infiniband/"s + dev.name() + "/mpa/same_host", "netns");
    const std::uint64_t before = dev.counter("connections_same_host");
    end a(dev), b(dev);
    for (const std::uint32_t limit : {1000000U, 0U}) {
        for (end* e : {&a, &b}) ASSERT_EQ(e->to_init(), 0);
        ibv_qp_attr attr = a.rtr(b.number(), b.psn());
        attr.rate_limit = limit;
        ASSERT_EQ(a.modify(attr, end::rtr_mask | (limit != 0 ? IBV_QP_RATE_LIMIT : 0)), 0);
        ASSERT_EQ(b.to_rtr(a.number(), a.psn()), 0);
        for (end* e : {&a, &b}) ASSERT_EQ(e->to_rts(), 0);
        expect_send(a, b);
        expect_send(b, a);
        // Both ends go there a little later than they agree on it, if they do.
        if (limit != 0) std::this_thread::sleep_for(500ms);
        const std::uint64_t expected = before + (limit != 0 ? 0 : 2);
        for (int i = 0; i < 100 && dev.counter("connections_same_host") != expected; i++)
            std::this_thread::sleep_for(50ms);
        EXPECT_EQ(dev.counter("connections_same_host"), expected);
        for (end* e : {&a, &b}) ASSERT_EQ(e->reset(), 0);
    }
}

TEST_F(Raw, SendsCannotBePaused) {
    end a(dev), b(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
    EXPECT_EQ(a.pause(), EOPNOTSUPP);
    expect_send(a, b);
    EXPECT_EQ(a.query().qp_state, IBV_QPS_RTS);
}

TEST_F(Raw, ConnectedToItself) {
    end a(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a));
    for (int i = 0; i < 100; i++) expect_send(a, a);
    std::fill(a.memory().begin(), a.memory().begin() + end::size / 2, 0);
    std::fill(a.memory().begin() + end::size / 2, a.memory().end(), 0x5a);
    ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 10, &a), 0);
    ASSERT_EQ(a.post(IBV_WR_RDMA_READ, 11, &a), 0);
    const auto read = completion_of(a, 11);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->status, IBV_WC_SUCCESS) << ibv_wc_status_str(read->status);
    EXPECT_EQ(a.memory().front(), 0x5a);
}

TEST_F(Raw, RtrAloneReceivesAndAnswersReads) {
    end a(dev), b(dev);
    for (end* e : {&a, &b}) ASSERT_EQ(e->to_init(), 0);
    ASSERT_EQ(a.to_rtr(b.number(), b.psn()), 0);
    ASSERT_EQ(b.to_rtr(a.number(), a.psn()), 0);
    ASSERT_EQ(b.to_rts(), 0);
    expect_send(b, a);
    a.memory().front() = 0x77;
    ASSERT_EQ(b.post(IBV_WR_RDMA_READ, 3, &a), 0);
    const auto read = completion_of(b, 3);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->status, IBV_WC_SUCCESS) << ibv_wc_status_str(read->status);
    EXPECT_EQ(b.memory()[end::size / 2], 0x77);
    EXPECT_EQ(a.query().qp_state, IBV_QPS_RTR);
}

TEST_F(Raw, ThePeerIsThere) {
    end a(dev), b(dev);
    for (end* e : {&a, &b}) ASSERT_EQ(e->to_init(), 0);
    ASSERT_EQ(a.to_rtr(b.number(), b.psn()), 0);
    EXPECT_EQ(dev.event(0s), std::nullopt);
    ASSERT_EQ(b.to_rtr(a.number(), a.psn()), 0);
    ASSERT_EQ(b.to_rts(), 0);
    EXPECT_EQ(dev.event(30s), IBV_EVENT_COMM_EST);
    ASSERT_EQ(a.to_rts(), 0);
    expect_send(a, b);
}

TEST_F(Raw, SendsWaitForReceives) {
    end a(dev), b(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
    for (const std::uint64_t id : {1U, 2U}) ASSERT_EQ(a.post(IBV_WR_SEND, id), 0);
    EXPECT_FALSE(b.completion(1s));
    for (const std::uint64_t id : {3U, 4U}) {
        ASSERT_EQ(b.post_receive(id), 0);
        const auto received = b.completion();
        ASSERT_TRUE(received);
        EXPECT_EQ(received->wr_id, id);
        EXPECT_EQ(received->status, IBV_WC_SUCCESS) << ibv_wc_status_str(received->status);
    }
}

/// Sends of 1 MiB, all from one place in memory, and receives of the same size.
class large_messages {
public:
    static constexpr std::size_t size = 1 << 20;

    explicit large_messages(const device& dev)
        : memory_(size), region_(ibv_reg_mr(dev.domain(), memory_.data(), size, end::access)) {
        if (!region_) throw std::runtime_error("no memory region");
    }

    int send(const end& from, std::uint64_t id) {
        ibv_sge sge = entry();
        ibv_send_wr wr{}, *bad = nullptr;
        wr.wr_id = id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND;
        return ibv_post_send(from.get(), &wr, &bad);
    }
    int receive(const end& to, std::uint64_t id) {
        ibv_sge sge = entry();
        ibv_recv_wr wr{.wr_id = id, .next = nullptr, .sg_list = &sge, .num_sge = 1}, *bad = nullptr;
        return ibv_post_recv(to.get(), &wr, &bad);
    }

private:
    ibv_sge entry() const {
        return {.addr = reinterpret_cast<std::uintptr_t>(memory_.data()),
                .length = size,
                .lkey = region_->lkey};
    }

    std::vector<unsigned char> memory_;
    owned<ibv_mr, ibv_dereg_mr> region_;
};

// The receiver keeps its window closed, as there is no receive, and is there. That has no limit.
TEST_F(Raw, ManySendsWaitForReceivesForEver) {
    constexpr std::uint64_t count = 24;
    const support::kernel_setting limit("/sys/module/softrnic/parameters/user_timeout", "2");
    large_messages source(dev), target(dev);
    end a(dev, 7, nullptr, count), b(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
    for (std::uint64_t id = 0; id < count; id++) ASSERT_EQ(source.send(a, id), 0);
    // TCP asks ever more seldom while the window is closed, but it is answered each time.
    EXPECT_FALSE(a.completion(20s));
    for (std::uint64_t id = 0; id < count; id++) {
        ASSERT_EQ(target.receive(b, id), 0);
        const auto received = b.completion();
        ASSERT_TRUE(received);
        ASSERT_EQ(received->status, IBV_WC_SUCCESS) << ibv_wc_status_str(received->status);
    }
    for (std::uint64_t id = 0; id < count; id++) {
        ASSERT_NO_FATAL_FAILURE(expect_completion(a, id));
    }
}

// What comes before the Send is complete, what comes behind it is flushed. The receiver is told
// nothing, and receives nothing of it later.
void expect_refused(end& a, end& b) {
    ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
    ASSERT_EQ(b.post_receive(20), 0);
    ASSERT_EQ(a.post(IBV_WR_SEND, 1), 0);
    ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 2, &b), 0);
    ASSERT_EQ(a.post(IBV_WR_SEND, 3), 0);
    ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 4, &b), 0);
    ASSERT_EQ(a.post(IBV_WR_SEND, 5), 0);
    expect_completion(b, 20, IBV_WC_SUCCESS);
    expect_completion(a, 1, IBV_WC_SUCCESS);
    expect_completion(a, 2, IBV_WC_SUCCESS);
    expect_completion(a, 3, IBV_WC_RNR_RETRY_EXC_ERR);
    expect_completion(a, 4, IBV_WC_WR_FLUSH_ERR);
    expect_completion(a, 5, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(a.query().qp_state, IBV_QPS_ERR);
    ASSERT_EQ(b.post_receive(21), 0);
    EXPECT_FALSE(b.completion(1s));
    EXPECT_EQ(b.query().qp_state, IBV_QPS_RTS);
}

// Whose request was refused learns it by the completion only, as with InfiniBand.
TEST_F(Raw, ARefusedWriteRaisesAnEventAtItsTargetOnly) {
    const device target;
    end a(dev), b(target);
    ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
    end elsewhere(dev);
    ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 1, &elsewhere), 0);
    expect_completion(a, 1, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(a.query().qp_state, IBV_QPS_ERR);
    EXPECT_EQ(target.event_but_established(30s), IBV_EVENT_QP_ACCESS_ERR);
    EXPECT_EQ(dev.event_but_established(1s), std::nullopt);
}

TEST_F(Raw, ASendWaitsForItsReceiveAsOftenAsItMay) {
    // 10 us, which is a tenth of a second here; 7 times 491 ms.
    for (const auto& [timer, retry] : {std::pair{1, 0}, std::pair{31, 6}}) {
        SCOPED_TRACE(timer);
        // Either end may be the one that connects.
        for (const bool first : {false, true}) {
            end x(dev), y(dev);
            end &a = first ? x : y, &b = first ? y : x;
            b.rnr_timer = static_cast<std::uint8_t>(timer);
            a.rnr_retry = static_cast<std::uint8_t>(retry);
            const auto start = clock_type::now();
            ASSERT_NO_FATAL_FAILURE(expect_refused(a, b));
            EXPECT_GE(clock_type::now() - start, timer == 31 ? 3440ms : 100ms);
        }
    }
}

// More waits at either end than it keeps, and each has to tell the other one. One of them fails
// with the status that says why; the other one may learn of the end first.
TEST_F(Raw, BothEndsRefuseEachOther) {
    constexpr std::uint32_t depth = 512;
    end a(dev, 7, nullptr, depth), b(dev, 7, nullptr, depth);
    for (end* e : {&a, &b}) {
        e->rnr_timer = 1;
        e->rnr_retry = 0;
    }
    ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
    for (std::uint64_t id = 1; id <= depth; ++id) {
        for (end* e : {&a, &b}) {
            // Whoever is quicker may have ended it.
            if (e->post(IBV_WR_SEND, id) != 0) {
                ASSERT_EQ(e->query().qp_state, IBV_QPS_ERR);
            }
        }
    }
    const auto wc = a.completion();
    const auto other = wc && wc->status == IBV_WC_RNR_RETRY_EXC_ERR ? wc : b.completion();
    ASSERT_TRUE(other);
    EXPECT_EQ(other->status, IBV_WC_RNR_RETRY_EXC_ERR) << ibv_wc_status_str(other->status);
}

// The next receive is for a queue pair that still waits.
TEST_F(Raw, ASendWaitsForASharedReceiveAsOftenAsItMay) {
    const shared_queue queue = make_shared_queue(dev);
    end a(dev), b(dev, 7, queue.get()), c(dev), d(dev, 7, queue.get());
    b.rnr_timer = 1;
    a.rnr_retry = 0;
    ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
    ASSERT_NO_FATAL_FAILURE(bring_up(c, d));
    ASSERT_EQ(a.post(IBV_WR_SEND, 1), 0);
    expect_completion(a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
    ASSERT_EQ(c.post(IBV_WR_SEND, 2), 0);
    EXPECT_FALSE(c.completion(1s));
    ASSERT_EQ(d.post_receive(20), 0);
    expect_completion(d, 20, IBV_WC_SUCCESS);
    expect_completion(c, 2, IBV_WC_SUCCESS);
    EXPECT_FALSE(b.completion(0s));
    EXPECT_EQ(b.query().qp_state, IBV_QPS_RTS);
}

TEST_F(Raw, AReceiveInTimeIsGoodEnough) {
    end a(dev), b(dev);
    b.rnr_timer = 31;
    a.rnr_retry = 6;
    ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
    // The limit is that of each Send, and not of all together.
    for (std::uint64_t id = 1; id <= 5; ++id) {
        ASSERT_EQ(a.post(IBV_WR_SEND, id), 0);
        std::this_thread::sleep_for(1s);
        ASSERT_EQ(b.post_receive(20 + id), 0);
        ASSERT_NO_FATAL_FAILURE(expect_completion(b, 20 + id, IBV_WC_SUCCESS));
        ASSERT_NO_FATAL_FAILURE(expect_completion(a, id, IBV_WC_SUCCESS));
    }
}

// The other end is told of the limit after there is a connection.
TEST_F(Raw, TheLimitOfOneThatGoesToRtsLater) {
    end a(dev), b(dev);
    b.rnr_timer = 1;
    a.rnr_retry = 0;
    for (end* e : {&a, &b}) ASSERT_EQ(e->to_init(), 0);
    ASSERT_EQ(a.to_rtr(b.number(), b.psn()), 0);
    ASSERT_EQ(b.to_rtr(a.number(), a.psn()), 0);
    ASSERT_EQ(b.to_rts(), 0);
    ASSERT_EQ(a.post_receive(10), 0);
    ASSERT_EQ(b.post(IBV_WR_SEND, 20), 0);
    expect_completion(a, 10, IBV_WC_SUCCESS);
    ASSERT_EQ(a.to_rts(), 0);
    ASSERT_EQ(a.post(IBV_WR_SEND, 1), 0);
    expect_completion(a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
    expect_completion(b, 20, IBV_WC_SUCCESS);
}

TEST_F(Raw, ASendToItselfIsRefused) {
    end a(dev);
    a.rnr_retry = 1;
    ASSERT_NO_FATAL_FAILURE(bring_up(a));
    ASSERT_EQ(a.post(IBV_WR_SEND, 1), 0);
    expect_completion(a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
}

// And not before that.
TEST_F(Raw, ASendCompletesWhenItIsReceived) {
    end a(dev), b(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
    ASSERT_EQ(a.post(IBV_WR_SEND, 1), 0);
    EXPECT_FALSE(a.completion(1s));
    ASSERT_EQ(b.post_receive(3), 0);
    const auto sent = completion_of(a, 1);
    ASSERT_TRUE(sent);
    EXPECT_EQ(sent->status, IBV_WC_SUCCESS) << ibv_wc_status_str(sent->status);
}

// The other end has it and is gone before it can be asked.
TEST_F(Raw, ASendThatWasReceivedIsGoodAtTheEnd) {
    for (int round = 0; round < 50; ++round) {
        end a(dev);
        auto b = std::make_unique<end>(dev);
        ASSERT_NO_FATAL_FAILURE(bring_up(a, *b));
        ASSERT_EQ(b->post_receive(3), 0);
        ASSERT_EQ(a.post(IBV_WR_SEND, 1), 0);
        ASSERT_TRUE(b->completion());
        b.reset();
        const auto sent = completion_of(a, 1);
        ASSERT_TRUE(sent);
        ASSERT_EQ(sent->status, IBV_WC_SUCCESS)
            << ibv_wc_status_str(sent->status) << " in round " << round;
    }
}

TEST_F(Raw, ASendToItselfWaitsForItsReceive) {
    end a(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a));
    ASSERT_EQ(a.post(IBV_WR_SEND, 1), 0);
    EXPECT_FALSE(a.completion(1s));
    ASSERT_EQ(a.post_receive(3), 0);
    const auto received = a.completion(), sent = a.completion();
    ASSERT_TRUE(received && sent);
    EXPECT_EQ(received->wr_id + sent->wr_id, 4);
    for (const auto& wc : {received, sent})
        EXPECT_EQ(wc->status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc->status);
}

// All orders of the four steps, many times, with the work posted as soon as it can be.
TEST_F(Raw, AnyOrderOfSteps) {
    const char* rounds = std::getenv("SRN_RAW_ROUNDS");
    std::mt19937 random(20261125);
    for (int round = rounds != nullptr ? std::atoi(rounds) : 100; round > 0; round--) {
        end a(dev, random() & 0xffffff), b(dev, random() & 0xffffff);
        struct step {
            end *self, *peer;
            int done = 0;
        };
        std::array<step, 2> ends{{{&a, &b}, {&b, &a}}};
        for (int left = 6; left > 0;) {
            step& s = ends[random() % 2];
            if (s.done == 3) continue;
            const int ret = s.done == 0   ? s.self->to_init()
                            : s.done == 1 ? s.self->to_rtr(s.peer->number(), s.peer->psn())
                                          : s.self->to_rts();
            ASSERT_EQ(ret, 0) << "step " << s.done;
            s.done++;
            left--;
            if (random() % 4 == 0)
                std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
        }
        expect_send(a, b);
        expect_send(b, a);
        if (HasFatalFailure()) return;
        switch (random() % 4) {
            case 0: ASSERT_EQ(a.fail(), 0); break;
            case 1: ASSERT_EQ(b.fail(), 0); break;
            case 2: ASSERT_EQ(a.reset(), 0); break;
            default: break;
        }
    }
}

// A queue pair that was connected is connected again, to another one.
TEST_F(Raw, ResetForgets) {
    end a(dev), b(dev), c(dev);
    for (end* peer : {&b, &c, &b}) {
        for (end* e : {&a, peer}) {
            ASSERT_EQ(e->reset(), 0);
            discard(*e);
            ASSERT_EQ(e->to_init(), 0);
        }
        ASSERT_EQ(a.to_rtr(peer->number(), peer->psn()), 0);
        ASSERT_EQ(peer->to_rtr(a.number(), a.psn()), 0);
        ASSERT_EQ(peer->to_rts(), 0);
        ASSERT_EQ(a.to_rts(), 0);
        expect_send(a, *peer);
        expect_send(*peer, a);
    }
}

// A queue pair that is reset in the middle of something works again, and tells nothing of before.
class ResetWhile : public Raw {
protected:
    void expect_reset(end& a) {
        ASSERT_EQ(a.reset(), 0);
        discard(a);
        end fresh(dev);
        ASSERT_NO_FATAL_FAILURE(bring_up(a, fresh));
        EXPECT_FALSE(a.completion(1s)) << "of what was posted before";
        expect_send(a, fresh);
        expect_send(fresh, a);
    }
};

TEST_F(ResetWhile, ItWaitsForItsPeer) {
    for (const std::uint32_t peer : {0xffffffU, 1U}) {
        end a(dev);
        ASSERT_EQ(a.to_init(), 0);
        ASSERT_EQ(a.to_rtr(peer, 7), 0);
        ASSERT_EQ(a.to_rts(), 0);
        ASSERT_EQ(a.post_receive(1), 0);
        for (const std::uint64_t id : {2U, 3U}) ASSERT_EQ(a.post(IBV_WR_SEND, id), 0);
        std::this_thread::sleep_for(100ms);
        expect_reset(a);
    }
}

TEST_F(ResetWhile, ItConnectsToNobody) {
    end a(dev);
    ASSERT_EQ(a.to_init(), 0);
    ibv_qp_attr attr = a.rtr(0xffffff, 7);
    // Another host of the same network, higher than this one, which is not there.
    attr.ah_attr.grh.dgid.raw[15] = 0xfe;
    ASSERT_EQ(a.modify(attr, end::rtr_mask), 0);
    ASSERT_EQ(a.to_rts(), 0);
    ASSERT_EQ(a.post(IBV_WR_SEND, 1), 0);
    std::this_thread::sleep_for(100ms);
    expect_reset(a);
}

TEST_F(ResetWhile, ItsPeerIsGone) {
    end a(dev);
    auto b = std::make_unique<end>(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a, *b));
    expect_send(a, *b);
    b.reset();
    ASSERT_EQ(a.post(IBV_WR_SEND, 1), 0);
    std::this_thread::sleep_for(200ms);
    expect_reset(a);
}

TEST_F(ResetWhile, ASendWaitsForItsReceive) {
    end a(dev), b(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
    for (const std::uint64_t id : {1U, 2U}) ASSERT_EQ(a.post(IBV_WR_SEND, id), 0);
    std::this_thread::sleep_for(200ms);
    expect_reset(b);
    expect_reset(a);
}

TEST_F(ResetWhile, DataIsUnderWay) {
    constexpr std::uint64_t count = 16;
    large_messages source(dev), target(dev);
    end a(dev), b(dev);
    for (end* e : {&a, &b}) {
        ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
        for (std::uint64_t id = 0; id < count; id++) ASSERT_EQ(target.receive(b, id), 0);
        for (std::uint64_t id = 0; id < count; id++) ASSERT_EQ(source.send(a, id), 0);
        std::this_thread::sleep_for(20ms);
        expect_reset(*e);
        for (end* both : {&a, &b}) ASSERT_EQ(both->reset(), 0);
        for (end* both : {&a, &b}) discard(*both);
    }
}

// Whoever has the numbers of queue pairs of three processes does not know those of a fourth.
TEST_F(Raw, NumbersOfOthersCannotBeCalculated) {
    constexpr std::uint32_t block = 64, all = 0xffffff;
    const std::array<device, 4> processes;
    std::array<std::uint32_t, 4> numbers{};
    std::transform(processes.begin(), processes.end(), numbers.begin(),
                   [](const device& d) { return end(d).number() & ~(block - 1); });
    const std::uint32_t first = (numbers[1] - numbers[0]) & all;
    EXPECT_FALSE(((numbers[2] - numbers[1]) & all) == first &&
                 ((numbers[3] - numbers[2]) & all) == first);
}

void expect_nobody(end& a) {
    const auto start = clock_type::now();
    ASSERT_EQ(a.post(IBV_WR_SEND, 1), 0);
    ASSERT_EQ(a.post(IBV_WR_SEND, 2), 0);
    const auto first = completion_of(a, 1);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->status, IBV_WC_RETRY_EXC_ERR) << ibv_wc_status_str(first->status);
    EXPECT_GE(clock_type::now() - start, 4s);
    const auto second = completion_of(a, 2);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->status, IBV_WC_WR_FLUSH_ERR) << ibv_wc_status_str(second->status);
    EXPECT_EQ(a.query().qp_state, IBV_QPS_ERR);
}

TEST_F(Raw, PeerThatNeverComes) {
    end lower(dev), higher(dev);
    for (end* e : {&lower, &higher}) {
        ASSERT_EQ(e->to_init(), 0);
        // One number is lower than that of the queue pair, the other one is higher.
        ASSERT_EQ(e->to_rtr(e == &lower ? 0xffffff : 1, 7), 0);
        ASSERT_EQ(e->to_rts(), 0);
        expect_nobody(*e);
    }
}

// Whoever names a queue pair that names another one gets nothing of it.
TEST_F(Raw, TwoThatClaimOne) {
    end a(dev), b(dev), thief(dev);
    for (end* e : {&a, &b, &thief}) ASSERT_EQ(e->to_init(), 0);
    ASSERT_EQ(thief.to_rtr(b.number(), b.psn()), 0);
    ASSERT_EQ(thief.to_rts(), 0);
    ASSERT_EQ(b.to_rtr(a.number(), a.psn()), 0);
    ASSERT_EQ(b.to_rts(), 0);
    ASSERT_EQ(a.to_rtr(b.number(), b.psn()), 0);
    ASSERT_EQ(a.to_rts(), 0);
    expect_send(a, b);
    expect_nobody(thief);
    expect_send(b, a);
}

// Sequence numbers tell a queue pair from one that had its number before.
TEST_F(Raw, AnotherSequenceNumber) {
    end a(dev), b(dev);
    for (end* e : {&a, &b}) ASSERT_EQ(e->to_init(), 0);
    ASSERT_EQ(a.to_rtr(b.number(), b.psn() + 1), 0);
    ASSERT_EQ(b.to_rtr(a.number(), a.psn() + 1), 0);
    for (end* e : {&a, &b}) ASSERT_EQ(e->to_rts(), 0);
    expect_nobody(a);
}

/// What strangers say: nothing, half a request, what is none, a request for rdma_cm, and one that
/// names a queue pair and has the wrong sender.
std::vector<std::string> sayings(const end& waits, const device& dev) {
    const std::string key = "MPA ID Req Frame";
    std::string claim(56, '\0');
    claim.replace(0, 6, "srnQ\x01\x01");
    for (const std::size_t offset : {8U, 24U})
        claim.replace(offset, 16, reinterpret_cast<const char*>(dev.gid().raw), 16);
    for (std::size_t i = 0; i < 4; i++)
        claim[44 + i] = static_cast<char>(waits.number() >> (24 - 8 * i));
    return {""s,
            key.substr(0, 9),
            "GET / HTTP/1.0\r\n\r\n"s,
            key + "\x40\x01\x00\x00"s,
            key + "\x50\x02\x00\x04\x80\x10\x80\x10"s,
            key + "\x50\x02\x00\x3c\x80\x10\x80\x10"s + claim};
}

// The end that connects goes on to try, whatever it is told: half a reply, and then nothing; what
// is none; that of rdma_cm.
TEST_F(Raw, RepliesThatAreNone) {
    const std::string key = "MPA ID Rep Frame";
    impostor there(dev);
    std::vector<std::optional<stranger>> kept;
    end a(dev);
    ASSERT_EQ(a.to_init(), 0);
    // Of the numbers of one link the lower one connects.
    ASSERT_EQ(a.to_rtr(0xffffff, 7), 0);
    for (const std::string& reply : {key.substr(0, 9), "GET / HTTP/1.0\r\n\r\n"s,
                                     key + "\x50\x02\x00\x04\x80\x10\x80\x10"s, ""s}) {
        kept.push_back(there.next(20s));
        ASSERT_TRUE(kept.back()) << reply;
        EXPECT_EQ(kept.back()->hear(80, 10s).size(), 80U);
        kept.back()->say(reply);
    }
}

// Whoever comes to the port for nothing is counted, also if it says nothing, or goes.
TEST_F(Raw, StrangersAreCounted) {
    end waits(dev);
    ASSERT_EQ(waits.to_init(), 0);
    ASSERT_EQ(waits.to_rtr(1, 7), 0);
    const std::uint64_t before = dev.counter("requests_dropped");
    std::vector<std::unique_ptr<stranger>> here;
    for (const std::string& said : sayings(waits, dev)) {
        here.push_back(std::make_unique<stranger>(dev));
        ASSERT_TRUE(here.back()->connected());
        here.back()->say(said);
    }
    ASSERT_TRUE(stranger(dev).connected());
    const std::uint64_t all = before + here.size() + 1;
    const auto limit = std::chrono::steady_clock::now() + 60s;
    while (dev.counter("requests_dropped") < all && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(50ms);
    EXPECT_EQ(dev.counter("requests_dropped"), all);
}

// Whoever opens connections and says nothing displaces its own, and nobody else's. What has said
// nothing for five seconds goes anyway.
TEST_F(Raw, OneSourceLeavesRoomForOthers) {
    end waits(dev);
    ASSERT_EQ(waits.to_init(), 0);
    ASSERT_EQ(waits.to_rtr(1, 7), 0);
    for (unsigned attempt = 0; attempt < 5; attempt++) {
        const auto begun = std::chrono::steady_clock::now();
        const stranger other(dev, "127.0.0.2");
        std::vector<std::unique_ptr<stranger>> crowd;
        for (unsigned i = 0; i < 300; i++) crowd.push_back(std::make_unique<stranger>(dev));
        const bool displaced = crowd.front()->is_closed(10s), stays = other.is_waited_for();
        if (std::chrono::steady_clock::now() - begun > 4s) continue;
        EXPECT_TRUE(displaced);
        EXPECT_TRUE(stays);
        return;
    }
    GTEST_SKIP() << "300 connections took more than 4 s, five times";
}

// Queue pairs find each other, whoever else comes to the port, and the port can be closed and
// opened again while strangers talk to it.
TEST_F(Raw, StrangersAtThePort) {
    std::atomic<bool> over = false;
    end waits(dev);
    ASSERT_EQ(waits.to_init(), 0);
    // Of the numbers of one link the higher one waits, and 1 is nearly always lower.
    ASSERT_EQ(waits.to_rtr(1, 7), 0);
    const std::vector<std::string> said = sayings(waits, dev);
    std::atomic<unsigned> came = 0;
    std::vector<std::thread> crowd;
    for (unsigned seed : {1U, 2U})
        crowd.emplace_back([&, seed] {
            std::mt19937 random(seed);
            std::vector<std::unique_ptr<stranger>> here;
            while (!over) {
                here.push_back(std::make_unique<stranger>(dev));
                if (here.back()->connected()) came++;
                here.back()->say(said[random() % said.size()]);
                here[random() % here.size()]->say("x");
                if (here.size() > 60) here.erase(here.begin(), here.begin() + 30);
            }
        });
    for (std::uint32_t round = 0; round < 60; round++) {
        end a(dev, round), b(dev, round + 1);
        for (end* e : {&a, &b}) EXPECT_EQ(e->to_init(), 0);
        EXPECT_EQ(a.to_rtr(b.number(), b.psn()), 0);
        EXPECT_EQ(b.to_rtr(a.number(), a.psn()), 0);
        for (end* e : {&a, &b}) EXPECT_EQ(e->to_rts(), 0);
        expect_send(a, b);
        // The last one that waits closes the port.
        if (round == 30) {
            EXPECT_EQ(waits.fail(), 0);
        }
        if (HasFailure()) break;
    }
    over = true;
    for (std::thread& t : crowd) t.join();
    EXPECT_GT(came, 100U);
}

TEST_F(Raw, PeerThatGoes) {
    end a(dev);
    auto b = std::make_unique<end>(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a, *b));
    expect_send(a, *b);
    ASSERT_EQ(a.post_receive(9), 0);
    const std::uint32_t number = b->number();
    b.reset();
    EXPECT_FALSE(a.completion(2s)) << "a receive was told of QP " << number;
    EXPECT_EQ(a.query().qp_state, IBV_QPS_RTS);
    ASSERT_EQ(a.post(IBV_WR_SEND, 100), 0);
    auto wc = completion_of(a, 100);
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->status, IBV_WC_RETRY_EXC_ERR) << ibv_wc_status_str(wc->status);
    wc = completion_of(a, 9);
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->status, IBV_WC_WR_FLUSH_ERR) << ibv_wc_status_str(wc->status);
}

// The end that receives is told as well when the other one cannot send the rest of a message. The
// two entries meet within a segment.
void expect_end_without_memory(const device& dev) {
    end a(dev), b(dev);
    ASSERT_NO_FATAL_FAILURE(bring_up(a, b));
    expect_send(a, b);
    constexpr std::size_t first = (std::size_t{48} << 20) + 4096, second = std::size_t{64} << 10;
    std::vector<unsigned char> source(first + second), target(first + second);
    const auto region = [&](unsigned char* at, std::size_t size) {
        return owned<ibv_mr, ibv_dereg_mr>(ibv_reg_mr(dev.domain(), at, size, end::access));
    };
    const auto head = region(source.data(), first), all = region(target.data(), target.size());
    auto tail = region(source.data() + first, second);
    ASSERT_TRUE(head && tail && all);
    const auto entry = [](const ibv_mr& mr) {
        return ibv_sge{.addr = reinterpret_cast<std::uintptr_t>(mr.addr),
                       .length = static_cast<std::uint32_t>(mr.length),
                       .lkey = mr.lkey};
    };
    std::array<ibv_sge, 2> entries{entry(*head), entry(*tail)};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id = 3;
    wr.sg_list = entries.data();
    wr.num_sge = entries.size();
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(target.data());
    wr.wr.rdma.rkey = all->rkey;
    ASSERT_EQ(b.post_receive(5), 0);
    ASSERT_EQ(ibv_post_send(a.get(), &wr, &bad), 0);
    tail.reset();
    const auto sent = completion_of(a, 3), received = completion_of(b, 5);
    ASSERT_TRUE(sent && received);
    EXPECT_NE(sent->status, IBV_WC_SUCCESS);
    EXPECT_EQ(received->status, IBV_WC_WR_FLUSH_ERR) << ibv_wc_status_str(received->status);
}

TEST_F(Raw, MemoryThatGoesWhileItIsSent) {
    expect_end_without_memory(dev);
}

TEST_F(Raw, MemoryThatGoesWhileItIsCopied) {
    const support::kernel_setting within_the_host(
        "/sys/class/infiniband/"s + dev.name() + "/mpa/same_host", "netns");
    const std::uint64_t before = dev.counter("connections_same_host");
    expect_end_without_memory(dev);
    EXPECT_EQ(dev.counter("connections_same_host"), before + 2);
}

// For the script, which ends the process or deletes the link meanwhile.
TEST_F(Raw, DISABLED_InEachState) {
    std::vector<std::unique_ptr<end>> ends;
    for (std::uint32_t i = 0; i < 60; i++) {
        ends.push_back(std::make_unique<end>(dev, i));
        end& e = *ends.back();
        ASSERT_EQ(e.to_init(), 0);
        if (i % 6 == 0) continue;
        if (i % 6 == 5) {
            end& peer = *ends[i - 5];
            ASSERT_EQ(e.to_rtr(peer.number(), peer.psn()), 0);
            ASSERT_EQ(peer.to_rtr(e.number(), e.psn()), 0);
            ASSERT_EQ(peer.to_rts(), 0);
            ASSERT_EQ(e.to_rts(), 0);
            expect_send(e, peer);
            continue;
        }
        ASSERT_EQ(e.to_rtr(i % 2 ? 1 : 0xffffff, 7), 0);
        if (i % 6 < 3) continue;
        ASSERT_EQ(e.to_rts(), 0);
        ASSERT_EQ(e.post(IBV_WR_SEND, 1), 0);
    }
    std::puts("ready");
    std::fflush(stdout);
    std::this_thread::sleep_for(100s);
}

}  // namespace

int main(int argc, char** argv) {
    return support::run_tests(argc, argv);
}
