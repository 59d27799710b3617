// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "cm_scene.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "must.hpp"

namespace cm_misuse {

using clock_type = std::chrono::steady_clock;
using support::must;

std::chrono::seconds soon() {
    static const char* const slow = std::getenv("SLOW");
    return std::chrono::seconds(5) * (slow != nullptr ? std::atoi(slow) : 1);
}

void ends_soon(const std::string& what, const std::function<void()>& action) {
    const auto start = clock_type::now();
    action();
    const auto took = clock_type::now() - start;
    if (took > soon())
        throw std::runtime_error(
            what + " has taken " +
            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(took).count()) + " s");
}

verbs_scene::verbs_scene(const std::string& device_file)
    : device_(must(raw::open_device(device_file))),
      pd_(must(raw::alloc_pd(device_.get()))),
      cq_(must(raw::create_cq(device_.get(), 64)).handle) {}

raw::queue verbs_scene::make_qp() const {
    const raw::queue made = must(raw::create_qp(device_.get(), pd_, cq_));
    must(raw::modify_qp(device_.get(), made.handle, IBV_QPS_INIT));
    return made;
}

owned_qp::owned_qp(const verbs_scene& scene) : device_(scene.device()), queue_(scene.make_qp()) {}

bool owned_qp::destroy() const {
    return static_cast<bool>(raw::destroy_qp(device_, queue_.handle));
}

owned_qp::~owned_qp() {
    destroy();
}

cm_scene::cm_scene(const softrnic::address& where)
    : channel_(must(raw_cm::open_channel())), where_(where) {}

raw_cm::event cm_scene::await(std::uint32_t id,
                              std::initializer_list<rdma_cm_event_type> kinds) const {
    const softrnic::deadline until = soon();
    for (;;) {
        const auto got = raw_cm::next_event(channel(), until);
        if (!got)
            throw std::runtime_error("waiting for event " + std::to_string(*kinds.begin()) + ": " +
                                     got.error().message());
        const raw_cm::event& event = *got;
        const bool is_request = event.kind == RDMA_CM_EVENT_CONNECT_REQUEST;
        if (!is_request && event.id != id) continue;
        if (std::ranges::any_of(kinds, [&](auto kind) { return event.kind == kind; })) return event;
        throw std::runtime_error("event " + std::to_string(event.kind) + " came, status " +
                                 std::to_string(event.status));
    }
}

std::uint32_t cm_scene::listen() {
    const std::uint32_t id = must(raw_cm::create_id(channel(), 1));
    must(raw_cm::bind_addr(channel(), id, where_.with_port(0)));
    must(raw_cm::listen(channel(), id, 16));
    where_ = must(raw_cm::local_address(channel(), id));
    return id;
}

wirepeer::tcp_stream cm_scene::make_request() const {
    auto peer = wirepeer::tcp_stream::connect(where_);
    peer.send(wirepeer::first_revision_frame(false));
    return peer;
}

cm_scene::request cm_scene::next_request() const {
    auto peer = make_request();
    const auto event = await(0, {RDMA_CM_EVENT_CONNECT_REQUEST});
    return {std::move(peer), event.id};
}

std::uint32_t cm_scene::route_to(const softrnic::address& peer) const {
    constexpr std::uint32_t milliseconds = 2000;
    const std::uint32_t id = must(raw_cm::create_id(channel(), 1));
    must(raw_cm::resolve_addr(channel(), id, peer, milliseconds));
    await(id, {RDMA_CM_EVENT_ADDR_RESOLVED});
    must(raw_cm::resolve_route(channel(), id, milliseconds));
    await(id, {RDMA_CM_EVENT_ROUTE_RESOLVED});
    return id;
}

void cm_scene::destroy(std::uint32_t id) const {
    ends_soon("destroying an id", [&] { must(raw_cm::destroy_id(channel(), id)); });
}

}  // namespace cm_misuse
