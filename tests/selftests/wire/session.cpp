// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "session.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <future>

#include "settings.hpp"

namespace wirepeer {
namespace {

constexpr std::size_t page = 4096;
/// Where the remote regions lie, each in a page of its own and with room around.
constexpr std::uint32_t region_offset = 1024;
constexpr std::uint32_t region_size = 1000;
constexpr unsigned region_count = 7;
constexpr std::size_t box_size = std::size_t{1} << 20;

/// Below those that TCP hands out, one of which may be taken for rdma_cm by chance.
constexpr std::uint16_t listening_port = 7171;

softrnic::context_view link_device() {
    for (const softrnic::context_view device : must(softrnic::rdma_cm_devices()))
        if (device.transport() == softrnic::transport::iwarp) return device;
    throw std::runtime_error("no iWARP device");
}

bool link_greets() {
    return support::value_of_link_setting(std::string(link_device().name()), "greeting") == "1";
}

void must_be_quiet(softrnic::context_view device) {
    const auto event = device.wait_async_event(0s);
    EXPECT_FALSE(event) << "another event: " << ibv_event_type_str(event->event_type);
}

}  // namespace

const softrnic::listener& verbs_listener() {
    static const softrnic::listener only =
        must(softrnic::listen(link_address().with_port(listening_port)));
    return only;
}

softrnic::connection next_request(const softrnic::address& from) {
    for (;;) {
        // A case that failed may have left one behind.
        softrnic::connection request = must(verbs_listener().next(patience));
        if (request.peer_address().port() == from.port()) return request;
    }
}

softrnic::address link_address() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
    const char* host = std::getenv("SRN_SERVER_ADDR");
    return must(softrnic::address::resolve(host != nullptr ? host : "10.1.0.1", 0));
}

arena& arena::get() {
    static arena only;
    return only;
}

arena::arena()
    : domain_(must(softrnic::pd::create(link_device()))),
      foreign_domain_(must(softrnic::pd::create(link_device()))),
      regions_memory_(must(
          softrnic::buffer::create(domain_, page * region_count, softrnic::access::local_write))),
      inbox_(must(softrnic::buffer::create(domain_, box_size, softrnic::access::local_write))),
      outbox_(must(softrnic::buffer::create(domain_, box_size, softrnic::access::none))) {
    using softrnic::access;
    const access write = access::local_write | access::remote_write;
    layout_.open = open_region(domain_, 0, write | access::remote_read);
    layout_.read_only = open_region(domain_, 1, access::remote_read);
    layout_.write_only = open_region(domain_, 2, write);
    layout_.local_only = open_region(domain_, 3, access::local_write);
    layout_.atomic = open_region(domain_, 4, access::local_write | access::remote_atomic);
    layout_.foreign =
        open_region(foreign_domain_, 5, write | access::remote_read | access::remote_atomic);
    layout_.gone = open_region(domain_, 6, write | access::remote_read | access::remote_atomic);
    registered_.pop_back();
}

region arena::open_region(const softrnic::pd& domain, unsigned index, softrnic::access rights) {
    const auto at = regions_memory_.bytes().subspan(index * page + region_offset, region_size);
    registered_.push_back(must(softrnic::mr::create(domain, at, rights)));
    const softrnic::remote_slice named = registered_.back().remote();
    return {.stag = named.rkey, .base = named.addr, .size = region_size};
}

void arena::clear() {
    std::ranges::fill(regions_memory_.bytes(), std::byte{0});
    std::ranges::fill(inbox_.bytes(), std::byte{0});
}

std::span<std::uint8_t> arena::bytes_of(const region& r) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): this is what a verbs address is
    return {reinterpret_cast<std::uint8_t*>(r.base), r.size};
}

softrnic::local_slice arena::inbox(std::uint32_t offset, std::uint32_t size) const {
    if (offset + size > box_size) throw std::runtime_error("the inbox is too small");
    return inbox_.sub(offset, size);
}

byte_view arena::inbox_bytes(std::uint32_t offset, std::uint32_t size) const {
    const auto part = inbox_.bytes().subspan(offset, size);
    return {reinterpret_cast<const std::uint8_t*>(part.data()), part.size()};
}

softrnic::local_slice arena::outbox(byte_view content) {
    if (content.size() > box_size) throw std::runtime_error("the outbox is too small");
    std::memcpy(outbox_.bytes().data(), content.data(), content.size());
    return outbox_.sub(0, static_cast<std::uint32_t>(content.size()));
}

void arena::expect_free_of(std::uint8_t value) const {
    EXPECT_EQ(std::ranges::count(regions_memory_.bytes(), std::byte{value}), 0);
    EXPECT_EQ(std::ranges::count(inbox_.bytes(), std::byte{value}), 0);
}

mpa_frame usual_frame(role peer) {
    return {
        .reply = peer == role::responder,
        .enhanced = enhanced_words{.peer_to_peer = true, .rtr_write = true, .ird = 8, .ord = 8}};
}

session_options usual_options(role peer) {
    session_options options;
    options.peer = peer;
    options.frame = usual_frame(peer);
    return options;
}

session::session(const session_options& options) {
    arena::get().clear();
    if (options.peer == role::initiator)
        be_initiator(options);
    else
        be_responder(options);
}

void session::prepare(const session_options& options) {
    must(end.create_queues({.max_send_wr = options.sends,
                            .max_recv_wr = std::max(options.posted, receives),
                            .domain = &arena::get().domain()}));
    for (std::uint32_t i = 0; i < options.posted; ++i)
        must(end.qp().recv(arena::get().inbox(i * options.size, options.size), i + 1));
    posted_ = options.posted;
}

void session::be_initiator(const session_options& options) {
    wire = tcp_stream::connect(verbs_listener().local_address(), options.mss);
    wire.send(encode(options.frame));
    end = next_request(wire.local_address());
    prepare(options);
    must(end.accept(options.verbs));
    theirs = wire.read_frame(true);
    if (options.first_fpdu) wire.send(make_write(0, 0, {}));
}

void session::be_responder(const session_options& options) {
    const tcp_listener listener(link_address(), options.mss);
    end = must(softrnic::resolve(listener.local_address()));
    prepare(options);
    auto connected = std::async(std::launch::async, [&] { return end.connect(options.verbs); });
    wire = listener.accept();
    theirs = wire.read_frame(false);
    wire.send(encode(options.frame));
    must(connected.get());
    if (!options.read_first) return;
    if (options.frame.enhanced && options.frame.enhanced->peer_to_peer) first = wire.read_segment();
    if (link_greets()) hello = decode_greeting(wire.read_segment());
}

ibv_wc session::next() {
    return must(end.recv_cq().wait_one(patience));
}

void session::expect_receive(std::uint64_t id, std::size_t length) {
    const ibv_wc wc = next();
    EXPECT_EQ(wc.wr_id, id);
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    ASSERT_EQ(wc.byte_len, length);
}

void session::expect_status(std::uint64_t id, ibv_wc_status status) {
    const ibv_wc wc = next();
    EXPECT_EQ(wc.wr_id, id);
    EXPECT_EQ(wc.status, status) << ibv_wc_status_str(wc.status) << " instead of "
                                 << ibv_wc_status_str(status);
}

void session::expect_terminate(byte_view payload) const {
    const segment got = wire.read_segment();
    EXPECT_EQ(describe(got), describe(make_terminate(payload)));
    wire.expect_closed();
}

void session::expect_failed(ibv_event_type event, std::uint64_t first_flushed) {
    const ibv_async_event got = must(end.context().wait_async_event(patience));
    EXPECT_EQ(got.event_type, event)
        << ibv_event_type_str(got.event_type) << " instead of " << ibv_event_type_str(event);
    EXPECT_EQ(got.element.qp, end.qp().native());
    expect_ended(first_flushed);
}

void session::expect_ended(std::uint64_t first_flushed) {
    must(end.wait_disconnected(patience));
    must_be_quiet(end.context());
    EXPECT_EQ(must(end.qp().state()), IBV_QPS_ERR);
    for (std::uint64_t id = first_flushed; id <= posted_; ++id)
        expect_status(id, IBV_WC_WR_FLUSH_ERR);
    EXPECT_FALSE(end.recv_cq().spin_one(0s));
    must(end.qp().send(softrnic::no_slices, {.id = 99}));
    expect_status(99, IBV_WC_WR_FLUSH_ERR);
}

ibv_event_type event_of(term_code why) {
    const bool remote_protection = why.layer == 0 && why.type == 1;
    const bool tagged_buffer = why.layer == 1 && why.type == 1;
    return remote_protection || tagged_buffer ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR;
}

void expect_service() {
    session s;
    const bytes there = pattern(20), back = pattern(30, 9);
    s.wire.send(make_send(1, there));
    s.expect_receive(1, there.size());
    EXPECT_TRUE(std::ranges::equal(arena::get().inbox_bytes(0, 20), there));
    must(s.end.qp().send(arena::get().outbox(back), {.id = 7}));
    s.expect_status(7, IBV_WC_SUCCESS);
    EXPECT_EQ(describe(s.wire.read_segment()), describe(make_send(1, back)));
}

}  // namespace wirepeer
