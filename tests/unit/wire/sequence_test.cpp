// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// What may come when: answers to Reads and atomics (RFC 5040 section 5.2), and the message that
// says that the peer is ready (RFC 6581 section 9.2). Numbers are untagged_test.cpp's.
#include <gtest/gtest.h>

#include "wire.hpp"

namespace {

constexpr srn_term_code none{0xee, 0xee, 0xee};
constexpr srn_term_code invalid_stag{1, 1, 0};
constexpr srn_term_code bounds{1, 1, 1};
constexpr srn_term_code no_buffer{1, 2, 2};
constexpr srn_term_code msn_range{1, 2, 3};
constexpr srn_term_code too_long{1, 2, 5};
constexpr srn_term_code unspecified_operation{0, 2, 0xff};

constexpr std::uint32_t sink = 0xff000001;
constexpr srn_request nothing{SRN_REQUEST_NONE, 0, 0};
constexpr srn_request read_of_40{SRN_REQUEST_READ, sink, 40};
constexpr srn_request empty_read{SRN_REQUEST_READ, sink, 0};
constexpr srn_request atomic{SRN_REQUEST_ATOMIC, sink, 8};

srn_rdmap_header response(std::uint64_t to, bool last, std::uint32_t stag = sink) {
    return {.opcode = SRN_OP_READ_RESPONSE, .tagged = true, .last = last, .stag = stag, .to = to};
}

srn_rdmap_header untagged(srn_rdmap_opcode op, std::uint32_t msn = 1, bool last = true) {
    return {.opcode = static_cast<std::uint8_t>(op),
            .last = last,
            .qn = srn_opcodes[op].qn,
            .msn = msn};
}

class Sequence : public testing::Test {
protected:
    explicit Sequence(bool rtr_read = false, bool rtr_send = false) {
        srn_sequence_init(&q_, rtr_read, rtr_send);
    }

    /// Why it is refused, or `none`. What is allowed is complete at once.
    srn_term_code come(const srn_rdmap_header& h, std::uint32_t payload,
                       const srn_request& oldest = nothing) {
        srn_term_code term = none;
        if (srn_sequence_check(&q_, &h, payload, &oldest, &term)) return term;
        delivered_ = srn_sequence_advance(&q_, &h, payload);
        return none;
    }

    srn_sequence q_{};
    bool delivered_ = false;
};

class ReadyRead : public Sequence {
protected:
    ReadyRead() : Sequence(true, false) {}
};
class ReadySend : public Sequence {
protected:
    ReadySend() : Sequence(false, true) {}
};

TEST_F(Sequence, ReadAnsweredInSegments) {
    EXPECT_EQ(come(response(0, false), 30, read_of_40), none);
    EXPECT_FALSE(delivered_);
    EXPECT_TRUE(q_.read_open);
    EXPECT_EQ(come(response(30, false), 0, read_of_40), none);
    EXPECT_EQ(come(response(30, true), 10, read_of_40), none);
    EXPECT_TRUE(delivered_);
    EXPECT_FALSE(q_.read_open);
    // The next one begins at 0 again.
    EXPECT_EQ(come(response(0, true), 40, read_of_40), none);
    EXPECT_EQ(come(response(0, true), 0, empty_read), none);
    EXPECT_TRUE(delivered_);
}

TEST_F(Sequence, ReadAnsweredWrongly) {
    EXPECT_EQ(come(response(0, true), 40, nothing), invalid_stag);
    EXPECT_EQ(come(response(0, true), 8, atomic), invalid_stag);
    EXPECT_EQ(come(response(0, true, sink + 1), 40, read_of_40), invalid_stag);
    EXPECT_EQ(come(response(1, true), 40, read_of_40), bounds);
    EXPECT_EQ(come(response(~0ULL, true), 40, read_of_40), bounds);
    EXPECT_EQ(come(response(0, true), 41, read_of_40), bounds);
    EXPECT_EQ(come(response(0, false), 41, read_of_40), bounds);
    EXPECT_EQ(come(response(0, true), 39, read_of_40), bounds);
    EXPECT_EQ(come(response(0, true), 0, read_of_40), bounds);
    EXPECT_EQ(come(response(0, true), 1, empty_read), bounds);
    ASSERT_EQ(come(response(0, false), 30, read_of_40), none);
    EXPECT_EQ(come(response(0, true), 10, read_of_40), bounds);
    EXPECT_EQ(come(response(30, true), 11, read_of_40), bounds);
    EXPECT_EQ(come(response(30, true), 9, read_of_40), bounds);
}

// A segment that goes on is allowed in one step exactly where it is in two.
TEST_F(Sequence, MiddleOfARead) {
    EXPECT_EQ(come(response(0, false), 10, read_of_40), none);
    const srn_rdmap_header before = response(0, false);
    const srn_sequence unchanged = q_;
    EXPECT_FALSE(srn_sequence_continue(&q_, &before, 9, 5));
    EXPECT_FALSE(srn_sequence_continue(&q_, &before, 11, 5));
    EXPECT_FALSE(srn_sequence_continue(&q_, &before, 10, 31));
    EXPECT_FALSE(srn_sequence_continue(&q_, &before, 10 + (1ULL << 32), 5));
    EXPECT_EQ(q_.read_done, unchanged.read_done);
    EXPECT_TRUE(srn_sequence_continue(&q_, &before, 10, 25));
    EXPECT_FALSE(srn_sequence_continue(&q_, &before, 35, 6));
    EXPECT_EQ(come(response(35, true), 5, read_of_40), none);
    EXPECT_TRUE(delivered_);
}

TEST_F(Sequence, MiddleOfASend) {
    srn_rdmap_header h = untagged(SRN_OP_SEND, 1, false);
    EXPECT_EQ(come(h, 100), none);
    EXPECT_FALSE(srn_sequence_continue(&q_, &h, 99, 10));
    EXPECT_FALSE(srn_sequence_continue(&q_, &h, 100, 0xffffffff));
    EXPECT_TRUE(srn_sequence_continue(&q_, &h, 100, 10));
    h.mo = 110;
    h.last = true;
    EXPECT_EQ(come(h, 1), none);
    EXPECT_TRUE(delivered_);
}

TEST_F(Sequence, MiddleOfAWriteIsAnywhere) {
    const srn_rdmap_header h{.opcode = SRN_OP_WRITE, .tagged = true};
    EXPECT_EQ(come(h, 10), none);
    EXPECT_TRUE(srn_sequence_continue(&q_, &h, 0, 0xffffffff));
    EXPECT_TRUE(srn_sequence_continue(&q_, &h, 0xffffffffffffffff, 1));
}

TEST_F(Sequence, AtomicAnswered) {
    EXPECT_EQ(come(untagged(SRN_OP_ATOMIC_RESPONSE), 12, nothing), no_buffer);
    EXPECT_EQ(come(untagged(SRN_OP_ATOMIC_RESPONSE), 12, read_of_40), no_buffer);
    EXPECT_EQ(come(untagged(SRN_OP_ATOMIC_RESPONSE), 12, atomic), none);
    EXPECT_TRUE(delivered_);
    EXPECT_EQ(come(untagged(SRN_OP_ATOMIC_RESPONSE), 12, atomic), msn_range);
    EXPECT_EQ(come(untagged(SRN_OP_ATOMIC_RESPONSE, 2), 13, atomic), too_long);
}

TEST_F(Sequence, TerminateIsNoLongerThanItCanBe) {
    EXPECT_EQ(come(untagged(SRN_OP_TERMINATE), SRN_TERM_MAX + 1), too_long);
    EXPECT_EQ(come(untagged(SRN_OP_TERMINATE), SRN_TERM_MAX), none);
    EXPECT_TRUE(delivered_);
}

// Of a message that goes on, srn_sequence_continue() would not ask how long it gets.
TEST_F(Sequence, TerminateIsOneSegment) {
    EXPECT_EQ(come(untagged(SRN_OP_TERMINATE, 1, false), 4), unspecified_operation);
    EXPECT_EQ(come(untagged(SRN_OP_TERMINATE), 4), none);
    EXPECT_TRUE(delivered_);
}

TEST_F(Sequence, WritesAtAnyTime) {
    const srn_rdmap_header write{.opcode = SRN_OP_WRITE, .tagged = true, .last = true, .to = ~0ULL};
    EXPECT_EQ(come(write, 100), none);
    EXPECT_TRUE(delivered_);
}

TEST_F(Sequence, AnEmptySendIsAMessage) {
    EXPECT_EQ(come(untagged(SRN_OP_SEND), 0), none);
    EXPECT_TRUE(delivered_);
}

TEST_F(ReadySend, EmptySendIsNone) {
    EXPECT_EQ(come(untagged(SRN_OP_SEND), 0), none);
    EXPECT_FALSE(delivered_);
    EXPECT_TRUE(q_.rtr);
    // But it has a number; and there is only one.
    EXPECT_EQ(come(untagged(SRN_OP_SEND), 0), msn_range);
    EXPECT_EQ(come(untagged(SRN_OP_SEND, 2), 0), none);
    EXPECT_TRUE(delivered_);
}

TEST_F(ReadySend, OnlyAsTheFirstMessage) {
    const srn_rdmap_header write{.opcode = SRN_OP_WRITE, .tagged = true, .last = true};
    EXPECT_EQ(come(write, 0), none);
    EXPECT_EQ(come(untagged(SRN_OP_SEND), 0), none);
    EXPECT_TRUE(delivered_);
}

TEST_F(ReadySend, OnlyIfEmptyAndWhole) {
    EXPECT_EQ(come(untagged(SRN_OP_SEND, 1, false), 0), none);
    EXPECT_FALSE(q_.rtr);
    EXPECT_EQ(come(untagged(SRN_OP_SEND), 0), none);
    EXPECT_TRUE(delivered_);
}

TEST_F(ReadyRead, EmptyResponseIsNoMessage) {
    // Whatever its STag and offset are.
    EXPECT_EQ(come(response(77, true, 3), 0, nothing), none);
    EXPECT_FALSE(delivered_);
    EXPECT_EQ(come(response(77, true, 3), 0, nothing), invalid_stag);
    EXPECT_EQ(come(response(0, true), 40, read_of_40), none);
    EXPECT_TRUE(delivered_);
}

TEST_F(ReadyRead, NotWithinTheAnswerToAnother) {
    EXPECT_EQ(come(response(0, false), 40, read_of_40), none);
    EXPECT_EQ(come(response(40, true), 0, read_of_40), none);
    EXPECT_TRUE(delivered_);
    EXPECT_FALSE(q_.read_open);
}

}  // namespace
