// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Asynchronous events that somebody else takes, or the kernel, while a thread is about to read
// them.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <thread>

#include "fixture.hpp"

namespace verbs_test {
namespace {

/// While it lives, threads that are about to read an event stop there, until it lets them go.
class readers_stop {
public:
    readers_stop() { closed = true; }
    ~readers_stop() { let_go(); }
    readers_stop(const readers_stop&) = delete;
    readers_stop& operator=(const readers_stop&) = delete;

    static void let_go() {
        closed = false;
        closed.notify_all();
    }

    /// Does a thread stop there in time?
    [[nodiscard]] static bool one_is_there() {
        const softrnic::deadline until(patience);
        while (stopped == 0 && !until.expired()) std::this_thread::sleep_for(1ms);
        return stopped != 0;
    }

    /// Called by each thread that is about to read.
    static void pass() {
        ++stopped;
        closed.wait(true);
        --stopped;
    }

private:
    static inline std::atomic<bool> closed{false};
    static inline std::atomic<int> stopped{0};
};

}  // namespace
}  // namespace verbs_test

// NOLINTNEXTLINE(readability-identifier-naming): it takes the place of libibverbs' function
extern "C" int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
    static auto* const original =
        reinterpret_cast<decltype(&ibv_get_async_event)>(::dlsym(RTLD_NEXT, "ibv_get_async_event"));
    verbs_test::readers_stop::pass();
    return original(context, event);
}

namespace verbs_test {
namespace {

void make_event() {
    const pair ends = connect_pair();
    // Nobody has posted a receive for it.
    must(ends.client.qp().send(softrnic::no_slices));
    std::this_thread::sleep_for(moment);
}

/// All are woken for one event. Who comes too late to get it still has a deadline.
TEST(AsyncEvent, ThreadsWaitForOne) {
    const stranger_to_itself with_anybody_else;
    for (int round = 0; round < 10; ++round) {
        pair ends = connect_pair();
        std::array<std::future<bool>, 6> waiting;
        for (auto& one : waiting)
            one = std::async(std::launch::async,
                             [] { return static_cast<bool>(device().wait_async_event(500ms)); });
        std::this_thread::sleep_for(50ms);
        // Nobody has posted a receive for it.
        must(ends.client.qp().send(softrnic::no_slices));
        const bool all_back = std::ranges::all_of(
            waiting, [](auto& w) { return w.wait_for(patience) == std::future_status::ready; });
        // Each event that comes now sets one free.
        for (std::size_t i = 0; !all_back && i < waiting.size(); ++i) make_event();
        ASSERT_TRUE(all_back) << "in round " << round;
        // It may have come when all had given up.
        if (std::ranges::count_if(waiting, [](auto& w) { return w.get(); }) == 0) {
            EXPECT_TRUE(works(device().wait_async_event(patience)));
        }
    }
}

/// An event goes with the queue pair that it is about. Who was about to read it has a deadline.
TEST(AsyncEvent, GoesWithItsQueuePair) {
    const stranger_to_itself with_anybody_else;
    while (device().wait_async_event(0s)) {
    }
    pair ends = connect_pair();
    std::future<softrnic::result<ibv_async_event>> waiting;
    const readers_stop here;
    waiting = std::async(std::launch::async, [] { return device().wait_async_event(5s); });
    must(ends.client.qp().send(softrnic::no_slices));
    ASSERT_TRUE(readers_stop::one_is_there());
    ends = {};
    readers_stop::let_go();
    const bool back = waiting.wait_for(patience) == std::future_status::ready;
    if (!back) make_event();
    ASSERT_TRUE(back) << "it waits for an event that is gone";
    EXPECT_TRUE(fails_with(waiting.get(), ETIMEDOUT));
}

}  // namespace
}  // namespace verbs_test
