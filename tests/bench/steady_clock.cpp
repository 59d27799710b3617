// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// For LD_PRELOAD. perftest reads the processor's cycle counter and finds out its rate by a
// regression over gettimeofday(); where others use the processor, that fails now and then and it
// prints zeros. Here gettimeofday() is the cycle counter itself, at a rate that was measured
// carefully.
#include <sys/time.h>
#include <x86intrin.h>

#include <ctime>

#include <cstdint>
#include <limits>

namespace {

struct instant {
    std::uint64_t cycles;
    std::int64_t nanoseconds;
};

/// Of several readings the one that took the fewest cycles: nobody came in between.
instant read_both() {
    constexpr int tries = 50;
    instant best{};
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (int i = 0; i < tries; ++i) {
        timespec now{};
        const std::uint64_t before = __rdtsc();
        clock_gettime(CLOCK_MONOTONIC, &now);
        const std::uint64_t after = __rdtsc();
        if (after - before >= least) continue;
        least = after - before;
        best = {.cycles = before + least / 2,
                .nanoseconds = now.tv_sec * 1'000'000'000LL + now.tv_nsec};
    }
    return best;
}

class counter_clock {
public:
    counter_clock() : start_(read_both()) {
        constexpr timespec interval{.tv_sec = 0, .tv_nsec = 50'000'000};
        nanosleep(&interval, nullptr);
        const instant end = read_both();
        rate_ = static_cast<double>(end.cycles - start_.cycles) /
                static_cast<double>(end.nanoseconds - start_.nanoseconds);
    }

    std::int64_t microseconds() const {
        return (start_.nanoseconds +
                static_cast<std::int64_t>(static_cast<double>(__rdtsc() - start_.cycles) / rate_)) /
               1000;
    }

private:
    instant start_;
    double rate_;
};

/// Made when the library is loaded: the time that takes must not be in a measurement.
const counter_clock steady;

}  // namespace

extern "C" int gettimeofday(timeval* now, void* /*zone*/) noexcept {
    const std::int64_t microseconds = steady.microseconds();
    now->tv_sec = microseconds / 1'000'000;
    now->tv_usec = microseconds % 1'000'000;
    return 0;
}
