// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// One of several processes that add up arrays by gloo, over its transport for verbs. They meet in a
// folder, and each compares the sums. Exit status 77 if there was no gloo to build it with.
#if __has_include(<gloo/transport/ibverbs/device.h>)
#include <gloo/allreduce_ring.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "die.hpp"

namespace {

using support::die;

constexpr int rounds = 20;
constexpr std::array<std::size_t, 3> lengths{1, 1000, 100000};

using ring_sum = gloo::AllreduceRing<long>;

void add_up(const std::shared_ptr<gloo::Context>& ring, std::vector<long>& numbers, ring_sum& sum) {
    const std::size_t count = numbers.size();
    for (int round = 0; round < rounds; round++) {
        for (std::size_t i = 0; i < count; i++)
            numbers[i] = (ring->rank + 1) * static_cast<long>(i + 1) + round;
        sum.run();
        const long ranks = ring->size * (ring->size + 1L) / 2;
        for (std::size_t i = 0; i < count; i++)
            if (numbers[i] != ranks * static_cast<long>(i + 1) + long{ring->size} * round)
                die("a sum is wrong");
    }
}

/// Returns when all have come here.
void meet(gloo::rendezvous::FileStore& folder, const gloo::Context& ring) {
    const auto name = [](int rank) { return "end of " + std::to_string(rank); };
    folder.set(name(ring.rank), {'x'});
    std::vector<std::string> all;
    all.reserve(static_cast<std::size_t>(ring.size));
    for (int rank = 0; rank < ring.size; rank++) all.push_back(name(rank));
    folder.wait(all, std::chrono::seconds(30));
}

}  // namespace

int main(int argc, char** argv) {
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    if (argc != 5) die("usage: gloo_ring DEVICE RANK SIZE FOLDER");
    const int rank = std::atoi(arguments[2]), size = std::atoi(arguments[3]);
    std::list<std::vector<long>> numbers;
    for (const std::size_t length : lengths) numbers.emplace_back(length);
    std::list<ring_sum> sums;
    try {
        auto device = gloo::transport::ibverbs::CreateDevice({arguments[1], 1, 0});
        gloo::rendezvous::FileStore folder(arguments[4]);
        const auto ring = std::make_shared<gloo::rendezvous::Context>(rank, size);
        ring->connectFullMesh(folder, device);
        for (std::vector<long>& n : numbers) {
            sums.emplace_back(ring, std::vector<long*>{n.data()}, static_cast<int>(n.size()));
            add_up(ring, n, sums.back());
        }
        meet(folder, *ring);
        std::puts("all sums are right");
        std::fflush(stdout);
        // Nothing is destroyed: gloo does not wait for the end of its last Write before it destroys
        // a buffer, and ends the process then.
        std::_Exit(0);
    } catch (const std::exception& e) {
        die(e.what());
    }
}

#else

int main() {
    return 77;
}

#endif
