// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "ring/completion_ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

namespace softrnic::provider {
namespace {

constexpr std::uint32_t depth = 8;

/// The kernel's end.
struct shared_queue {
    srn_cq_ctrl control{};
    srn_cqe cqes[depth] = {};
    std::uint32_t prod = 0;

    completion_ring consumer() {
        return {&control, reinterpret_cast<std::byte*>(cqes), depth, sizeof(srn_cqe)};
    }

    [[nodiscard]] bool full() { return prod - load_acquire(&control.cons) == depth; }

    void produce(std::uint64_t wr_id, std::uint32_t qp_num = 1) {
        cqes[prod & (depth - 1)].wr_id = wr_id;
        cqes[prod & (depth - 1)].qp_num = qp_num;
        store_release(&control.prod, ++prod);
    }

    /// Whether an event is due.
    bool notify(bool solicited) {
        full_fence();
        const std::atomic_ref arm(control.arm);
        const std::uint32_t armed = arm.load(std::memory_order_relaxed);
        if (armed == SRN_CQ_ARM_NONE || (armed == SRN_CQ_ARM_SOLICITED && !solicited)) return false;
        return arm.exchange(SRN_CQ_ARM_NONE) != SRN_CQ_ARM_NONE;
    }
};

std::vector<std::uint64_t> poll_all(completion_ring& ring, int count, int expected) {
    std::vector<std::uint64_t> ids;
    EXPECT_EQ(ring.poll(count, [&](const srn_cqe& cqe) { ids.push_back(cqe.wr_id); }), expected);
    return ids;
}

TEST(CompletionRing, EmptyGivesNothing) {
    shared_queue shared;
    completion_ring ring = shared.consumer();
    EXPECT_TRUE(poll_all(ring, 4, 0).empty());
}

TEST(CompletionRing, GivesUpToTheCountInOrderAndReturnsSlots) {
    shared_queue shared;
    completion_ring ring = shared.consumer();
    for (std::uint64_t i = 0; i < depth; ++i) shared.produce(i);
    EXPECT_EQ(poll_all(ring, 3, 3), (std::vector<std::uint64_t>{0, 1, 2}));
    EXPECT_EQ(shared.control.cons, 3U);
    shared.produce(8);
    EXPECT_EQ(poll_all(ring, 16, 6), (std::vector<std::uint64_t>{3, 4, 5, 6, 7, 8}));
    EXPECT_TRUE(shared.control.cons == shared.prod);
}

TEST(CompletionRing, AnOverflowIsSeenAfterWhatCameInTime) {
    shared_queue shared;
    completion_ring ring = shared.consumer();
    shared.produce(7);
    shared.control.error = 1;
    EXPECT_EQ(poll_all(ring, 4, 1), std::vector<std::uint64_t>{7});
    poll_all(ring, 4, -1);
    poll_all(ring, 4, -1);
}

TEST(CompletionRing, ImplausibleIndexIsAnErrorNotAnAccess) {
    shared_queue shared;
    completion_ring ring = shared.consumer();
    shared.control.prod = depth + 1;
    poll_all(ring, 100, -1);
    shared.control.prod = 0xffffffff;
    poll_all(ring, 100, -1);
    shared.control.prod = 0;
    poll_all(ring, 100, 0);
}

void purge_of(completion_ring& ring, std::uint32_t qp_num) {
    ring.purge([=](const srn_cqe& cqe) { return cqe.qp_num == qp_num; });
}

TEST(CompletionRing, PurgingLeavesTheOthersInOrder) {
    shared_queue shared;
    completion_ring ring = shared.consumer();
    // Some are polled before, so that the rest goes round the end of the ring.
    for (std::uint64_t i = 0; i < 5; ++i) shared.produce(100);
    poll_all(ring, 5, 5);
    for (const std::uint32_t qp_num : {1U, 2U, 2U, 1U, 2U, 1U, 1U, 2U})
        shared.produce(shared.prod, qp_num);
    ASSERT_TRUE(shared.full());
    purge_of(ring, 2);
    EXPECT_EQ(shared.control.cons, 9U);
    EXPECT_EQ(poll_all(ring, 8, 4), (std::vector<std::uint64_t>{5, 8, 10, 11}));
    EXPECT_TRUE(poll_all(ring, 8, 0).empty());
}

// What this side does not know of an entry moves with it.
TEST(CompletionRing, PurgingMovesWholeEntries) {
    struct larger_cqe {
        srn_cqe known;
        std::uint64_t unknown;
    };
    srn_cq_ctrl control{};
    larger_cqe cqes[depth] = {};
    completion_ring ring(&control, reinterpret_cast<std::byte*>(cqes), depth, sizeof(larger_cqe));
    for (std::uint32_t i = 0; i < 4; ++i) {
        cqes[i].known.qp_num = i % 2;
        cqes[i].unknown = i;
    }
    store_release(&control.prod, 4U);
    purge_of(ring, 1);
    EXPECT_EQ(cqes[2].unknown, 0U);
    EXPECT_EQ(cqes[3].unknown, 2U);
}

TEST(CompletionRing, PurgingMoreThanWasLookedAtLeavesAnEmptyQueue) {
    shared_queue shared;
    completion_ring ring = shared.consumer();
    shared.produce(0);
    shared.produce(1);
    poll_all(ring, 1, 1);
    for (std::uint64_t i = 2; i < 6; ++i) shared.produce(i);
    purge_of(ring, 1);
    EXPECT_EQ(shared.control.cons, shared.prod);
    EXPECT_TRUE(poll_all(ring, 8, 0).empty());
    shared.produce(6);
    EXPECT_EQ(poll_all(ring, 8, 1), std::vector<std::uint64_t>{6});
}

TEST(CompletionRing, PurgingAnImplausibleQueueTouchesNothing) {
    shared_queue shared;
    completion_ring ring = shared.consumer();
    shared.control.prod = depth + 1;
    purge_of(ring, 0);
    EXPECT_EQ(shared.control.cons, 0U);
}

// Queue pairs come, complete something and go, while another one goes on and somebody polls.
TEST(CompletionRing, PurgingLosesNothingOfOthersAgainstThreads) {
    constexpr std::uint64_t total = 20000;
    constexpr std::uint32_t lasting = 1;
    shared_queue shared;
    completion_ring ring = shared.consumer();
    std::mutex ring_lock;
    std::mutex kernel_lock;     // a queue pair is gone only when its last completion is there
    std::uint32_t passing = 2;  // the number of the one that goes next; kernel_lock
    std::uint32_t purged = 0;   // the last one that went; ring_lock
    std::atomic<bool> over = false;

    std::thread kernel([&] {
        for (std::uint64_t i = 0; i < total;) {
            const std::lock_guard guard(kernel_lock);
            if (shared.full()) continue;
            shared.produce(i, i % 2 == 0 ? lasting : passing);
            ++i;
        }
        over = true;
    });
    std::thread destroyer([&] {
        while (!over) {
            std::uint32_t gone = 0;
            {
                const std::lock_guard guard(kernel_lock);
                gone = passing++;
            }
            const std::lock_guard guard(ring_lock);
            purge_of(ring, gone);
            purged = gone;
        }
    });
    std::uint64_t next = 0;
    std::uint64_t wrong = 0;
    while (next < total) {
        const std::lock_guard guard(ring_lock);
        ring.poll(3, [&](const srn_cqe& cqe) {
            if (cqe.qp_num == lasting) {
                wrong += cqe.wr_id != next ? 1 : 0;
                next += 2;
            } else {
                wrong += cqe.qp_num <= purged ? 1 : 0;
            }
        });
    }
    kernel.join();
    destroyer.join();
    EXPECT_EQ(wrong, 0U);
}

TEST(CompletionRing, SolicitedDoesNotWeakenAny) {
    shared_queue shared;
    completion_ring ring = shared.consumer();
    ring.arm(true);
    EXPECT_EQ(shared.control.arm, std::uint32_t{SRN_CQ_ARM_SOLICITED});
    ring.arm(false);
    EXPECT_EQ(shared.control.arm, std::uint32_t{SRN_CQ_ARM_ANY});
    ring.arm(true);
    EXPECT_EQ(shared.control.arm, std::uint32_t{SRN_CQ_ARM_ANY});
    EXPECT_TRUE(shared.notify(false));
    ring.arm(true);
    EXPECT_FALSE(shared.notify(false));
    EXPECT_TRUE(shared.notify(true));
    EXPECT_FALSE(shared.notify(true));
}

// Arm, poll until empty, sleep: as verbs programs do. A lost event would be a hang.
TEST(CompletionRing, LosesNoEventAgainstAThread) {
    constexpr std::uint64_t total = 100000;
    shared_queue shared;
    completion_ring ring = shared.consumer();
    std::counting_semaphore<> events{0};

    std::thread kernel([&] {
        for (std::uint64_t i = 0; i < total; ++i) {
            while (shared.full()) std::this_thread::yield();
            shared.produce(i);
            if (shared.notify(false)) events.release();
        }
    });
    std::uint64_t next = 0;
    bool in_order = true;
    const auto drain = [&] {
        while (ring.poll(3, [&](const srn_cqe& cqe) { in_order &= cqe.wr_id == next++; }) > 0) {
        }
    };
    ring.arm(false);
    drain();
    while (next < total) {
        events.acquire();
        ring.arm(false);
        drain();
    }
    kernel.join();
    EXPECT_TRUE(in_order);
    EXPECT_EQ(next, total);
}

}  // namespace
}  // namespace softrnic::provider
