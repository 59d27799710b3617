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

/// Both ends are in one kernel, so that the responder says when it leaves TCP as well.
class SameHost : public Greeting {
protected:
    SameHost() {
        srn_greeting_begin(&initiator, true, SRN_PEER_SAME_HOST, initiator_nonce);
        srn_greeting_begin(&responder, false, SRN_PEER_SAME_HOST, responder_nonce);
    }
};

TEST_F(SameHost, TheResponderMovesLast) {
    EXPECT_EQ(take(responder, confirm()), SRN_GREETING_CONFIRM);
    const empty_write moved = put(responder, SRN_GREETING_MOVED);
    EXPECT_EQ(moved.stag, 0x73724780U);
    for (unsigned bit = 0; bit < 64; ++bit) {
        SCOPED_TRACE(bit);
        EXPECT_EQ(take(initiator, {moved.stag, moved.to ^ std::uint64_t{1} << bit}),
                  SRN_GREETING_NONE);
    }
    EXPECT_EQ(take(initiator, moved), SRN_GREETING_MOVED);
    EXPECT_EQ(take(initiator, moved), SRN_GREETING_NONE);
}

TEST_F(SameHost, NobodyMovesBeforeTheAnswer) {
    srn_greeting done = responder;
    done.peer_nonce = initiator_nonce;
    EXPECT_EQ(take(initiator, put(done, SRN_GREETING_MOVED)), SRN_GREETING_NONE);
}

/// The responder has not found the initiator in its kernel.
TEST_F(SameHost, TheResponderMayDecline) {
    EXPECT_EQ(take(responder, put(initiator, SRN_GREETING_HELLO)), SRN_GREETING_HELLO);
    responder.features = 0;
    EXPECT_EQ(take(initiator, put(responder, SRN_GREETING_ANSWER)), SRN_GREETING_ANSWER);
    EXPECT_EQ(initiator.features, 0);
    EXPECT_EQ(take(responder, put(initiator, SRN_GREETING_CONFIRM)), SRN_GREETING_CONFIRM);
    EXPECT_EQ(take(initiator, put(responder, SRN_GREETING_MOVED)), SRN_GREETING_NONE);
}

TEST_F(Greeting, OneThatDoesNotTakePartExpectsNothing) {
    srn_greeting none{};
    EXPECT_EQ(take(none, put(initiator, SRN_GREETING_HELLO)), SRN_GREETING_NONE);
    EXPECT_EQ(take(none, {0x73724700, 0}), SRN_GREETING_NONE);
}

/// Both ends offer to tell what they have placed.
class Placement : public ::testing::Test {
protected:
    Placement() {
        srn_greeting_begin(&initiator, true, SRN_PEER_PLACED, initiator_nonce);
        srn_greeting_begin(&responder, false, SRN_PEER_PLACED, responder_nonce);
    }

    void greet() {
        empty_write hello;
        srn_greeting_put(&initiator, SRN_GREETING_HELLO, &hello.stag, &hello.to);
        EXPECT_EQ(srn_greeting_take(&responder, hello.stag, hello.to), SRN_GREETING_HELLO);
    }

    static empty_write put(const srn_greeting& g, const srn_placed_msg& p) {
        empty_write w;
        srn_greeting_put_placed(&g, &p, &w.stag, &w.to);
        return w;
    }
    bool take(const srn_greeting& g, const empty_write& w) {
        got = {};
        return srn_greeting_take_placed(&g, w.stag, w.to, &got);
    }
    void expect(const srn_placed_msg& p) const {
        EXPECT_EQ(got.asks, p.asks);
        EXPECT_EQ(got.answers, p.answers);
        EXPECT_EQ(got.ask_index, p.ask_index);
        EXPECT_EQ(got.placed_index, p.placed_index);
        EXPECT_EQ(got.last, p.last);
        EXPECT_EQ(got.not_ready, p.not_ready);
        EXPECT_EQ(got.messages, p.messages);
        EXPECT_EQ(got.limits, p.limits);
        EXPECT_EQ(got.rnr_tries, p.rnr_tries);
    }

    static constexpr srn_placed_msg question{.asks = true, .ask_index = 0xfedc};
    static constexpr srn_placed_msg answer{.answers = true, .placed_index = 0xba98};
    static constexpr srn_placed_msg both{
        .asks = true, .answers = true, .ask_index = 0x8001, .placed_index = 0xc003};
    static constexpr srn_placed_msg last{.last = true, .messages = 0x9a5c7e31};
    static constexpr srn_placed_msg not_ready{.not_ready = true, .messages = 0x8b6d5f42};
    static constexpr srn_placed_msg limits{.limits = true, .rnr_tries = 0xa5};

    srn_greeting initiator{};
    srn_greeting responder{};
    srn_placed_msg got{};
};

TEST_F(Placement, Literal) {
    const empty_write w = put(initiator, both);
    EXPECT_EQ(w.stag, 0x7372470cU);
    EXPECT_EQ(w.to & 0xffffffff, 0x8001c003U);
    EXPECT_EQ(put(initiator, question).stag, 0x73724704U);
    EXPECT_EQ(put(initiator, answer).stag, 0x73724708U);
    EXPECT_EQ(put(initiator, last).stag, 0x73724710U);
    EXPECT_EQ(put(initiator, last).to & 0xffffffff, 0x9a5c7e31U);
    EXPECT_EQ(put(initiator, not_ready).stag, 0x73724720U);
    EXPECT_EQ(put(initiator, not_ready).to & 0xffffffff, 0x8b6d5f42U);
    EXPECT_EQ(put(initiator, limits).stag, 0x73724740U);
    EXPECT_EQ(put(initiator, limits).to & 0xffffffff, 0xa5U);
}

TEST_F(Placement, IsUnderstoodByTheOtherEnd) {
    greet();
    for (const srn_placed_msg& p : {question, answer, both, last, not_ready, limits}) {
        ASSERT_TRUE(take(responder, put(initiator, p)));
        expect(p);
        ASSERT_TRUE(take(initiator, put(responder, p)));
        expect(p);
    }
}

TEST_F(Placement, EachBitOfTheProofCounts) {
    greet();
    const empty_write right = put(initiator, both);
    for (unsigned bit = 32; bit < 64; ++bit) {
        SCOPED_TRACE(bit);
        EXPECT_FALSE(take(responder, {right.stag, right.to ^ std::uint64_t{1} << bit}));
    }
    for (unsigned bit = 0; bit < 32; ++bit) {
        if (bit == 2 || bit == 3) continue;
        SCOPED_TRACE(bit);
        EXPECT_FALSE(take(responder, {right.stag ^ 1U << bit, right.to}));
    }
    EXPECT_FALSE(take(responder, {right.stag ^ 0xcU, right.to}));
    // The others come alone.
    for (const std::uint32_t kind : {0x14U, 0x18U, 0x24U, 0x28U, 0x44U, 0x48U, 0x30U, 0x60U})
        EXPECT_FALSE(take(responder, {(right.stag & ~0xffU) | kind, right.to}));
}

TEST_F(Placement, NotBeforeTheGreeting) {
    EXPECT_FALSE(take(responder, put(initiator, question)));
    // Nor one that guesses the nonce of nobody.
    EXPECT_FALSE(take(responder, put(responder, question)));
}

TEST_F(Placement, NotIfTheFeatureWasNotOffered) {
    srn_greeting_begin(&responder, false, 0, responder_nonce);
    greet();
    EXPECT_FALSE(take(responder, put(initiator, question)));
}

}  // namespace
