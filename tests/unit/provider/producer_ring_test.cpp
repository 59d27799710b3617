// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "ring/producer_ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <semaphore>
#include <thread>
#include <vector>

namespace softrnic::provider {
namespace {

constexpr std::uint32_t depth = 8;
constexpr std::uint32_t stride = 64;

struct shared_ring {
    alignas(64) std::uint32_t prod = 0;
    alignas(64) std::uint32_t cons = 0;
    std::uint32_t kick = 0;
    std::uint32_t taken = 0;
    std::uint32_t silent = 0;
    std::uint32_t polled = 0;
    alignas(64) std::byte slots[depth * stride] = {};

    producer_ring producer(std::uint32_t limit) {
        return producer_ring(
            {&prod, &cons, &kick, &taken, nullptr, nullptr, slots, depth, stride, limit});
    }
    /// Of a kernel that counts what has no completion.
    producer_ring counted_producer(std::uint32_t limit) {
        return producer_ring(
            {&prod, &cons, &kick, &taken, &silent, &polled, slots, depth, stride, limit});
    }
};

TEST(ProducerRing, WithoutARingIsFull) {
    producer_ring ring;
    EXPECT_TRUE(ring.full());
}

TEST(ProducerRing, FillsToTheGrantedLimitNotToTheDepth) {
    shared_ring shared;
    producer_ring ring = shared.producer(5);
    for (int i = 0; i < 5; ++i) {
        ASSERT_FALSE(ring.full());
        ring.push();
    }
    EXPECT_TRUE(ring.full());
    EXPECT_EQ(ring.publish(), SRN_KICK_NOT);
    EXPECT_EQ(shared.prod, 5U);
    shared.cons = 1;
    EXPECT_FALSE(ring.full());
}

TEST(ProducerRing, WhatIsNotPolledHoldsItsPlace) {
    shared_ring shared;
    producer_ring ring = shared.counted_producer(3);
    for (int i = 0; i < 3; ++i) ring.push();
    shared.cons = 3;
    EXPECT_TRUE(ring.full());
    shared.polled = 1;
    EXPECT_FALSE(ring.full());
    ring.push();
    EXPECT_TRUE(ring.full());
    shared.silent = 1;
    EXPECT_FALSE(ring.full());
}

TEST(ProducerRing, ShowsNothingBeforePublish) {
    shared_ring shared;
    producer_ring ring = shared.producer(depth);
    ring.push();
    ring.push();
    EXPECT_EQ(shared.prod, 0U);
    (void)ring.publish();
    EXPECT_EQ(shared.prod, 2U);
}

TEST(ProducerRing, SlotsGoRound) {
    shared_ring shared;
    producer_ring ring = shared.producer(depth);
    for (std::uint32_t i = 0; i < 3 * depth; ++i) {
        EXPECT_EQ(ring.slot(), shared.slots + (i % depth) * stride);
        ring.push();
        (void)ring.publish();
        shared.cons = i + 1;
        ASSERT_FALSE(ring.full());
    }
}

TEST(ProducerRing, AsksForADoorbellOnlyIfTheKernelWantsOne) {
    shared_ring shared;
    producer_ring ring = shared.producer(depth);
    ring.push();
    EXPECT_EQ(ring.publish(), SRN_KICK_NOT);
    shared.kick = SRN_KICK_NOW;
    ring.push();
    EXPECT_EQ(ring.publish(), SRN_KICK_NOW);
    shared.kick = SRN_KICK_LAZY;
    ring.push();
    EXPECT_EQ(ring.publish(), SRN_KICK_LAZY);
    shared.kick = 77;  // of a later kernel
    ring.push();
    EXPECT_EQ(ring.publish(), SRN_KICK_NOW);
}

TEST(ProducerRing, CountsWhatALazyKernelHasNotSeen) {
    shared_ring shared;
    producer_ring ring = shared.producer(depth);
    for (int i = 0; i < 3; ++i) ring.push();
    (void)ring.publish();
    EXPECT_EQ(ring.unseen(), 0U);
    shared.kick = SRN_KICK_LAZY;
    EXPECT_EQ(ring.unseen(), 3U);
    shared.taken = 1;
    EXPECT_EQ(ring.unseen(), 2U);
}

TEST(ProducerRing, ImplausibleConsumerIndexMeansFull) {
    shared_ring shared;
    producer_ring ring = shared.producer(depth);
    for (std::uint32_t i = 0; i < depth; ++i) ring.push();
    shared.cons = 1000;  // ahead of the producer
    EXPECT_TRUE(ring.full());
}

// The kernel as the ABI describes it: drains, asks for a kick, looks again, sleeps.
class kernel_thread {
public:
    kernel_thread(shared_ring& shared, std::uint32_t total)
        : shared_(shared), total_(total), thread_([this] { run(); }) {}
    ~kernel_thread() { thread_.join(); }

    void doorbell() {
        ++doorbells_;
        bell_.release();
    }
    [[nodiscard]] std::uint32_t doorbells() const { return doorbells_; }
    [[nodiscard]] bool in_order() const { return in_order_; }

private:
    void run() {
        std::uint32_t cons = 0;
        while (cons < total_) {
            store_relaxed(&shared_.kick, 0);
            while (load_acquire(&shared_.prod) != cons) {
                std::uint32_t value = 0;
                std::memcpy(&value, shared_.slots + (cons & (depth - 1)) * stride, sizeof(value));
                if (value != cons) in_order_ = false;
                store_release(&shared_.cons, ++cons);
            }
            store_relaxed(&shared_.kick, 1);
            full_fence();
            if (load_relaxed(&shared_.prod) != cons || cons >= total_) continue;
            bell_.acquire();
        }
    }

    shared_ring& shared_;
    std::uint32_t total_;
    std::counting_semaphore<> bell_{0};
    std::atomic<std::uint32_t> doorbells_ = 0;
    std::atomic<bool> in_order_ = true;
    std::thread thread_;
};

TEST(ProducerRing, LosesNoEntryAndNoDoorbellAgainstAThread) {
    constexpr std::uint32_t total = 200000;
    shared_ring shared;
    producer_ring ring = shared.producer(depth);
    std::uint32_t doorbells = 0;
    bool in_order = false;
    {
        kernel_thread kernel(shared, total);
        for (std::uint32_t i = 0; i < total; ++i) {
            while (ring.full()) std::this_thread::yield();
            std::memcpy(ring.slot(), &i, sizeof(i));
            ring.push();
            if (ring.publish() != SRN_KICK_NOT) kernel.doorbell();
        }
        while (load_acquire(&shared.cons) != total) std::this_thread::yield();
        doorbells = kernel.doorbells();
        in_order = kernel.in_order();
    }
    EXPECT_TRUE(in_order);
    EXPECT_LE(doorbells, total);
}

}  // namespace
}  // namespace softrnic::provider
