// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Headers of a hostile peer, one after the other, through all that the module checks before it
// places a segment: the header by itself, and what it has to follow upon. A model that keeps count
// in its own way says what may be let through.
//
// Input: which ready messages are awaited, then steps. 0x00 to 0x3f: this end asks for a Read of
// the length in two bytes; to 0x7f: for an atomic; else a segment of the peer: two bytes of payload
// length, then MPA length and header as they are on the wire.
#include <array>
#include <deque>

#include "fuzz.hpp"
#include "wire.hpp"

namespace {

constexpr unsigned rtr_read = 1, rtr_send = 2, near_wrap = 4;
constexpr std::uint32_t first_number = 1, number_near_wrap = 0xffffffff;

/// Takes bytes from the front; zeros behind the end.
class source {
public:
    explicit source(byte_span from) : left_(from) {}

    [[nodiscard]] bool empty() const { return left_.empty(); }
    std::uint8_t byte() {
        if (left_.empty()) return 0;
        const std::uint8_t taken = left_.front();
        left_ = left_.subspan(1);
        return taken;
    }
    std::uint32_t number() {
        const std::uint32_t high = byte();
        return high << 8 | byte();
    }
    std::array<std::uint8_t, SRN_MAX_HEADER> header() {
        std::array<std::uint8_t, SRN_MAX_HEADER> taken{};
        for (std::uint8_t& b : taken) b = byte();
        return taken;
    }

private:
    byte_span left_;
};

/// What has been let through must fit this.
class model {
public:
    explicit model(unsigned flags) : rtr_read_(flags & rtr_read), rtr_send_(flags & rtr_send) {
        numbers_.fill(flags & near_wrap ? number_near_wrap : first_number);
    }

    void ask(srn_request_kind kind, std::uint32_t length) {
        requests_.push_back({kind, 0xff000000 | asked_++, length});
    }
    [[nodiscard]] srn_request oldest() const {
        return requests_.empty() ? srn_request{SRN_REQUEST_NONE, 0, 0} : requests_.front();
    }

    /// A segment was let through, and is complete. Return: a message is.
    bool accept(const srn_rdmap_header& h, std::uint32_t payload) {
        const bool first = !anything_;
        anything_ = true;
        if (h.opcode == SRN_OP_WRITE) return h.last;
        if (h.opcode == SRN_OP_READ_RESPONSE) return accept_read_response(h, payload);
        require(h.qn < numbers_.size(), "a queue that does not exist");
        require(h.msn == numbers_[h.qn], "another message than the next one");
        require(h.mo == offsets_[h.qn], "another offset than the next one");
        offsets_[h.qn] = h.last ? 0 : offsets_[h.qn] + payload;
        if (h.last) ++numbers_[h.qn];
        if (first && rtr_send_ && h.opcode == SRN_OP_SEND && payload == 0 && h.last) return false;
        accept_control(h, payload);
        return h.last;
    }

private:
    bool accept_read_response(const srn_rdmap_header& h, std::uint32_t payload) {
        if (rtr_read_ && received_ == 0 && !in_response_ && payload == 0 && h.last) {
            rtr_read_ = false;
            return false;
        }
        require(oldest().kind == SRN_REQUEST_READ, "an answer to no Read");
        require(h.stag == oldest().sink_stag, "an answer to another Read");
        require(h.to == received_, "bytes elsewhere in the Read");
        received_ += payload;
        require(received_ <= oldest().length, "more than was asked for");
        in_response_ = !h.last;
        if (!h.last) return false;
        require(received_ == oldest().length, "less than was asked for");
        requests_.pop_front();
        received_ = 0;
        return true;
    }

    /// What the receive side copies to its own memory has to fit.
    void accept_control(const srn_rdmap_header& h, std::uint32_t payload) {
        const srn_opcode_info& info = srn_opcodes[h.opcode];
        require(info.ctl_len == 0 || (payload == info.ctl_len && h.last),
                "a control message of another length");
        require(h.qn == SRN_QN_SEND || (payload <= SRN_TERM_MAX && h.last),
                "a control message too long");
        if (h.opcode != SRN_OP_ATOMIC_RESPONSE) return;
        require(oldest().kind == SRN_REQUEST_ATOMIC, "an answer to no atomic");
        requests_.pop_front();
    }

    bool rtr_read_;
    bool rtr_send_;
    bool anything_ = false;
    std::array<std::uint32_t, SRN_QN_COUNT> numbers_{};
    std::array<std::uint32_t, SRN_QN_COUNT> offsets_{};
    std::deque<srn_request> requests_;
    std::uint32_t asked_ = 0;
    std::uint64_t received_ = 0;
    bool in_response_ = false;
};

/// Would it go on where the one before ended? Then one step says what two say.
bool is_middle(const srn_rdmap_header& before, const srn_rdmap_header& h, std::uint32_t payload) {
    srn_rdmap_header alike = before;
    alike.to = h.to;
    alike.mo = h.mo;
    return alike == h && !h.last && payload > 0;
}

/// Numbers of RFC 5040 and RFC 5041 for what a header can do wrong.
void require_known(const srn_term_code& term) {
    const bool tagged = term.layer == SRN_LAYER_DDP && term.etype == SRN_DDP_TAGGED_BUFFER &&
                        term.ecode <= SRN_TAGGED_VERSION;
    const bool untagged = term.layer == SRN_LAYER_DDP && term.etype == SRN_DDP_UNTAGGED_BUFFER &&
                          term.ecode >= SRN_UNTAGGED_QN && term.ecode <= SRN_UNTAGGED_VERSION;
    const bool operation = term.layer == SRN_LAYER_RDMAP &&
                           term.etype == SRN_RDMAP_REMOTE_OPERATION &&
                           (term.ecode == SRN_OPER_VERSION || term.ecode == SRN_OPER_OPCODE ||
                            term.ecode == SRN_OPER_UNSPECIFIED);
    require(tagged || untagged || operation, "a refusal without a reason");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    source in({data, size});
    const unsigned flags = in.byte();
    srn_sequence sequence{};
    srn_sequence_init(&sequence, flags & rtr_read, flags & rtr_send);
    if (flags & near_wrap)
        for (srn_untagged_queue& q : sequence.queue) q.msn = number_near_wrap;
    model m(flags);
    // Says "last" until there is one.
    srn_rdmap_header before{};
    before.last = true;
    while (!in.empty()) {
        const std::uint8_t step = in.byte();
        if (step < 0x80) {
            const bool read = step < 0x40;
            m.ask(read ? SRN_REQUEST_READ : SRN_REQUEST_ATOMIC,
                  read ? in.number() : SRN_ATOMIC_SIZE);
            continue;
        }
        const std::uint32_t payload = in.number();
        const auto bytes = in.header();
        srn_rdmap_header h{};
        srn_rdmap_get_header(bytes.data(), &h);
        srn_term_code term{0xee, 0xee, 0xee};
        const srn_request oldest = m.oldest();
        srn_sequence in_one_step = sequence;
        const bool goes_on =
            is_middle(before, h, payload) &&
            srn_sequence_continue(&in_one_step, &before, h.tagged ? h.to : h.mo, payload);
        if (srn_rdmap_check_header(&h, &term) ||
            srn_sequence_check(&sequence, &h, payload, &oldest, &term)) {
            // The stream ends here.
            require(!goes_on, "allowed in one step only");
            require_known(term);
            break;
        }
        const bool delivered = srn_sequence_advance(&sequence, &h, payload);
        require(delivered == m.accept(h, payload), "what is a message");
        require(goes_on == is_middle(before, h, payload), "not allowed in one step");
        if (goes_on) {
            require(in_one_step.read_done == sequence.read_done, "another offset in a Read");
            require(h.tagged || in_one_step.queue[h.qn].mo == sequence.queue[h.qn].mo,
                    "another message offset");
        }
        before = h;
    }
    return 0;
}
