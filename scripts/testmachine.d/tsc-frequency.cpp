// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
//
// Print the frequency of this host's time stamp counter in kHz, measured against its clock over
// a tenth of a second.

#include <x86intrin.h>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

/// The counter and the clock at one moment.
struct Moment {
    std::uint64_t ticks;
    Clock::time_point time;
};

/// Of many readings the one that took the least time: this process was not interrupted in it.
Moment now() {
    Moment best{};
    auto least = std::numeric_limits<std::uint64_t>::max();
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t before = __rdtsc();
        const auto time = Clock::now();
        const std::uint64_t duration = __rdtsc() - before;
        if (duration < least) {
            least = duration;
            best = {before + duration / 2, time};
        }
    }
    return best;
}

}  // namespace

int main() {
    const Moment start = now();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const Moment end = now();
    const std::chrono::duration<double, std::milli> passed = end.time - start.time;
    std::cout << static_cast<std::uint64_t>(static_cast<double>(end.ticks - start.ticks) /
                                            passed.count())
              << '\n';
}
