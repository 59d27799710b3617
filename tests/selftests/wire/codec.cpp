// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "codec.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string_view>

namespace wirepeer {
namespace {

constexpr std::string_view request_key = "MPA ID Req Frame";
constexpr std::string_view reply_key = "MPA ID Rep Frame";
constexpr std::uint8_t flag_markers = 0x80, flag_crc = 0x40, flag_reject = 0x20,
                       flag_enhanced = 0x10;
constexpr std::uint16_t high_bit = 0x8000, low_bit = 0x4000, depth_mask = 0x3fff;
constexpr std::size_t enhanced_length = 4;

template <class T>
void put(bytes& out, T value) {
    for (int shift = 8 * static_cast<int>(sizeof(T)) - 8; shift >= 0; shift -= 8)
        out.push_back(static_cast<std::uint8_t>(value >> shift));
}

/// Takes big-endian numbers from the front.
class reader {
public:
    explicit reader(byte_view from) : left_(from) {}

    template <class T>
    T get() {
        std::uint64_t value = 0;
        for (const std::uint8_t byte : take(sizeof(T))) value = value << 8 | byte;
        return static_cast<T>(value);
    }
    byte_view take(std::size_t count) {
        if (count > left_.size()) throw std::runtime_error("cut short: " + hex(left_));
        const byte_view taken = left_.first(count);
        left_ = left_.subspan(count);
        return taken;
    }
    [[nodiscard]] byte_view rest() const { return left_; }

private:
    byte_view left_;
};

/// The polynomial 0x1edc6f41 with its bits reversed, since CRC32C takes the low bit first.
constexpr std::array<std::uint32_t, 256> crc_table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t r = i;
        for (int bit = 0; bit < 8; ++bit) r = r & 1 ? r >> 1 ^ 0x82f63b78U : r >> 1;
        table[i] = r;
    }
    return table;
}();

}  // namespace

std::uint32_t crc32c(byte_view data) {
    std::uint32_t r = 0xffffffff;
    for (const std::uint8_t byte : data) r = crc_table[(r ^ byte) & 0xff] ^ r >> 8;
    return ~r;
}

bytes pattern(std::size_t count, std::size_t from) {
    bytes made(count);
    // 251 is prime, so that no power of two is a period.
    for (std::size_t i = 0; i < count; ++i)
        made[i] = static_cast<std::uint8_t>(((from + i) * 7 + 1) % 251);
    return made;
}

void append(bytes& to, byte_view more) {
    to.insert(to.end(), more.begin(), more.end());
}

std::string hex(byte_view data) {
    std::string text;
    for (const std::uint8_t byte : data) {
        std::array<char, 4> two{};
        (void)std::snprintf(two.data(), two.size(), "%02x", byte);
        text += two.data();
    }
    return text;
}

bytes encode(const mpa_frame& frame) {
    const std::string_view key = frame.reply ? reply_key : request_key;
    bytes out(key.begin(), key.end());
    put<std::uint8_t>(out, static_cast<std::uint8_t>(
                               (frame.markers ? flag_markers : 0) | (frame.crc ? flag_crc : 0) |
                               (frame.reject ? flag_reject : 0) |
                               (frame.enhanced ? flag_enhanced : 0) | frame.reserved));
    put<std::uint8_t>(out, frame.revision);
    put<std::uint16_t>(out, static_cast<std::uint16_t>(frame.private_data.size() +
                                                       (frame.enhanced ? enhanced_length : 0)));
    if (frame.enhanced) {
        const enhanced_words& w = *frame.enhanced;
        put<std::uint16_t>(out, static_cast<std::uint16_t>((w.peer_to_peer ? high_bit : 0) |
                                                           (w.rtr_send ? low_bit : 0) | w.ird));
        put<std::uint16_t>(out, static_cast<std::uint16_t>((w.rtr_write ? high_bit : 0) |
                                                           (w.rtr_read ? low_bit : 0) | w.ord));
    }
    append(out, frame.private_data);
    return out;
}

bytes first_revision_frame(bool reply) {
    return encode(mpa_frame{.reply = reply, .revision = 1});
}

std::size_t private_length(byte_view head) {
    return reader(head.subspan(frame_head - 2)).get<std::uint16_t>();
}

mpa_frame decode_frame(byte_view whole, bool reply) {
    reader in(whole);
    const byte_view key = in.take(request_key.size());
    if (!std::ranges::equal(key, reply ? reply_key : request_key))
        throw std::runtime_error("wrong key: " + hex(key));
    mpa_frame frame;
    frame.reply = reply;
    const auto flags = in.get<std::uint8_t>();
    frame.markers = flags & flag_markers;
    frame.crc = flags & flag_crc;
    frame.reject = flags & flag_reject;
    frame.reserved = flags & 0xf;
    frame.revision = in.get<std::uint8_t>();
    if (in.get<std::uint16_t>() != in.rest().size())
        throw std::runtime_error("wrong length of private data");
    if (flags & flag_enhanced) {
        const auto ird = in.get<std::uint16_t>();
        const auto ord = in.get<std::uint16_t>();
        frame.enhanced = enhanced_words{.peer_to_peer = (ird & high_bit) != 0,
                                        .rtr_send = (ird & low_bit) != 0,
                                        .rtr_write = (ord & high_bit) != 0,
                                        .rtr_read = (ord & low_bit) != 0,
                                        .ird = static_cast<std::uint16_t>(ird & depth_mask),
                                        .ord = static_cast<std::uint16_t>(ord & depth_mask)};
    }
    frame.private_data.assign(in.rest().begin(), in.rest().end());
    return frame;
}

std::size_t header_length(bool tagged) {
    return tagged ? 14 : 18;
}

bytes ulpdu(const segment& s) {
    bytes out;
    put<std::uint8_t>(out, static_cast<std::uint8_t>((s.tagged ? 0x80 : 0) | (s.last ? 0x40 : 0) |
                                                     s.ddp_reserved << 2 | s.ddp_version));
    put<std::uint8_t>(
        out, static_cast<std::uint8_t>(s.rdmap_version << 6 | s.rdmap_reserved << 4 | s.opcode));
    if (s.tagged) {
        put(out, s.stag);
        put(out, s.to);
    } else {
        put(out, s.inv_stag);
        put(out, s.qn);
        put(out, s.msn);
        put(out, s.mo);
    }
    append(out, s.payload);
    return out;
}

segment decode_segment(byte_view ulpdu) {
    reader in(ulpdu);
    segment s;
    const auto ddp = in.get<std::uint8_t>();
    s.tagged = ddp & 0x80;
    s.last = ddp & 0x40;
    s.ddp_reserved = static_cast<std::uint8_t>(ddp >> 2 & 0xf);
    s.ddp_version = ddp & 0x3;
    const auto rdmap = in.get<std::uint8_t>();
    s.rdmap_version = static_cast<std::uint8_t>(rdmap >> 6);
    s.rdmap_reserved = static_cast<std::uint8_t>(rdmap >> 4 & 0x3);
    s.opcode = rdmap & 0xf;
    if (s.tagged) {
        s.msn = 0;
        s.stag = in.get<std::uint32_t>();
        s.to = in.get<std::uint64_t>();
    } else {
        s.inv_stag = in.get<std::uint32_t>();
        s.qn = in.get<std::uint32_t>();
        s.msn = in.get<std::uint32_t>();
        s.mo = in.get<std::uint32_t>();
    }
    s.payload.assign(in.rest().begin(), in.rest().end());
    return s;
}

std::string describe(const segment& s) {
    std::string text = "opcode " + std::to_string(s.opcode) + (s.last ? ", last" : "") +
                       ", versions " + std::to_string(s.ddp_version) + " and " +
                       std::to_string(s.rdmap_version);
    if (s.tagged)
        text += ", STag " + std::to_string(s.stag) + ", TO " + std::to_string(s.to);
    else
        text += ", QN " + std::to_string(s.qn) + ", MSN " + std::to_string(s.msn) + ", MO " +
                std::to_string(s.mo) + ", STag to invalidate " + std::to_string(s.inv_stag);
    constexpr std::size_t shown = 60;
    const byte_view front = byte_view(s.payload).first(std::min(shown, s.payload.size()));
    return text + ", " + std::to_string(s.payload.size()) + " bytes " + hex(front);
}

bytes encode(const read_request& r) {
    bytes out;
    put(out, r.sink_stag);
    put(out, r.sink_to);
    put(out, r.size);
    put(out, r.source_stag);
    put(out, r.source_to);
    return out;
}

read_request decode_read_request(byte_view payload) {
    reader in(payload);
    read_request r;
    r.sink_stag = in.get<std::uint32_t>();
    r.sink_to = in.get<std::uint64_t>();
    r.size = in.get<std::uint32_t>();
    r.source_stag = in.get<std::uint32_t>();
    r.source_to = in.get<std::uint64_t>();
    if (!in.rest().empty()) throw std::runtime_error("a Read Request that is too long");
    return r;
}

bytes encode(const atomic_request& a) {
    bytes out;
    put(out, a.code);
    put(out, a.id);
    put(out, a.stag);
    put(out, a.to);
    put(out, a.data);
    put(out, a.mask);
    put(out, a.compare);
    put(out, a.compare_mask);
    return out;
}

atomic_request decode_atomic_request(byte_view payload) {
    reader in(payload);
    atomic_request a;
    a.code = in.get<std::uint32_t>();
    a.id = in.get<std::uint32_t>();
    a.stag = in.get<std::uint32_t>();
    a.to = in.get<std::uint64_t>();
    a.data = in.get<std::uint64_t>();
    a.mask = in.get<std::uint64_t>();
    a.compare = in.get<std::uint64_t>();
    a.compare_mask = in.get<std::uint64_t>();
    if (!in.rest().empty()) throw std::runtime_error("an Atomic Request that is too long");
    return a;
}

segment make_send(std::uint32_t msn, bytes payload, std::uint8_t opcode, std::uint32_t inv_stag) {
    return {.opcode = opcode, .inv_stag = inv_stag, .msn = msn, .payload = std::move(payload)};
}

segment make_write(std::uint32_t stag, std::uint64_t to, bytes payload) {
    return {.tagged = true,
            .opcode = op::write,
            .stag = stag,
            .to = to,
            .msn = 0,
            .payload = std::move(payload)};
}

namespace {

constexpr std::uint64_t low_bits(unsigned count) {
    return (std::uint64_t{1} << count) - 1;
}

std::uint64_t mixed(std::uint64_t value) {
    const std::uint64_t spread = (value ^ value >> 31) * 0x9e3779b97f4a7c15;
    return spread ^ spread >> 29;
}

}  // namespace

segment make_greeting(const greeting& g) {
    return make_write(greeting::magic | g.what,
                      static_cast<std::uint64_t>(g.features) << 48 | g.value, {});
}

greeting decode_greeting(const segment& s) {
    const greeting g{.what = static_cast<std::uint8_t>(s.stag & 0xff),
                     .features = static_cast<std::uint16_t>(s.to >> 48),
                     .value = s.to & low_bits(48)};
    if (s != make_greeting(g)) throw std::runtime_error("no greeting: " + describe(s));
    return g;
}

greeting answer_to(const greeting& hello, std::uint32_t nonce, std::uint16_t features) {
    return {.what = greeting::answer,
            .features = features,
            .value = (mixed(hello.value) & low_bits(24)) << 24 | nonce};
}

greeting confirmation_of(const greeting& hello, const greeting& answer) {
    return {.what = greeting::confirm,
            .features = answer.features,
            .value = mixed(mixed(hello.value) + (answer.value & low_bits(24))) & low_bits(48)};
}

segment make_placement(const placement& p, const greeting& hello) {
    const std::uint64_t proof = mixed(hello.value) >> 32;
    if (p.last) return make_write(greeting::magic | 16U, proof << 32 | *p.last, {});
    if (p.not_ready) return make_write(greeting::magic | 32U, proof << 32 | *p.not_ready, {});
    if (p.limit) return make_write(greeting::magic | 64U, proof << 32 | *p.limit, {});
    return make_write(
        greeting::magic | (p.question ? 4U : 0U) | (p.answer ? 8U : 0U),
        proof << 32 | std::uint64_t{p.question.value_or(0)} << 16 | p.answer.value_or(0), {});
}

placement decode_placement(const segment& s, const greeting& hello) {
    placement p;
    if ((s.stag & 4) != 0) p.question = static_cast<std::uint16_t>(s.to >> 16);
    if ((s.stag & 8) != 0) p.answer = static_cast<std::uint16_t>(s.to);
    if ((s.stag & 16) != 0) p.last = static_cast<std::uint32_t>(s.to);
    if ((s.stag & 32) != 0) p.not_ready = static_cast<std::uint32_t>(s.to);
    if ((s.stag & 64) != 0) p.limit = static_cast<std::uint32_t>(s.to);
    if (s != make_placement(p, hello))
        throw std::runtime_error("nothing about what is placed: " + describe(s));
    return p;
}

segment make_read_request(std::uint32_t msn, const read_request& r) {
    return {.opcode = op::read_request, .qn = 1, .msn = msn, .payload = encode(r)};
}

segment make_read_response(std::uint32_t stag, std::uint64_t to, bytes payload) {
    segment s = make_write(stag, to, std::move(payload));
    s.opcode = op::read_response;
    return s;
}

segment make_terminate(byte_view payload) {
    return {.opcode = op::terminate, .qn = 2, .payload = {payload.begin(), payload.end()}};
}

segment make_immediate(std::uint32_t msn, std::uint32_t data, std::uint8_t opcode) {
    bytes payload;
    put(payload, data);
    put(payload, std::uint32_t{0});
    return make_send(msn, std::move(payload), opcode);
}

segment make_atomic_request(std::uint32_t msn, const atomic_request& a) {
    return {.opcode = op::atomic_request, .qn = 1, .msn = msn, .payload = encode(a)};
}

segment make_atomic_response(std::uint32_t msn, std::uint32_t id, std::uint64_t original) {
    bytes payload;
    put(payload, id);
    put(payload, original);
    return {.opcode = op::atomic_response, .qn = 3, .msn = msn, .payload = std::move(payload)};
}

bytes terminate_payload(term_code why, term_headers with, const segment& offender) {
    bytes out{static_cast<std::uint8_t>(why.layer << 4 | why.type), why.code, 0, 0};
    if (with == term_headers::none) return out;
    // M and D; R: bits 16 to 18.
    out[2] = with == term_headers::ddp ? 0xc0 : 0xe0;
    const bytes whole = ulpdu(offender);
    put(out, static_cast<std::uint16_t>(whole.size()));
    const std::size_t header = header_length(offender.tagged);
    append(out, byte_view(whole).first(header));
    if (with == term_headers::ddp_and_rdmap) append(out, byte_view(whole).subspan(header));
    return out;
}

namespace {

bytes without_crc(byte_view ulpdu, std::uint8_t pad) {
    bytes out;
    put(out, static_cast<std::uint16_t>(ulpdu.size()));
    append(out, ulpdu);
    while (out.size() % 4 != 0) out.push_back(pad);
    return out;
}

void append_crc(bytes& fpdu) {
    const std::uint32_t crc = crc32c(fpdu);
    for (int shift = 0; shift < 32; shift += 8)
        fpdu.push_back(static_cast<std::uint8_t>(crc >> shift));
}

}  // namespace

bytes frame_ulpdu(byte_view ulpdu, std::uint8_t pad) {
    bytes out = without_crc(ulpdu, pad);
    append_crc(out);
    return out;
}

bytes fpdu_stream::next(byte_view ulpdu, void (*spoil)(bytes& marker)) {
    bytes out;
    std::size_t start = 0;
    const auto marker_if_due = [&](bool in_front) {
        if (!how_.markers || (position_ + out.size()) % marker_interval != 0) return;
        bytes marker;
        put(marker, static_cast<std::uint32_t>(in_front ? 0 : out.size() - start));
        if (spoil != nullptr) spoil(marker);
        append(out, marker);
    };
    marker_if_due(true);
    start = out.size();
    byte_view left;
    const bytes plain = without_crc(ulpdu, 0);
    for (left = plain; !left.empty(); left = left.subspan(4)) {
        if (left.size() != plain.size()) marker_if_due(false);
        append(out, left.first(4));
    }
    marker_if_due(false);
    if (how_.crc)
        append_crc(out);
    else
        out.resize(out.size() + crc_length);
    position_ += out.size();
    return out;
}

bytes fpdu(const segment& s) {
    return frame_ulpdu(ulpdu(s));
}

bytes fpdus(std::span<const segment> all) {
    bytes out;
    for (const segment& s : all) append(out, fpdu(s));
    return out;
}

}  // namespace wirepeer
