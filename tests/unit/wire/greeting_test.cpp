// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// How two softrnics recognise each other.
#include <gtest/gtest.h>

#include <cstdint>

#include "wire.hpp"

namespace {

constexpr std::uint64_t initiator_nonce = 0x123456789abc;
constexpr std::uint32_t responder_nonce = 0xfedcba;

/// STag and offset of a Write without payload.
struct empty_write {
    u32 stag = 0;
    u64 to = 0;
};

class Greeting : public ::testing::Test {
protected:
    Greeting() {
        srn_greeting_begin(&initiator, true, 0x0013, 0xffff000000000000 | initiator_nonce);
        srn_greeting_begin(&responder, false, 0x0031, 0xff000000 | responder_nonce);
    }

    static empty_write put(const srn_greeting& g, srn_greeting_kind kind) {
        empty_write w;
        srn_greeting_put(&g, kind, &w.stag, &w.to);
        return w;
    }

    static srn_greeting_kind take(srn_greeting& g, const empty_write& w) {
        return srn_greeting_take(&g, w.stag, w.to);
    }

    /// Up to the answer, which is returned.
    empty_write answer() {
        EXPECT_EQ(take(responder, put(initiator, SRN_GREETING_HELLO)), SRN_GREETING_HELLO);
        return put(responder, SRN_GREETING_ANSWER);
    }

    empty_write confirm() {
        EXPECT_EQ(take(initiator, answer()), SRN_GREETING_ANSWER);
        return put(initiator, SRN_GREETING_CONFIRM);
    }

    srn_greeting initiator{};
    srn_greeting responder{};
};

TEST_F(Greeting, Literal) {
    const empty_write hello = put(initiator, SRN_GREETING_HELLO);
    EXPECT_EQ(hello.stag, 0x73724701U);
    EXPECT_EQ(hello.to, 0x0013123456789abcU);
    const empty_write back = answer();
    EXPECT_EQ(back.stag, 0x73724702U);
    EXPECT_EQ(back.to & 0xffff000000ffffff, 0x0011000000fedcbaU);
}

TEST_F(Greeting, BothAgreeOnWhatBothOffer) {
    EXPECT_EQ(take(responder, confirm()), SRN_GREETING_CONFIRM);
    EXPECT_EQ(initiator.features, 0x0011);
    EXPECT_EQ(responder.features, 0x0011);
}

TEST_F(Greeting, NothingIsTakenTwice) {
    const empty_write hello = put(initiator, SRN_GREETING_HELLO);
    const empty_write back = answer();
    EXPECT_EQ(take(responder, hello), SRN_GREETING_NONE);
    EXPECT_EQ(take(initiator, back), SRN_GREETING_ANSWER);
    EXPECT_EQ(take(initiator, back), SRN_GREETING_NONE);
    const empty_write last = put(initiator, SRN_GREETING_CONFIRM);
    EXPECT_EQ(take(responder, last), SRN_GREETING_CONFIRM);
    EXPECT_EQ(take(responder, last), SRN_GREETING_NONE);
}

TEST_F(Greeting, EachBitOfAProofCounts) {
    const empty_write right = answer();
    // Of an answer the features, of which none may be added, and the 24 bits of proof.
    for (unsigned bit = 24; bit < 48; ++bit) {
        SCOPED_TRACE(bit);
        EXPECT_EQ(take(initiator, {right.stag, right.to ^ std::uint64_t{1} << bit}),
                  SRN_GREETING_NONE);
    }
    EXPECT_EQ(take(initiator, {right.stag, right.to | std::uint64_t{1} << 53}), SRN_GREETING_NONE);
    EXPECT_EQ(take(initiator, right), SRN_GREETING_ANSWER);
    const empty_write last = put(initiator, SRN_GREETING_CONFIRM);
    for (unsigned bit = 0; bit < 64; ++bit) {
        SCOPED_TRACE(bit);
        EXPECT_EQ(take(responder, {last.stag, last.to ^ std::uint64_t{1} << bit}),
                  SRN_GREETING_NONE);
    }
    EXPECT_EQ(take(responder, last), SRN_GREETING_CONFIRM);
}

TEST_F(Greeting, OtherStagsSayNothing) {
    const empty_write hello = put(initiator, SRN_GREETING_HELLO);
    for (unsigned bit = 0; bit < 32; ++bit) {
        SCOPED_TRACE(bit);
        EXPECT_EQ(take(responder, {hello.stag ^ 1U << bit, hello.to}), SRN_GREETING_NONE);
    }
    EXPECT_EQ(take(responder, {0, 0}), SRN_GREETING_NONE);
    EXPECT_EQ(take(responder, {hello.stag & ~0xffU, hello.to}), SRN_GREETING_NONE);
    EXPECT_EQ(responder.features, 0x0031);
}

TEST_F(Greeting, TheAnswerToSomebodyElseIsNone) {
    srn_greeting other{};
    srn_greeting_begin(&other, true, 0x0013, initiator_nonce + 1);
    EXPECT_EQ(take(other, answer()), SRN_GREETING_NONE);
}

TEST_F(Greeting, OneThatDoesNotTakePartExpectsNothing) {
    srn_greeting none{};
    EXPECT_EQ(take(none, put(initiator, SRN_GREETING_HELLO)), SRN_GREETING_NONE);
    EXPECT_EQ(take(none, {0x73724700, 0}), SRN_GREETING_NONE);
}

/// Both ends offer to tell what they have placed.
class Indices : public ::testing::Test {
protected:
    Indices() {
        srn_greeting_begin(&initiator, true, SRN_FEATURE_PLACED, initiator_nonce);
        srn_greeting_begin(&responder, false, SRN_FEATURE_PLACED, responder_nonce);
    }

    void greet() {
        empty_write hello;
        srn_greeting_put(&initiator, SRN_GREETING_HELLO, &hello.stag, &hello.to);
        EXPECT_EQ(srn_greeting_take(&responder, hello.stag, hello.to), SRN_GREETING_HELLO);
    }

    static empty_write put(const srn_greeting& g, srn_greeting_kind kind, std::uint32_t index) {
        empty_write w;
        srn_greeting_put_index(&g, kind, index, &w.stag, &w.to);
        return w;
    }
    static srn_greeting_kind take(const srn_greeting& g, const empty_write& w,
                                  std::uint32_t* index) {
        return srn_greeting_take_index(&g, w.stag, w.to, index);
    }

    srn_greeting initiator{};
    srn_greeting responder{};
    std::uint32_t index = 0;
};

TEST_F(Indices, AreUnderstoodByTheOtherEnd) {
    greet();
    const empty_write question = put(initiator, SRN_GREETING_ASK, 0xfedcba98);
    EXPECT_EQ(question.stag, 0x73724704U);
    EXPECT_EQ(take(responder, question, &index), SRN_GREETING_ASK);
    EXPECT_EQ(index, 0xfedcba98U);
    EXPECT_EQ(take(initiator, put(responder, SRN_GREETING_PLACED, 7), &index), SRN_GREETING_PLACED);
    EXPECT_EQ(index, 7U);
    EXPECT_EQ(take(initiator, put(responder, SRN_GREETING_ASK, 8), &index), SRN_GREETING_ASK);
    EXPECT_EQ(take(responder, put(initiator, SRN_GREETING_PLACED, 9), &index), SRN_GREETING_PLACED);
}

TEST_F(Indices, EachBitOfTheProofCounts) {
    greet();
    const empty_write right = put(initiator, SRN_GREETING_ASK, 1);
    for (unsigned bit = 32; bit < 64; ++bit) {
        SCOPED_TRACE(bit);
        EXPECT_EQ(take(responder, {right.stag, right.to ^ std::uint64_t{1} << bit}, &index),
                  SRN_GREETING_NONE);
    }
    for (unsigned bit = 1; bit < 32; ++bit) {
        SCOPED_TRACE(bit);
        EXPECT_EQ(take(responder, {right.stag ^ 1U << bit, right.to}, &index), SRN_GREETING_NONE);
    }
}

TEST_F(Indices, NotBeforeTheGreeting) {
    EXPECT_EQ(take(responder, put(initiator, SRN_GREETING_ASK, 1), &index), SRN_GREETING_NONE);
    // Nor one that guesses the nonce of nobody.
    EXPECT_EQ(take(responder, put(responder, SRN_GREETING_ASK, 1), &index), SRN_GREETING_NONE);
}

TEST_F(Indices, NotIfTheFeatureWasNotOffered) {
    srn_greeting_begin(&responder, false, 0, responder_nonce);
    greet();
    EXPECT_EQ(take(responder, put(initiator, SRN_GREETING_ASK, 1), &index), SRN_GREETING_NONE);
}

}  // namespace
