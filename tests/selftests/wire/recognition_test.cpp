// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// How the verbs side finds out that its peer is a softrnic, too, and what it then does: large FPDUs
// where there is no CRC. In all other cases its stream is that of the standard, which the rest of
// the tests looks at.
#include <algorithm>

#include "framing.hpp"

namespace wirepeer {
namespace {

constexpr std::uint32_t nonce = 0xabcdef;
constexpr int mss = 1460;
constexpr std::size_t length = 20'000;

/// Without CRC, so that FPDUs may be large.
class Recognition : public ::testing::Test {
protected:
    static session greeted_by_verbs(bool enhanced = true) {
        session_options options = usual_options(role::responder);
        options.frame.crc = false;
        options.mss = mss;
        options.read_first = false;
        if (!enhanced) {
            options.frame.enhanced.reset();
            options.frame.revision = 1;
        }
        session s(options);
        if (enhanced) {
            EXPECT_EQ(describe(next(s)), describe(make_write(0, 0, {})));
        }
        return s;
    }

    /// The peer is the initiator, and greets.
    static session greeting_verbs(const segment& hello, bool ready_message = true) {
        session_options options;
        options.frame.crc = false;
        options.mss = mss;
        options.first_fpdu = ready_message;
        session s(options);
        send(s, hello);
        return s;
    }

    static void send(const session& s, const segment& what) {
        s.wire.send(fpdu_stream({.crc = false}).next(what));
    }

    static segment next(const session& s) {
        const bytes head = s.wire.read(2);
        const std::size_t size = static_cast<std::size_t>(head[0]) << 8 | head[1];
        const bytes rest = s.wire.read((2 + size + 3) / 4 * 4 - 2 + crc_length);
        return decode_segment(byte_view(rest).first(size));
    }

    static greeting next_greeting(const session& s) { return decode_greeting(next(s)); }

    /// Sends a message that would fill many segments of TCP. Return: the longest segment of DDP.
    std::size_t longest_segment(session& s) {
        std::size_t longest = 0;
        must(s.end.qp().send(arena::get().outbox(pattern(length)), {.id = 5}));
        for (bool last = false; !last;) {
            const segment part = next(s);
            longest = std::max(longest, ulpdu(part).size());
            last = part.last;
        }
        s.expect_status(5, IBV_WC_SUCCESS);
        return longest;
    }

    void expect_large(session& s) { EXPECT_GT(longest_segment(s), std::size_t{mss}); }
    /// The verbs side has greeted like this. It confirms an answer, and does what was agreed on.
    void expect_agreement(session& s, const greeting& hello) {
        const greeting answer = answer_to(hello, nonce, greeting::all);
        send(s, make_greeting(answer));
        EXPECT_EQ(next_greeting(s), confirmation_of(hello, answer));
        expect_large(s);
    }
    void expect_standard(session& s) { EXPECT_LE(longest_segment(s), std::size_t{mss}); }

private:
    link_setting crc_{"crc", false};
};

TEST_F(Recognition, an_initiator_greets_with_another_nonce_each_time) {
    const greeting one = next_greeting(greeted_by_verbs());
    EXPECT_EQ(one.what, greeting::hello);
    EXPECT_EQ(one.features, greeting::all);
    EXPECT_NE(one.value, next_greeting(greeted_by_verbs()).value);
}

TEST_F(Recognition, an_initiator_of_the_first_revision_greets_first) {
    session s = greeted_by_verbs(false);
    const greeting hello = next_greeting(s);
    send(s, make_greeting(answer_to(hello, nonce, greeting::all)));
    EXPECT_EQ(next_greeting(s).what, greeting::confirm);
    expect_large(s);
}

TEST_F(Recognition, an_initiator_confirms_an_answer) {
    session s = greeted_by_verbs();
    expect_agreement(s, next_greeting(s));
}

TEST_F(Recognition, an_answer_may_come_late) {
    session s = greeted_by_verbs();
    const greeting hello = next_greeting(s);
    expect_standard(s);
    send(s, make_send(1, pattern(8)));
    s.expect_receive(1, 8);
    expect_agreement(s, hello);
}

TEST_F(Recognition, a_second_answer_is_a_write_like_any_other) {
    session s = greeted_by_verbs();
    const greeting hello = next_greeting(s);
    const segment answer = make_greeting(answer_to(hello, nonce, greeting::all));
    send(s, answer);
    EXPECT_EQ(next_greeting(s).what, greeting::confirm);
    send(s, answer);
    s.wire.expect_quiet();
    expect_large(s);
}

TEST_F(Recognition, only_what_both_offer_is_used) {
    session s = greeted_by_verbs();
    const greeting hello = next_greeting(s);
    send(s, make_greeting(answer_to(hello, nonce, 0)));
    EXPECT_EQ(next_greeting(s).features, 0);
    expect_standard(s);
}

TEST_F(Recognition, what_is_no_answer_is_a_write_like_any_other) {
    session s = greeted_by_verbs();
    const greeting hello = next_greeting(s);
    const greeting right = answer_to(hello, nonce, greeting::all);
    greeting wrong = right;
    wrong.value ^= std::uint64_t{1} << 30;
    send(s, make_greeting(wrong));
    wrong = right;
    wrong.features |= 0x8000;  // It was not offered.
    send(s, make_greeting(wrong));
    send(s, make_greeting(hello));
    send(s, make_greeting(confirmation_of(hello, right)));
    s.wire.expect_quiet();
    expect_standard(s);
    // The right one is still waited for.
    send(s, make_greeting(right));
    EXPECT_EQ(next_greeting(s), confirmation_of(hello, right));
}

// With payload it is a Write into a region that there is not.
TEST_F(Recognition, an_answer_has_no_payload) {
    session s = greeted_by_verbs();
    const greeting hello = next_greeting(s);
    segment answer = make_greeting(answer_to(hello, nonce, greeting::all));
    answer.payload = pattern(4);
    send(s, answer);
    s.expect_failed(IBV_EVENT_QP_ACCESS_ERR, 1);
}

TEST_F(Recognition, a_responder_answers) {
    const greeting hello{.value = 0x123456789abc};
    session s = greeting_verbs(make_greeting(hello));
    const greeting answer = next_greeting(s);
    EXPECT_EQ(answer, answer_to(hello, answer.value & 0xffffff, greeting::all));
    expect_standard(s);
    send(s, make_greeting(confirmation_of(hello, answer)));
    // It is received before what lets the verbs side go on.
    send(s, make_send(1, pattern(8)));
    s.expect_receive(1, 8);
    expect_large(s);
}

// The greeting itself lets the responder speak, where there is no other ready message.
TEST_F(Recognition, a_responder_answers_the_first_fpdu) {
    const greeting hello{.value = 0x123456789abc};
    const session s = greeting_verbs(make_greeting(hello), false);
    const greeting answer = next_greeting(s);
    EXPECT_EQ(answer, answer_to(hello, answer.value & 0xffffff, greeting::all));
}

TEST_F(Recognition, a_responder_knows_no_other_features) {
    const session s = greeting_verbs(make_greeting({.features = 0xfff0}));
    EXPECT_EQ(next_greeting(s).features, 0);
}

TEST_F(Recognition, a_responder_answers_once) {
    const segment hello = make_greeting({.value = 1});
    session s = greeting_verbs(hello);
    EXPECT_EQ(next_greeting(s).what, greeting::answer);
    send(s, hello);
    s.wire.expect_quiet();
    expect_standard(s);
}

TEST_F(Recognition, a_responder_wants_a_confirmation_of_its_own_answer) {
    const greeting hello{.value = 0x123456789abc};
    session s = greeting_verbs(make_greeting(hello));
    greeting wrong = confirmation_of(hello, next_greeting(s));
    wrong.value ^= 1;
    send(s, make_greeting(wrong));
    send(s, make_send(1, pattern(8)));
    s.expect_receive(1, 8);
    expect_standard(s);
}

// Programs may send whatever they like behind their first message.
TEST_F(Recognition, nobody_greets_later) {
    session s = greeting_verbs(make_send(1, pattern(8)));
    s.expect_receive(1, 8);
    send(s, make_greeting({.value = 1}));
    s.wire.expect_quiet();
    expect_standard(s);
}

TEST_F(Recognition, a_link_need_not_take_part) {
    const link_setting off("greeting", false);
    session asked = greeting_verbs(make_greeting({.value = 1}));
    asked.wire.expect_quiet();
    expect_standard(asked);
    session asking = greeted_by_verbs();
    asking.wire.expect_quiet();
    expect_standard(asking);
}

/// There is no receive.
class NotReady : public greeted {
protected:
    NotReady() : greeted(0) {}
};

TEST_F(NotReady, rfc5041_7_1_messages_wait_in_order) {
    s.wire.send(make_send(1, pattern(8)));
    s.wire.send(make_send(2, pattern(9)));
    s.wire.expect_quiet();
    post(1);
    s.expect_receive(1, 8);
    s.wire.expect_quiet();
    post(2);
    s.expect_receive(2, 9);
}

// In segments, between which others come.
TEST_F(NotReady, rfc5041_7_1_in_pieces) {
    const bytes text = pattern(20);
    segment one = make_send(1, {text.begin(), text.begin() + 8});
    one.last = false;
    segment two = make_send(1, {text.begin() + 8, text.end()});
    two.mo = 8;
    s.wire.send(one);
    s.wire.expect_quiet();
    const region open = arena::get().layout().open;
    s.wire.send(make_write(open.stag, open.base, pattern(4)));
    post(1);
    s.wire.expect_quiet();
    s.wire.send(two);
    s.expect_receive(1, 20);
    EXPECT_TRUE(std::ranges::equal(arena::get().inbox_bytes(receive_size, 20), text));
    EXPECT_TRUE(std::ranges::equal(arena::get().bytes_of(open).first(4), pattern(4)));
}

// What is wrong with a message is found when its turn comes, and told with its own header.
TEST_F(NotReady, rfc5041_7_2_a_violation_waits_too) {
    const segment wrong = make_send(3, pattern(9));
    s.wire.send(make_send(1, pattern(8)));
    s.wire.send(wrong);
    s.wire.expect_quiet();
    post(1);
    s.expect_receive(1, 8);
    s.expect_terminate(terminate_payload({1, 2, 3}, term_headers::ddp, wrong));
}

TEST_F(NotReady, rfc5040_5_2_a_read_waits_behind_a_send) {
    const region open = arena::get().layout().open;
    s.wire.send(make_send(1, pattern(8)));
    s.wire.send(make_read_request(
        1, {.sink_stag = 3, .size = 4, .source_stag = open.stag, .source_to = open.base}));
    s.wire.expect_quiet();
    post(1);
    s.expect_receive(1, 8);
    EXPECT_EQ(s.wire.read_segment().opcode, op::read_response);
}

TEST_F(NotReady, rfc5040_4_8_a_terminate_does_not_wait) {
    s.wire.send(make_send(1, pattern(8)));
    s.wire.expect_quiet();
    s.wire.send(make_terminate(terminate_payload({0, 0, 0}, term_headers::none, {})));
    s.wire.finish();
    must(s.end.wait_disconnected(patience));
}

TEST_F(NotReady, rfc5044_7_2_the_peer_closes) {
    s.wire.send(make_send(1, pattern(8)));
    s.wire.expect_quiet();
    s.wire.finish();
    must(s.end.wait_disconnected(patience));
    post(1);
    s.expect_status(1, IBV_WC_WR_FLUSH_ERR);
}

// An FPDU that comes in pieces is not delivered, nor does it keep anything from being delivered,
// before it is whole.
TEST_F(NotReady, rfc5041_7_1_while_an_fpdu_is_in_pieces) {
    s.wire.send(make_send(1, pattern(8)));
    const bytes whole = fpdu(make_send(2, pattern(30)));
    s.wire.send(byte_view(whole).first(25));
    s.wire.expect_quiet();
    post(1);
    post(2);
    s.wire.send(byte_view(whole).subspan(25));
    s.expect_receive(1, 8);
    s.expect_receive(2, 30);
}

}  // namespace
}  // namespace wirepeer
