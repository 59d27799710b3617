// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "fixture.hpp"

#include <array>
#include <cstdlib>
#include <future>

namespace verbs_test {
namespace {

/// Events that were taken while another one was wanted.
std::vector<ibv_async_event>& events_seen() {
    static std::vector<ibv_async_event> seen;
    return seen;
}

bool is_about(const ibv_async_event& event, const void* object) {
    // The union holds a pointer for each kind of object but the port.
    return static_cast<const void*>(event.element.qp) == object;
}

}  // namespace

softrnic::address server_address(std::uint16_t port) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
    const char* host = std::getenv("SRN_SERVER_ADDR");
    return must(softrnic::address::resolve(host != nullptr ? host : "10.1.0.1", port));
}

stranger_to_itself::stranger_to_itself()
    : support::link_setting(ibv_get_device_name(device().native()->device), "greeting", false) {}

softrnic::connection accept_next(const softrnic::listener& listener,
                                 const softrnic::queue_config& queues,
                                 const softrnic::connect_options& options) {
    softrnic::connection made = must(listener.next(patience));
    must(made.create_queues(queues));
    must(made.accept(options));
    return made;
}

pair connect_pair(const pair_options& options) {
    events_seen().clear();
    const softrnic::listener listener = must(softrnic::listen(options.where));
    pair made;
    made.client = must(softrnic::resolve(listener.local_address()));
    must(made.client.create_queues(options.client));
    auto connected =
        std::async(std::launch::async, [&] { return made.client.connect(options.connect); });
    made.server = accept_next(listener, options.server, options.accept);
    must(connected.get());
    return made;
}

softrnic::context_view device() {
    return must(softrnic::resolve(server_address(1))).context();
}

ibv_wc next(softrnic::cq& queue) {
    // A queue without a channel can only be polled.
    return must(queue.native()->channel != nullptr ? queue.wait_one(patience)
                                                   : queue.spin_one(patience));
}

std::vector<ibv_wc> next(softrnic::cq& queue, std::size_t count) {
    std::vector<ibv_wc> all;
    while (all.size() < count) all.push_back(next(queue));
    return all;
}

void expect_good(const ibv_wc& wc, std::uint64_t id, ibv_wc_opcode opcode) {
    expect_status(wc, id, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, opcode);
}

void expect_status(const ibv_wc& wc, std::uint64_t id, ibv_wc_status status) {
    EXPECT_EQ(wc.wr_id, id);
    EXPECT_EQ(wc.status, status) << ibv_wc_status_str(wc.status) << " instead of "
                                 << ibv_wc_status_str(status);
}

void expect_quiet(softrnic::cq& queue, std::chrono::milliseconds wait) {
    const auto wc = queue.spin_one(wait);
    EXPECT_TRUE(fails_with(wc, ETIMEDOUT))
        << "request " << wc->wr_id << " completed: " << ibv_wc_status_str(wc->status);
}

bool saw_event(const void* object, ibv_event_type type) {
    const softrnic::deadline until(patience);
    for (std::size_t i = 0;; ++i) {
        while (i >= events_seen().size()) {
            const auto event = device().wait_async_event(until);
            if (!event) return false;
            events_seen().push_back(*event);
        }
        const ibv_async_event& event = events_seen()[i];
        if (event.event_type == type && is_about(event, object)) return true;
    }
}

void expect_broken(softrnic::connection& end) {
    EXPECT_TRUE(works(end.wait_disconnected(patience)));
    EXPECT_EQ(must(end.qp().state()), IBV_QPS_ERR);
    must(end.qp().send(softrnic::no_slices, {.id = 991}));
    expect_status(next(end.send_cq()), 991, IBV_WC_WR_FLUSH_ERR);
    if (end.granted().max_recv_wr == 0) return;
    must(end.qp().recv(softrnic::no_slices, 992));
    expect_status(next(end.recv_cq()), 992, IBV_WC_WR_FLUSH_ERR);
}

void discard(softrnic::cq& queue) {
    std::array<ibv_wc, 16> room{};
    while (!must(queue.poll(room)).empty()) {
    }
}

}  // namespace verbs_test
