// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "framing.hpp"

#include <algorithm>
#include <utility>

namespace wirepeer {
namespace {

session_options options_for(const agreement& a, std::uint32_t posted, int mss) {
    session_options options = usual_options(a.peer);
    options.frame.crc = a.crc;
    options.frame.markers = a.markers_from_verbs;
    // The first FPDU has a marker in front, which only framed_wire knows.
    options.first_fpdu = false;
    options.frame.enhanced->peer_to_peer = a.peer == role::initiator;
    options.frame.enhanced->rtr_write = a.peer == role::initiator;
    options.posted = posted;
    options.mss = mss;
    return options;
}

}  // namespace

std::string device_name() {
    return std::string(arena::get().domain().context().name());
}

link_setting::link_setting(const std::string& name, bool value)
    : support::link_setting(device_name(), name, value) {}

namespace {

session_options with_receives(std::uint32_t posted) {
    session_options options;
    options.posted = posted;
    return options;
}

}  // namespace

greeted::greeted(std::uint32_t posted) : s{with_receives(posted)} {
    s.wire.send(make_greeting(hello));
    EXPECT_EQ(decode_greeting(s.wire.read_segment()).what, greeting::answer);
}

void greeted::post(std::uint64_t id) {
    must(s.end.qp().recv(
        arena::get().inbox(static_cast<std::uint32_t>(id) * receive_size, receive_size), id));
}

void framed_wire::take(std::size_t count, bytes& raw, bytes& plain) const {
    while (count > 0) {
        const std::size_t at = (in_.position() + raw.size()) % marker_interval;
        if (in_has_markers_ && at == 0) append(raw, wire_.read(marker_length));
        const std::size_t run =
            in_has_markers_ ? std::min(count, marker_interval - std::max(at, marker_length * !at))
                            : count;
        const bytes got = wire_.read(run);
        append(raw, got);
        append(plain, got);
        count -= run;
    }
}

segment framed_wire::read_segment() {
    bytes raw, plain, crc;
    take(4, raw, plain);
    const std::size_t length = static_cast<std::size_t>(plain[0]) << 8 | plain[1];
    take((2 + length + 3) / 4 * 4 - 4, raw, plain);
    take(crc_length, raw, crc);
    const byte_view body = byte_view(plain).subspan(2, length);
    if (raw != in_.next(body)) throw std::runtime_error("markers, padding or CRC of " + hex(raw));
    return decode_segment(body);
}

std::ostream& operator<<(std::ostream& to, const agreement& a) {
    return to << (a.crc ? "crc" : "nocrc") << (a.markers_to_verbs ? "_marked" : "_plain") << "_in"
              << (a.markers_from_verbs ? "_marked" : "_plain") << "_out_by_"
              << (a.peer == role::initiator ? "initiator" : "responder");
}

framed_session::framed_session(const agreement& a, std::uint32_t posted, int mss)
    : crc_("crc", a.crc),
      markers_("markers", a.markers_to_verbs),
      s(options_for(a, posted, mss)),
      wire(s.wire, {.crc = a.crc, .markers = a.markers_to_verbs},
           {.crc = a.crc, .markers = a.markers_from_verbs}) {
    EXPECT_EQ(s.theirs.crc, a.crc);
    EXPECT_EQ(s.theirs.markers, a.markers_to_verbs);
    if (a.peer == role::initiator) wire.send(make_write(0, 0, {}));
}

std::uint32_t filler(const fpdu_stream& so_far, std::size_t position) {
    for (std::uint32_t length = 0; length <= 2 * marker_interval; length += 4) {
        fpdu_stream tried = so_far;
        (void)tried.next(make_write(0, 0, bytes(length)));
        if (tried.position() % marker_interval == position % marker_interval) return length;
    }
    throw std::runtime_error("no FPDU can begin there: " + std::to_string(position));
}

}  // namespace wirepeer
