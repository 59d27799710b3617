// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Message sequence numbers and offsets of the untagged queues (RFC 5041 sections 4.3 and 7.1).
#include <gtest/gtest.h>

#include <cerrno>

#include "wire.hpp"

namespace {

constexpr std::uint32_t max = 0xffffffff;
constexpr srn_term_code untouched{0xee, 0xee, 0xee};
constexpr srn_term_code msn_range{1, 2, 3};
constexpr srn_term_code invalid_mo{1, 2, 4};
constexpr srn_term_code too_long{1, 2, 5};
constexpr srn_term_code unspecified{0, 2, 0xff};

struct segment_case {
    const char* name;
    srn_untagged_queue queue;  // what is expected
    std::uint8_t op;
    std::uint32_t msn, mo, payload;
    bool last;
    srn_term_code term;  // untouched: accepted
};

void PrintTo(const segment_case& c, std::ostream* out) {
    *out << c.name;
}

const segment_case segment_cases[] = {
    {"first", {1, 0}, SRN_OP_SEND, 1, 0, 100, false, untouched},
    {"only", {1, 0}, SRN_OP_SEND, 1, 0, 100, true, untouched},
    {"empty", {1, 0}, SRN_OP_SEND, 1, 0, 0, true, untouched},
    {"next_segment", {1, 100}, SRN_OP_SEND, 1, 100, 50, true, untouched},
    {"msn_after_wrap", {0, 0}, SRN_OP_SEND, 0, 0, 1, true, untouched},
    {"msn_before_wrap", {max, 0}, SRN_OP_SEND, max, 0, 1, true, untouched},
    {"msn_repeated", {2, 0}, SRN_OP_SEND, 1, 0, 1, true, msn_range},
    {"msn_skipped", {2, 0}, SRN_OP_SEND, 3, 0, 1, true, msn_range},
    {"msn_zero_at_first", {1, 0}, SRN_OP_SEND, 0, 0, 1, true, msn_range},
    {"msn_one_instead_of_wrap", {0, 0}, SRN_OP_SEND, 1, 0, 1, true, msn_range},
    {"msn_changes_within_message", {1, 100}, SRN_OP_SEND, 2, 100, 1, true, msn_range},
    {"msn_and_mo_wrong", {1, 0}, SRN_OP_SEND, 2, 1, 1, true, msn_range},
    {"mo_at_first", {1, 0}, SRN_OP_SEND, 1, 1, 1, true, invalid_mo},
    {"mo_gap", {1, 100}, SRN_OP_SEND, 1, 101, 1, true, invalid_mo},
    {"mo_overlap", {1, 100}, SRN_OP_SEND, 1, 99, 1, true, invalid_mo},
    {"mo_restarts", {1, 100}, SRN_OP_SEND, 1, 0, 1, true, invalid_mo},
    {"ends_at_4_gib", {1, max - 10}, SRN_OP_SEND, 1, max - 10, 10, true, untouched},
    {"exceeds_4_gib", {1, max - 10}, SRN_OP_SEND, 1, max - 10, 11, true, too_long},
    {"empty_at_4_gib", {1, max}, SRN_OP_SEND, 1, max, 0, true, untouched},
    {"exceeds_by_one", {1, max}, SRN_OP_SEND, 1, max, 1, true, too_long},
    {"solicited", {9, 0}, SRN_OP_SEND_SE, 9, 0, 5, true, untouched},
    {"invalidating", {9, 0}, SRN_OP_SEND_INV, 9, 0, 5, true, untouched},
    {"read_request", {1, 0}, SRN_OP_READ_REQUEST, 1, 0, 28, true, untouched},
    {"read_request_empty", {1, 0}, SRN_OP_READ_REQUEST, 1, 0, 0, true, unspecified},
    {"read_request_short", {1, 0}, SRN_OP_READ_REQUEST, 1, 0, 27, true, unspecified},
    {"read_request_long", {1, 0}, SRN_OP_READ_REQUEST, 1, 0, 29, true, too_long},
    {"read_request_goes_on", {1, 0}, SRN_OP_READ_REQUEST, 1, 0, 28, false, unspecified},
    {"read_request_segmented", {1, 0}, SRN_OP_READ_REQUEST, 1, 0, 14, false, unspecified},
    {"read_request_msn", {2, 0}, SRN_OP_READ_REQUEST, 1, 0, 28, true, msn_range},
    {"read_request_mo", {1, 0}, SRN_OP_READ_REQUEST, 1, 28, 28, true, invalid_mo},
    {"terminate", {1, 0}, SRN_OP_TERMINATE, 1, 0, 4, true, untouched},
    {"terminate_with_headers", {1, 0}, SRN_OP_TERMINATE, 1, 0, 52, true, untouched},
};

class UntaggedSegment : public testing::TestWithParam<segment_case> {};

TEST_P(UntaggedSegment, IsChecked) {
    const segment_case& c = GetParam();
    srn_rdmap_header h{};
    h.opcode = c.op;
    h.qn = srn_opcodes[c.op].qn;
    h.msn = c.msn;
    h.mo = c.mo;
    h.last = c.last;
    srn_term_code term = untouched;
    EXPECT_EQ(srn_rdmap_check_untagged(&c.queue, &h, c.payload, &term),
              c.term == untouched ? 0 : -EPROTO);
    EXPECT_EQ(term, c.term);
}

INSTANTIATE_TEST_SUITE_P(All, UntaggedSegment, testing::ValuesIn(segment_cases),
                         [](const auto& i) { return i.param.name; });

TEST(AdvanceUntagged, CountsSegmentsAndMessages) {
    srn_untagged_queue q{1, 0};
    srn_rdmap_advance_untagged(&q, 1000, false);
    EXPECT_EQ(q.msn, 1U);
    EXPECT_EQ(q.mo, 1000U);
    srn_rdmap_advance_untagged(&q, 0, false);
    EXPECT_EQ(q.mo, 1000U);
    srn_rdmap_advance_untagged(&q, 24, true);
    EXPECT_EQ(q.msn, 2U);
    EXPECT_EQ(q.mo, 0U);
}

TEST(AdvanceUntagged, MsnWrapsToZero) {
    srn_untagged_queue q{max, 0};
    srn_rdmap_advance_untagged(&q, 1, true);
    EXPECT_EQ(q.msn, 0U);
    srn_rdmap_advance_untagged(&q, 1, true);
    EXPECT_EQ(q.msn, 1U);
}

// What a segmenting sender writes is what the receiver expects, across the wrap.
TEST(AdvanceUntagged, FollowsASender) {
    srn_untagged_queue sender{max - 3, 0};
    srn_untagged_queue receiver = sender;
    for (std::uint32_t i = 0; i < 64; i++) {
        const std::uint32_t payload = i * 37 % 1400;
        const bool last = i % 5 == 4;
        srn_wire_untagged w;
        srn_rdmap_put_untagged(&w, SRN_OP_SEND, 0, sender.msn, sender.mo, payload, last);
        srn_rdmap_header h;
        srn_rdmap_get_header(bytes_of(w).data(), &h);
        srn_term_code term{};
        ASSERT_EQ(srn_rdmap_check_header(&h, &term), 0);
        ASSERT_EQ(srn_rdmap_check_untagged(&receiver, &h, payload, &term), 0) << term;
        srn_rdmap_advance_untagged(&sender, payload, last);
        srn_rdmap_advance_untagged(&receiver, payload, last);
        // A second copy of a segment that brought anything is refused.
        if (payload || last) {
            EXPECT_EQ(srn_rdmap_check_untagged(&receiver, &h, payload, &term), -EPROTO);
        }
    }
    EXPECT_EQ(receiver.msn, max - 3 + 12);
}

}  // namespace
