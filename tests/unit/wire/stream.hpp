// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Both ends of an FPDU stream: FPDUs as the module's sender makes them, and what its parser makes
// of a stream that arrives in pieces.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "wire.hpp"

struct fpdu_recipe {
    srn_rdmap_opcode op = SRN_OP_SEND;
    byte_vector payload;
    std::uint32_t msn = 1;  // untagged
    std::uint32_t mo = 0;
    std::uint32_t stag = 0;
    std::uint64_t to = 0;  // tagged
    bool last = true;
    bool crc = true;
};

// The bytes before padding and CRC.
inline byte_vector fpdu_body(const fpdu_recipe& r) {
    const auto length = static_cast<std::uint32_t>(r.payload.size());
    byte_vector body;
    if (srn_opcodes[r.op].tagged) {
        srn_wire_tagged header;
        srn_rdmap_put_tagged(&header, r.op, r.stag, r.to, length, r.last);
        body = bytes_of(header);
    } else {
        srn_wire_untagged header;
        srn_rdmap_put_untagged(&header, r.op, r.stag, r.msn, r.mo, length, r.last);
        body = bytes_of(header);
    }
    append(body, r.payload);
    return body;
}

inline byte_vector with_trailer(byte_vector body, bool crc) {
    const auto length = static_cast<std::uint32_t>(body.size());
    std::uint8_t trailer[SRN_MAX_TRAILER];
    const std::uint32_t n =
        srn_framer_put_trailer(trailer, length, crc, crc32c(SRN_CRC_SEED, body.data(), length));
    append(body, {trailer, n});
    return body;
}

inline byte_vector make_fpdu(const fpdu_recipe& r) {
    return with_trailer(fpdu_body(r), r.crc);
}

// Gives every whole FPDU of a stream the CRC that it should have.
inline void repair_crcs(byte_vector& stream) {
    std::size_t at = 0;
    while (stream.size() - at >= SRN_MPA_LENGTH) {
        const auto ulpdu = static_cast<std::size_t>(stream[at] << 8 | stream[at + 1]);
        const std::size_t before_crc = (SRN_MPA_LENGTH + ulpdu + 3) / 4 * 4;
        if (stream.size() - at < before_crc + SRN_CRC_LEN) return;
        const std::uint32_t crc =
            ~crc32c(SRN_CRC_SEED, &stream[at], static_cast<unsigned>(before_crc));
        at += before_crc;
        for (int shift = 0; shift < 32; shift += 8)
            stream[at++] = static_cast<std::uint8_t>(crc >> shift);
    }
}

struct received_fpdu {
    srn_rdmap_header header{};
    byte_vector header_bytes;
    byte_vector payload;
    bool complete = false;

    bool operator==(const received_fpdu&) const = default;
};

using fpdu_list = std::pmr::vector<received_fpdu>;

// Where to cut a stream, in ascending order.
using cut_list = std::pmr::vector<std::size_t>;

// A parser together with everything that came out of it. feed() holds the parser to the rules of
// its contract; the first one that it breaks is named by broken_rule(). In strides it takes FPDUs
// in one step where it can, as the module does.
class receiver {
public:
    enum class pace { steps, strides };

    explicit receiver(bool crc, bool markers = false, pace p = pace::steps) : pace_(p) {
        srn_fpdu_init(&parser_, crc, markers);
    }

    // False once the stream has failed.
    bool feed(byte_span piece) {
        const exact_copy bytes(piece);
        std::uint32_t at = 0;
        srn_fpdu_event event{};
        for (;;) {
            if (pace_ == pace::strides) {
                at += stride(bytes.data() + at, bytes.size() - at);
                const std::uint32_t n = whole(bytes.data() + at, bytes.size() - at);
                at += n;
                if (rule_) return false;
                if (n) continue;
            }
            const std::uint32_t left = bytes.size() - at;
            const std::uint32_t used = srn_fpdu_parse(&parser_, bytes.data() + at, left, &event);
            rule(used <= left, "more is consumed than there was");
            if (rule_) return false;
            rule(event.type == SRN_FPDU_MORE || event.type == SRN_FPDU_ERROR || used > 0,
                 "an event without input");
            take(event, bytes.data() + at, used, left);
            at += used;
            consumed_ += used;
            if (event.type == SRN_FPDU_ERROR || rule_) return false;
            if (event.type == SRN_FPDU_MORE) return true;
        }
    }

    // Feeds a stream in pieces, until it ends or fails.
    void feed_all(byte_span stream, const cut_list& cuts) {
        std::size_t from = 0;
        for (const std::size_t cut : cuts) {
            if (!feed(stream.subspan(from, cut - from))) return;
            from = cut;
        }
        feed(stream.subspan(from));
    }

    // How many FPDUs were taken in one step: in the middle of a message, and others.
    [[nodiscard]] std::size_t strides() const { return strides_; }
    [[nodiscard]] std::size_t wholes() const { return wholes_; }
    [[nodiscard]] const fpdu_list& fpdus() const { return fpdus_; }
    [[nodiscard]] const std::optional<srn_term_code>& error() const { return error_; }
    [[nodiscard]] std::string_view broken_rule() const { return rule_ ? rule_ : ""; }
    [[nodiscard]] bool at_boundary() const { return srn_fpdu_at_boundary(&parser_); }
    [[nodiscard]] std::size_t consumed() const { return consumed_; }
    [[nodiscard]] srn_fpdu_parser& parser() { return parser_; }

    [[nodiscard]] fpdu_list complete_fpdus() const {
        fpdu_list whole = fpdus_;
        std::erase_if(whole, [](const received_fpdu& f) { return !f.complete; });
        return whole;
    }

private:
    void rule(bool kept, const char* what) {
        if (!kept && !rule_) rule_ = what;
    }

    [[nodiscard]] bool open() const { return !fpdus_.empty() && !fpdus_.back().complete; }

    std::uint32_t stride(const std::uint8_t* in, std::uint32_t left) {
        std::uint32_t used = 0;
        srn_fpdu_continuation middle{};
        while (const std::uint32_t n =
                   srn_fpdu_parse_continuation(&parser_, in + used, left - used, &middle)) {
            rule(!fpdus_.empty() && at_boundary(), "a middle without a begin");
            rule(n <= left - used && middle.len > 0 && middle.payload > in + used &&
                     middle.payload + middle.len + SRN_CRC_LEN <= in + used + n,
                 "a middle beyond the input");
            if (rule_) return used;
            received_fpdu fpdu;
            fpdu.header_bytes.assign(in + used, middle.payload);
            srn_rdmap_get_header(exact_copy(fpdu.header_bytes).data(), &fpdu.header);
            rule(middle.offset == (fpdu.header.tagged ? fpdu.header.to : fpdu.header.mo),
                 "a middle elsewhere than it says");
            srn_rdmap_header alike = fpdus_.back().header;
            alike.to = fpdu.header.to;
            alike.mo = fpdu.header.mo;
            rule(alike == fpdu.header && !alike.last, "a middle of another message");
            fpdu.payload.assign(middle.payload, middle.payload + middle.len);
            fpdu.complete = true;
            fpdus_.push_back(fpdu);
            used += n;
            ++strides_;
        }
        consumed_ += used;
        return used;
    }

    std::uint32_t whole(const std::uint8_t* in, std::uint32_t left) {
        const bool between = at_boundary();
        const std::uint32_t n = srn_fpdu_parse_whole(&parser_, in, left);
        if (!n) return 0;
        rule(between && at_boundary(), "a whole FPDU within another one");
        rule(n <= left && parser_.header_len + parser_.payload_len + SRN_CRC_LEN <= n,
             "a whole FPDU beyond the input");
        take_header();
        if (rule_) return n;
        const std::uint8_t* payload = in + parser_.header_len;
        fpdus_.back().payload.assign(payload, payload + parser_.payload_len);
        fpdus_.back().complete = true;
        consumed_ += n;
        ++wholes_;
        return n;
    }

    void take(const srn_fpdu_event& event, const std::uint8_t* in, std::uint32_t used,
              std::uint32_t left) {
        switch (event.type) {
            case SRN_FPDU_MORE: rule(used == left, "MORE leaves input behind"); break;
            case SRN_FPDU_HEADER: take_header(); break;
            case SRN_FPDU_PAYLOAD: take_payload(event, in, used); break;
            case SRN_FPDU_END:
                rule(open(), "END without HEADER");
                rule(open() && fpdus_.back().payload.size() == parser_.payload_len,
                     "END too early");
                if (open()) fpdus_.back().complete = true;
                break;
            case SRN_FPDU_ERROR: error_ = event.term; break;
        }
        if (event.type == SRN_FPDU_END) rule(at_boundary(), "END is no boundary");
    }

    void take_header() {
        rule(!open(), "HEADER within an FPDU");
        rule(parser_.header_len == (parser_.rdmap.tagged ? SRN_TAGGED_HEADER : SRN_UNTAGGED_HEADER),
             "a header length that is not that of the header");
        const std::uint32_t ulpdu = static_cast<std::uint32_t>(parser_.header[0]) << 8 |
                                    static_cast<std::uint32_t>(parser_.header[1]);
        rule(parser_.payload_len + parser_.header_len == ulpdu + SRN_MPA_LENGTH,
             "a payload length that is not that of the ULPDU");
        fpdus_.push_back(
            {parser_.rdmap, {parser_.header, parser_.header + parser_.header_len}, {}, false});
    }

    void take_payload(const srn_fpdu_event& event, const std::uint8_t* in, std::uint32_t used) {
        rule(open(), "PAYLOAD without HEADER");
        rule(event.len > 0, "empty PAYLOAD");
        // What lies in front of it is the rest of a marker.
        rule(event.data >= in && event.data + event.len == in + used &&
                 (parser_.markers ? used - event.len <= SRN_MARKER_LEN : event.len == used),
             "PAYLOAD is not the input at hand");
        if (rule_) return;
        byte_vector& payload = fpdus_.back().payload;
        rule(event.offset == payload.size(), "PAYLOAD out of order");
        rule(payload.size() + event.len <= parser_.payload_len, "PAYLOAD beyond its end");
        payload.insert(payload.end(), event.data, event.data + event.len);
    }

    srn_fpdu_parser parser_{};
    fpdu_list fpdus_;
    std::optional<srn_term_code> error_;
    const char* rule_ = nullptr;
    std::size_t consumed_ = 0;
    std::size_t strides_ = 0;
    std::size_t wholes_ = 0;
    pace pace_;
};

inline receiver receive(byte_span stream, bool crc, const cut_list& cuts = {}, bool markers = false,
                        receiver::pace pace = receiver::pace::steps) {
    receiver r(crc, markers, pace);
    r.feed_all(stream, cuts);
    return r;
}

inline cut_list every_byte(std::size_t length) {
    cut_list cuts(length);
    for (std::size_t i = 0; i < length; i++) cuts[i] = i;
    return cuts;
}
