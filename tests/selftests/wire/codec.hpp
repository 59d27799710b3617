// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// MPA, DDP and RDMAP as the scripted peer speaks them: written for the tests from the RFCs, and
/// sharing nothing with kernel/wire, so that a mistake there is seen here. Each field can be given
/// a wrong value; what is made is what was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wirepeer {

using bytes = std::vector<std::uint8_t>;
using byte_view = std::span<const std::uint8_t>;

/// CRC32C of `data`, as a number; on the wire its low byte comes first.
std::uint32_t crc32c(byte_view data);

/// `count` bytes of an endless sequence in which neighbours differ, from its byte `from` on.
bytes pattern(std::size_t count, std::size_t from = 0);

void append(bytes& to, byte_view more);
std::string hex(byte_view data);

// MPA set-up frames: RFC 5044 section 7.1.1, RFC 6581 sections 6 and 9.

inline constexpr std::size_t frame_head = 20;
inline constexpr std::uint16_t not_negotiated = 0x3fff;

/// The four bytes of RFC 6581: connection model, RTR messages, read depths.
struct enhanced_words {
    bool peer_to_peer = false;  // A
    bool rtr_send = false;      // B
    bool rtr_write = false;     // C
    bool rtr_read = false;      // D
    std::uint16_t ird = 0;
    std::uint16_t ord = 0;

    friend bool operator==(const enhanced_words&, const enhanced_words&) = default;
};

struct mpa_frame {
    bool reply = false;
    bool markers = false;
    bool crc = true;
    bool reject = false;
    std::uint8_t reserved = 0;  // the low four bits of the flags
    std::uint8_t revision = 2;
    std::optional<enhanced_words> enhanced = std::nullopt;
    bytes private_data = {};  // of the ULP

    friend bool operator==(const mpa_frame&, const mpa_frame&) = default;
};

bytes encode(const mpa_frame& frame);
/// The frame of an end that knows no other revision than the first.
bytes first_revision_frame(bool reply);
/// What PD_Length says in the first frame_head bytes of a frame.
std::size_t private_length(byte_view head);
/// Throws std::runtime_error for what is no frame of that kind.
mpa_frame decode_frame(byte_view whole, bool reply);

// DDP segments and RDMAP messages: RFC 5041 section 4, RFC 5040 section 4.

namespace op {
inline constexpr std::uint8_t write = 0x0, read_request = 0x1, read_response = 0x2, send = 0x3,
                              send_inv = 0x4, send_se = 0x5, send_se_inv = 0x6, terminate = 0x7,
                              immediate = 0x8, immediate_se = 0x9, atomic_request = 0xa,
                              atomic_response = 0xb;
}  // namespace op

struct segment {
    bool tagged = false;
    bool last = true;
    std::uint8_t ddp_reserved = 0;  // four bits
    std::uint8_t ddp_version = 1;
    std::uint8_t rdmap_version = 1;
    std::uint8_t rdmap_reserved = 0;  // two bits
    std::uint8_t opcode = op::send;
    // tagged
    std::uint32_t stag = 0;
    std::uint64_t to = 0;
    // untagged
    std::uint32_t inv_stag = 0;
    std::uint32_t qn = 0;
    std::uint32_t msn = 1;
    std::uint32_t mo = 0;

    bytes payload = {};

    friend bool operator==(const segment&, const segment&) = default;
};

std::size_t header_length(bool tagged);
/// DDP header and payload.
bytes ulpdu(const segment& s);
segment decode_segment(byte_view ulpdu);
std::string describe(const segment& s);

struct read_request {
    std::uint32_t sink_stag = 0;
    std::uint64_t sink_to = 0;
    std::uint32_t size = 0;
    std::uint32_t source_stag = 0;
    std::uint64_t source_to = 0;

    friend bool operator==(const read_request&, const read_request&) = default;
};
bytes encode(const read_request& r);
read_request decode_read_request(byte_view payload);

/// RFC 7306 section 5.2.1.
struct atomic_request {
    static constexpr std::uint32_t fetch_add = 0, compare_swap = 2;

    std::uint32_t code = fetch_add;
    std::uint32_t id = 0;
    std::uint32_t stag = 0;
    std::uint64_t to = 0;
    std::uint64_t data = 0;
    std::uint64_t mask = 0;
    std::uint64_t compare = 0;
    std::uint64_t compare_mask = ~std::uint64_t{0};

    friend bool operator==(const atomic_request&, const atomic_request&) = default;
};
bytes encode(const atomic_request& a);
atomic_request decode_atomic_request(byte_view payload);

/// How softrnics recognise each other: Writes without payload, wire.md. Not in any RFC.
struct greeting {
    enum kind : std::uint8_t { hello = 1, answer = 2, confirm = 3 };
    static constexpr std::uint32_t magic = 0x73724700;
    static constexpr std::uint16_t large_fpdus = 1, rnr = 2, placed = 4,
                                   all = large_fpdus | rnr | placed;

    std::uint8_t what = hello;
    std::uint16_t features = all;
    /// 48 bits: a nonce, a proof, or 24 bits of each.
    std::uint64_t value = 0;

    friend bool operator==(const greeting&, const greeting&) = default;
};
segment make_greeting(const greeting& g);
/// Throws std::runtime_error for what is none.
greeting decode_greeting(const segment& s);
/// What a responder with this nonce answers, and how an initiator confirms that.
greeting answer_to(const greeting& hello, std::uint32_t nonce, std::uint16_t features);
greeting confirmation_of(const greeting& hello, const greeting& answer);

/// How a softrnic asks what its peer has placed, and is told. The proof depends on the initiator's
/// nonce.
struct placement {
    std::optional<std::uint16_t> question{};
    std::optional<std::uint16_t> answer{};
    /// The final report: so many messages of the other end have been placed.
    std::optional<std::uint32_t> last{};
    /// The message behind so many has found no receive in time.
    std::optional<std::uint32_t> not_ready{};
    /// How often a Send of the other end may find no receive.
    std::optional<std::uint32_t> limit{};

    friend bool operator==(const placement&, const placement&) = default;
};
segment make_placement(const placement& p, const greeting& hello);
/// Throws std::runtime_error for what is none.
placement decode_placement(const segment& s, const greeting& hello);

/// Valid messages of one segment.
segment make_send(std::uint32_t msn, bytes payload, std::uint8_t opcode = op::send,
                  std::uint32_t inv_stag = 0);
segment make_write(std::uint32_t stag, std::uint64_t to, bytes payload);
segment make_read_request(std::uint32_t msn, const read_request& r);
segment make_read_response(std::uint32_t stag, std::uint64_t to, bytes payload);
segment make_terminate(byte_view payload);
segment make_immediate(std::uint32_t msn, std::uint32_t data, std::uint8_t opcode = op::immediate);
segment make_atomic_request(std::uint32_t msn, const atomic_request& a);
segment make_atomic_response(std::uint32_t msn, std::uint32_t id, std::uint64_t original);

/// A message that differs from a valid one in what `change` does to it; as all the segments of a
/// case.
template <class Change>
std::vector<segment> changed(segment s, Change change) {
    change(s);
    return {std::move(s)};
}

// Terminate: RFC 5040 section 4.8.

struct term_code {
    std::uint8_t layer = 0;
    std::uint8_t type = 0;
    std::uint8_t code = 0;
};
/// Which headers of the message at fault come with it.
enum class term_headers : std::uint8_t { none, ddp, ddp_and_rdmap };

/// The payload that tells of `offender`.
bytes terminate_payload(term_code why, term_headers with, const segment& offender);

// FPDUs: RFC 5044 section 4.

/// A ULPDU with length, padding and a good CRC. `pad` is what the padding is filled with.
bytes frame_ulpdu(byte_view ulpdu, std::uint8_t pad = 0);
bytes fpdu(const segment& s);
bytes fpdus(std::span<const segment> all);

inline constexpr std::size_t marker_length = 4, marker_interval = 512, crc_length = 4;

/// What the ends of a connection have settled on.
struct framing {
    bool crc = true;
    bool markers = false;
};

/// The FPDUs of one direction, from the first one on: with markers, section 4.3, where they lie
/// depends on all that went before.
class fpdu_stream {
public:
    explicit fpdu_stream(framing how) : how_(how) {}

    /// The next FPDU, with the marker in front of it if one falls there. `spoil` may change each
    /// marker; a CRC is over what it leaves.
    bytes next(byte_view ulpdu, void (*spoil)(bytes& marker) = nullptr);
    bytes next(const segment& s, void (*spoil)(bytes& marker) = nullptr) {
        return next(ulpdu(s), spoil);
    }

    /// Bytes so far.
    [[nodiscard]] std::size_t position() const { return position_; }

private:
    framing how_;
    std::size_t position_ = 0;
};

}  // namespace wirepeer
