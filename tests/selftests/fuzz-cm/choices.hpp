// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// Random choices that a seed repeats. Each step of an actor has choices of its own: how many of
/// them it needs, which depends on what the kernel answers, does not change those of the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace fuzz_cm {

class choices {
public:
    choices(std::uint64_t seed, std::uint64_t actor, std::uint64_t step) {
        std::seed_seq all{seed, seed >> 32, actor, step, step >> 32};
        source_.seed(all);
    }

    std::uint64_t any() { return source_(); }
    std::size_t below(std::size_t limit) { return any() % limit; }
    bool one_in(std::size_t n) { return below(n) == 0; }
    template <class Range>
    const auto& of(const Range& range) {
        return range[below(std::size(range))];
    }
    std::vector<std::uint8_t> bytes(std::size_t count) {
        std::vector<std::uint8_t> made(count);
        for (auto& b : made) b = static_cast<std::uint8_t>(any());
        return made;
    }

private:
    std::mt19937 source_;
};

}  // namespace fuzz_cm
