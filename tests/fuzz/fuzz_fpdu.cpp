// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// A hostile byte stream through the FPDU parser, and what comes out of it through the DDP/RDMAP
// checks and the Terminate codec.
//
// Input: flags and distance of the first marker, where to damage the stream and number of cuts,
// that many piece lengths, the stream.
#include <array>
#include <string>

#include "fuzz.hpp"
#include "stream.hpp"

namespace {

constexpr unsigned with_crc = 1;
// No mutation guesses a CRC; with this flag each FPDU gets the one that it should have.
constexpr unsigned with_good_crcs = 2;
// The untagged queues begin where message offset and sequence number end.
constexpr unsigned near_wrap = 4;
constexpr unsigned with_markers = 8;
// The stream is looked at from somewhere on, so that a short one has a marker anywhere.
constexpr std::uint32_t marker_distance(std::uint8_t flags) {
    return (flags >> 4) * SRN_MARKER_LEN;
}
constexpr srn_untagged_queue wrapping_queue{0xffffffff, 0xffffffc0};
constexpr std::size_t max_cuts = 15;

struct fuzz_input {
    bool crc = false;
    bool markers = false;
    std::uint32_t position = 0;
    srn_untagged_queue queue{1, 0};
    cut_list cuts;
    byte_vector stream;
};

fuzz_input decode_input(byte_span data) {
    fuzz_input in;
    in.crc = data[0] & with_crc;
    in.markers = data[0] & with_markers;
    if (in.markers) in.position = -marker_distance(data[0]);
    if (data[0] & near_wrap) in.queue = wrapping_queue;
    const std::size_t cuts = std::min<std::size_t>(data[1] & max_cuts, data.size() - 2);
    in.stream.assign(data.begin() + 2 + static_cast<std::ptrdiff_t>(cuts), data.end());
    std::size_t at = 0;
    for (const std::uint8_t length : data.subspan(2, cuts)) {
        at = std::min(at + length, in.stream.size());
        in.cuts.push_back(at);
    }
    // Which does not look for markers.
    if (data[0] & with_good_crcs && !in.markers) repair_crcs(in.stream);
    // A good FPDU in front of a damaged one is as hard to find.
    const std::size_t sixteenths = data[1] >> 4;
    if (sixteenths && !in.stream.empty()) in.stream[in.stream.size() * sixteenths / 16] ^= 1;
    return in;
}

void require_rules(const receiver& r) {
    require(r.broken_rule().empty(), r.broken_rule().data());
    if (!r.error()) return;
    require(!r.at_boundary(), "a failed stream is at no boundary");
    require(r.error()->layer == SRN_LAYER_LLP && r.error()->etype == SRN_LLP_MPA &&
                (r.error()->ecode == SRN_MPA_CRC || r.error()->ecode == SRN_MPA_LENGTH_MARKER),
            "an error that is none of MPA's");
}

receiver receive_input(const fuzz_input& in, const cut_list& cuts,
                       receiver::pace pace = receiver::pace::steps) {
    receiver r(in.crc, in.markers, pace);
    r.parser().position = in.position;
    r.feed_all(in.stream, cuts);
    require_rules(r);
    return r;
}

// An FPDU in one piece has its CRC checked first, one in several pieces last. So a stream that
// fails may fail earlier or later within the FPDU at fault, but never in another FPDU.
void require_same(const receiver& a, const receiver& b, bool crc) {
    require(a.error().has_value() == b.error().has_value(), "failure depends on the cuts");
    if (crc && a.error()) {
        require(a.complete_fpdus() == b.complete_fpdus(), "complete FPDUs depend on the cuts");
        return;
    }
    require(a.fpdus() == b.fpdus(), "FPDUs depend on the cuts");
    require(a.error() == b.error(), "the error depends on the cuts");
    require(a.consumed() == b.consumed(), "consumption depends on the cuts");
    require(a.at_boundary() == b.at_boundary(), "the boundary depends on the cuts");
}

void terminate_round_trip(srn_term_code code, const received_fpdu& fpdu) {
    const exact_copy offender(fpdu.header_bytes);
    std::array<std::uint8_t, SRN_TERM_MAX> out{};
    srn_wire_read_request rreq{};
    const bool is_read = fpdu.payload.size() == sizeof(rreq);
    if (is_read)
        std::copy(fpdu.payload.begin(), fpdu.payload.end(), reinterpret_cast<std::uint8_t*>(&rreq));
    const std::uint32_t length = srn_rdmap_put_terminate(
        out.data(), code, offender.data(), offender.size(), is_read ? &rreq : nullptr);
    require(length >= 4 && length <= out.size(), "Terminate length");
    for (std::uint32_t n = 0; n <= length; n++) {
        const exact_copy part(byte_span(out).first(n));
        srn_terminate t;
        const int status = srn_rdmap_get_terminate(part.data(), n, &t);
        require((status == 0) == (n == length), "a Terminate that is cut short is refused");
        if (status) continue;
        require(t.code == code, "Terminate code survives");
        require(!t.has_header || t.header == fpdu.header, "Terminate header survives");
    }
}

// A header that passes the checks is one that our sender could have written.
void encode_round_trip(const srn_rdmap_header& h, std::uint32_t payload) {
    const auto op = static_cast<srn_rdmap_opcode>(h.opcode);
    byte_vector bytes;
    if (h.tagged) {
        srn_wire_tagged w;
        srn_rdmap_put_tagged(&w, op, h.stag, h.to, payload, h.last);
        bytes = bytes_of(w);
    } else {
        srn_wire_untagged w;
        srn_rdmap_put_untagged(&w, op, h.stag, h.msn, h.mo, payload, h.last);
        bytes = bytes_of(w);
    }
    srn_rdmap_header back;
    srn_rdmap_get_header(exact_copy(bytes).data(), &back);
    srn_rdmap_header canonical = h;
    // Reserved bits are ignored, and not sent.
    canonical.ddp_ctrl &= SRN_DDP_TAGGED | SRN_DDP_LAST | SRN_DDP_VERSION_MASK;
    canonical.rdmap_ctrl &= SRN_RDMAP_VERSION_MASK | SRN_RDMAP_OPCODE_MASK;
    require(back == canonical, "header survives");
}

class message_layer {
public:
    explicit message_layer(srn_untagged_queue q) : queues_{q, q, q, q} {}

    void segment(const received_fpdu& fpdu) {
        const srn_rdmap_header& h = fpdu.header;
        const auto payload = static_cast<std::uint32_t>(fpdu.payload.size());
        srn_term_code term{};
        if (srn_rdmap_check_header(&h, &term)) {
            terminate_round_trip(term, fpdu);
            return;
        }
        require(srn_opcodes[h.opcode].known, "a message that is not spoken");
        encode_round_trip(h, payload);
        if (h.tagged) return;
        require(h.qn < queues_.size(), "a queue that does not exist");
        srn_untagged_queue& q = queues_[h.qn];
        const srn_untagged_queue before = q;
        if (srn_rdmap_check_untagged(&q, &h, payload, &term)) {
            terminate_round_trip(term, fpdu);
            return;
        }
        srn_rdmap_advance_untagged(&q, payload, h.last);
        require(q.mo >= before.mo || h.last, "the message offset never wraps");
        require(q.msn == before.msn + (h.last ? 1 : 0), "one message at a time");
        if (h.opcode == SRN_OP_TERMINATE) take_terminate(fpdu.payload);
    }

private:
    static void take_terminate(byte_span payload) {
        const exact_copy bytes(payload);
        srn_terminate t;
        if (srn_rdmap_get_terminate(bytes.data(), bytes.size(), &t) == 0)
            require(!t.has_header || bytes.size() >= 4 + SRN_TAGGED_HEADER,
                    "header out of nothing");
    }

    std::array<srn_untagged_queue, SRN_QN_COUNT> queues_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return -1;
    const scratch_memory scratch;
    const fuzz_input in = decode_input({data, size});
    const receiver cut = receive_input(in, in.cuts);
    const receiver whole = receive_input(in, {});
    require_same(cut, whole, in.crc);
    const receiver bytewise = receive_input(in, every_byte(in.stream.size()));
    require_same(cut, bytewise, in.crc);
    const receiver strides = receive_input(in, in.cuts, receiver::pace::strides);
    require_same(cut, strides, in.crc);

    message_layer messages(in.queue);
    for (const received_fpdu& fpdu : cut.complete_fpdus()) messages.segment(fpdu);
    return 0;
}
