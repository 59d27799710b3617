// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Placed completions: the verbs side asks what the peer has placed, and answers when it is asked.
#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "framing.hpp"

namespace wirepeer {
namespace {

using softrnic::send_flag;

constexpr std::uint32_t their_stag = 0xa1b2c3d4;

/// Connections of the verbs side wait for answers.
class Asks : public ::testing::Test {
protected:
    /// The peer is a softrnic: it has answered the greeting.
    session connect(std::uint32_t sends = 32) {
        session_options options = usual_options(role::responder);
        options.sends = sends;
        session s(options);
        hello_ = s.hello.value();
        s.wire.send(make_greeting(answer_to(hello_, 1, greeting::all)));
        EXPECT_EQ(decode_greeting(s.wire.read_segment()).what, greeting::confirm);
        return s;
    }

    static void write(session& s, std::uint64_t id, send_flag flags = send_flag::signaled) {
        must(s.end.qp().write(arena::get().outbox(pattern(8)), {.length = 8, .rkey = their_stag},
                              {.id = id, .flags = flags}));
    }
    /// Has the verbs side write, and takes it.
    static void take_write(session& s, std::uint64_t id, send_flag flags = send_flag::signaled) {
        write(s, id, flags);
        EXPECT_EQ(describe(s.wire.read_segment()), describe(make_write(their_stag, 0, pattern(8))));
    }
    /// Return: the index that it asks about.
    [[nodiscard]] std::uint16_t asked(const session& s) const {
        const placement p = decode_placement(s.wire.read_segment(), hello_);
        EXPECT_FALSE(p.answer);
        return p.question.value();
    }
    void answer(const session& s, std::uint16_t index) const {
        s.wire.send(make_placement({.answer = index}, hello_));
    }
    [[nodiscard]] const greeting& hello() const { return hello_; }
    void expect_no_completion(session& s) {
        // What the verbs side receives comes behind what has been sent to it.
        s.wire.send(make_send(++received_, pattern(1)));
        s.expect_receive(received_, 1);
    }

private:
    std::uint32_t received_ = 0;
    link_setting placed_{"placed_completions", true};
    greeting hello_;
};

TEST_F(Asks, behind_signaled_work) {
    session s = connect();
    take_write(s, 5);
    const std::uint16_t index = asked(s);
    expect_no_completion(s);
    answer(s, index);
    s.expect_status(5, IBV_WC_SUCCESS);
}

TEST_F(Asks, once_for_all_that_came_before) {
    session s = connect();
    take_write(s, 5);
    const std::uint16_t first = asked(s);
    take_write(s, 6);
    const std::uint16_t second = asked(s);
    EXPECT_EQ(second, first + 1);
    answer(s, second);
    s.expect_status(5, IBV_WC_SUCCESS);
    s.expect_status(6, IBV_WC_SUCCESS);
    // It comes late, and says nothing new.
    answer(s, first);
    expect_no_completion(s);
}

// In one Write, where there are both at the time.
TEST_F(Asks, and_answers) {
    session s = connect();
    s.wire.send(make_placement({.question = 77}, hello()));
    write(s, 5);
    placement all;
    bool written = false;
    // Each may also have come alone, if the other was late.
    while (!all.question || !all.answer || !written) {
        const segment one = s.wire.read_segment();
        written |= one.stag == their_stag;
        if (one.stag == their_stag) continue;
        const placement p = decode_placement(one, hello());
        if (p.question) all.question = p.question;
        if (p.answer) all.answer = p.answer;
    }
    EXPECT_EQ(all.answer, 77);
    answer(s, *all.question);
    s.expect_status(5, IBV_WC_SUCCESS);
}

TEST_F(Asks, not_behind_work_that_nobody_waits_for) {
    session s = connect();
    take_write(s, 5, send_flag::none);
    s.wire.expect_quiet();
    take_write(s, 6);
    answer(s, asked(s));
    s.expect_status(6, IBV_WC_SUCCESS);
}

TEST_F(Asks, an_answer_for_what_was_not_asked_says_nothing) {
    session s = connect();
    take_write(s, 5);
    const std::uint16_t index = asked(s);
    answer(s, static_cast<std::uint16_t>(index + 1));
    answer(s, static_cast<std::uint16_t>(index + 0x8000));
    answer(s, static_cast<std::uint16_t>(index - 1));
    s.wire.send(make_placement({.answer = index}, {.value = 1}));
    s.wire.send(make_placement({}, hello()));
    expect_no_completion(s);
    answer(s, index);
    s.expect_status(5, IBV_WC_SUCCESS);
}

// The peer has executed the Read behind the Write.
TEST_F(Asks, a_read_response_is_an_answer) {
    session s = connect();
    take_write(s, 5);
    (void)asked(s);
    must(s.end.qp().read(arena::get().inbox(0, 4), {.length = 4, .rkey = their_stag}, {.id = 6}));
    const read_request r = decode_read_request(s.wire.read_segment().payload);
    expect_no_completion(s);
    s.wire.send(make_read_response(r.sink_stag, r.sink_to, pattern(4)));
    s.expect_status(5, IBV_WC_SUCCESS);
    s.expect_status(6, IBV_WC_SUCCESS);
}

TEST_F(Asks, what_is_not_answered_is_flushed) {
    session s = connect();
    take_write(s, 5);
    (void)asked(s);
    s.wire.finish();
    must(s.end.wait_disconnected(patience));
    s.expect_status(5, IBV_WC_WR_FLUSH_ERR);
}

// The answer came before the end.
TEST_F(Asks, an_answer_before_the_end_counts) {
    session s = connect();
    take_write(s, 5);
    answer(s, asked(s));
    s.wire.finish();
    must(s.end.wait_disconnected(patience));
    s.expect_status(5, IBV_WC_SUCCESS);
}

/// The peer ends the stream with its final report, that so many messages have been placed.
class LastWord : public Asks {
protected:
    void say(session& s, std::uint32_t messages) const {
        s.wire.send(make_placement({.last = messages}, hello()));
    }
    void end(session& s, std::uint32_t messages) const {
        say(s, messages);
        s.wire.finish();
        must(s.end.wait_disconnected(patience));
    }
    /// Ends it with a Terminate.
    static void refuse(session& s, term_code why, const segment& offender,
                       term_headers with = term_headers::ddp) {
        s.wire.send(make_terminate(terminate_payload(why, with, offender)));
        must(s.end.wait_disconnected(patience));
    }
    /// It comes behind the first segment of this message.
    void come_within(segment message) {
        session s = connect();
        take_write(s, 5);
        (void)asked(s);
        message.last = false;
        s.wire.send(message);
        end(s, 1);
        s.expect_status(5, IBV_WC_SUCCESS);
    }
};

TEST_F(LastWord, answers_what_was_asked) {
    session s = connect();
    take_write(s, 5);
    (void)asked(s);
    end(s, 1);
    s.expect_status(5, IBV_WC_SUCCESS);
}

TEST_F(LastWord, tells_each_message_apart) {
    constexpr std::uint32_t messages = 6;
    for (std::uint32_t placed = 0; placed <= messages; ++placed) {
        SCOPED_TRACE(placed);
        session s = connect();
        const softrnic::local_slice from = arena::get().outbox(pattern(8));
        const softrnic::remote_slice to{.length = 8, .rkey = their_stag};
        must(s.end.qp().send(from, {.id = 1}));
        must(s.end.qp().write(from, to, {.id = 2}));
        must(s.end.qp().write_with_immediate(from, to, 0, {.id = 3}));
        // Nothing is to be placed of this one, which is good if something behind it is placed.
        must(s.end.qp().write(softrnic::no_slices, {.rkey = their_stag}, {.id = 5}));
        must(s.end.qp().send(softrnic::no_slices, {.id = 6}));
        must(s.end.qp().send(from, {.id = 7}));
        end(s, placed);
        for (const std::uint64_t id : {1U, 2U, 3U}) {
            const std::uint64_t needs = id == 3 ? 4 : id;
            s.expect_status(id, placed >= needs ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
        }
        s.expect_status(5, placed >= 5 ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
        s.expect_status(6, placed >= 5 ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
        s.expect_status(7, placed >= 6 ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
    }
}

TEST_F(LastWord, is_found_far_back_in_the_queue) {
    constexpr std::uint32_t messages = 200, placed = 150;
    session s = connect(messages);
    for (std::uint32_t id = 1; id <= messages; ++id)
        must(s.end.qp().send(arena::get().outbox(pattern(8)), {.id = id}));
    // Questions come between them.
    for (std::uint32_t came = 0; came < messages;)
        came += s.wire.read_segment().opcode == op::send ? 1U : 0U;
    say(s, placed);
    refuse(s, {1, 2, 5}, make_send(placed + 1, pattern(8)));
    for (std::uint32_t id = 1; id <= placed; ++id) s.expect_status(id, IBV_WC_SUCCESS);
    s.expect_status(placed + 1, IBV_WC_REM_INV_REQ_ERR);
    for (std::uint32_t id = placed + 2; id <= messages; ++id)
        s.expect_status(id, IBV_WC_WR_FLUSH_ERR);
}

// Messages count from the beginning of the connection.
TEST_F(LastWord, counts_what_is_complete) {
    session s = connect();
    for (std::uint64_t id = 1; id <= 3; ++id) {
        take_write(s, id);
        answer(s, asked(s));
        s.expect_status(id, IBV_WC_SUCCESS);
    }
    take_write(s, 4);
    (void)asked(s);
    take_write(s, 5);
    end(s, 4);
    s.expect_status(4, IBV_WC_SUCCESS);
    s.expect_status(5, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(LastWord, is_said_once) {
    session s = connect();
    take_write(s, 5);
    (void)asked(s);
    say(s, 0);
    end(s, 1);
    s.expect_status(5, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(LastWord, comes_in_the_middle_of_a_send) {
    come_within(make_send(1, pattern(4)));
}

TEST_F(LastWord, comes_in_the_middle_of_a_write) {
    const region open = arena::get().layout().open;
    come_within(make_write(open.stag, open.base, pattern(4)));
}

TEST_F(LastWord, that_claims_too_much_counts_for_what_was_sent) {
    session s = connect();
    take_write(s, 5);
    (void)asked(s);
    end(s, 0x7fffffff);
    s.expect_status(5, IBV_WC_SUCCESS);
}

// Nobody waits for the first one, so it is complete before it is placed.
TEST_F(LastWord, may_be_less_than_is_complete) {
    session s = connect();
    take_write(s, 5, send_flag::none);
    take_write(s, 6);
    (void)asked(s);
    end(s, 0);
    s.expect_status(6, IBV_WC_WR_FLUSH_ERR);
}

/// A Terminate behind the final report tells which message is refused.
struct refusal {
    const char* name;
    segment offender;
    term_code why;
    ibv_wc_status status;
    term_headers with = term_headers::ddp;
};

class Refuses : public LastWord, public ::testing::WithParamInterface<refusal> {};

TEST_P(Refuses, the_next_message) {
    const refusal& r = GetParam();
    session s = connect();
    for (std::uint64_t id = 5; id <= 7; ++id) {
        if (r.offender.opcode == op::write) {
            write(s, id);
        } else {
            must(s.end.qp().send(arena::get().outbox(pattern(8)), {.id = id}));
        }
    }
    say(s, 1);
    refuse(s, r.why, r.offender, r.with);
    s.expect_status(5, IBV_WC_SUCCESS);
    s.expect_status(6, r.status);
    s.expect_status(7, IBV_WC_WR_FLUSH_ERR);
}

INSTANTIATE_TEST_SUITE_P(Wire, Refuses,
                         ::testing::Values(refusal{"rfc5041_8_2_invalid_stag",
                                                   make_write(their_stag, 0, pattern(8)),
                                                   {1, 1, 0},
                                                   IBV_WC_REM_ACCESS_ERR},
                                           refusal{"rfc5040_8_2_access_rights",
                                                   make_write(their_stag, 0, pattern(8)),
                                                   {0, 1, 2},
                                                   IBV_WC_REM_ACCESS_ERR},
                                           refusal{"rfc5041_8_2_no_buffer",
                                                   make_send(2, pattern(8)),
                                                   {1, 2, 2},
                                                   IBV_WC_RNR_RETRY_EXC_ERR},
                                           refusal{"rfc5041_8_2_too_long",
                                                   make_send(2, pattern(8)),
                                                   {1, 2, 5},
                                                   IBV_WC_REM_INV_REQ_ERR},
                                           refusal{"rfc5040_8_2_catastrophic",
                                                   make_send(2, pattern(8)),
                                                   {0, 0, 0},
                                                   IBV_WC_REM_OP_ERR,
                                                   term_headers::none}),
                         [](const auto& tested) { return std::string(tested.param.name); });

// A Write that has no right there has overtaken Sends without a receive.
TEST_F(LastWord, finds_the_write_that_is_refused) {
    session s = connect();
    must(s.end.qp().send(arena::get().outbox(pattern(8)), {.id = 5}));
    write(s, 6);
    write(s, 7);
    say(s, 0);
    refuse(s, {1, 1, 0}, make_write(their_stag, 0, pattern(8)));
    s.expect_status(5, IBV_WC_WR_FLUSH_ERR);
    s.expect_status(6, IBV_WC_REM_ACCESS_ERR);
    s.expect_status(7, IBV_WC_WR_FLUSH_ERR);
}

// It may be about any of them.
TEST_F(LastWord, is_needed_to_know_what_is_refused) {
    session s = connect();
    take_write(s, 5);
    (void)asked(s);
    refuse(s, {1, 1, 0}, make_write(their_stag, 0, pattern(8)));
    s.expect_status(5, IBV_WC_WR_FLUSH_ERR);
}

// What is refused is complete, as nobody waits for it.
TEST_F(LastWord, blames_nobody_else) {
    session s = connect();
    take_write(s, 5, send_flag::none);
    must(s.end.qp().send(arena::get().outbox(pattern(8)), {.id = 6}));
    (void)s.wire.read_segment();
    (void)asked(s);
    say(s, 0);
    refuse(s, {1, 1, 0}, make_write(their_stag, 0, pattern(8)));
    s.expect_status(6, IBV_WC_WR_FLUSH_ERR);
}

// What nobody waits for has not completed yet, as it is behind work that somebody waits for.
TEST_F(LastWord, blames_what_nobody_waits_for) {
    session s = connect();
    take_write(s, 5);
    (void)asked(s);
    must(s.end.qp().send(arena::get().outbox(pattern(8)), {.id = 6, .flags = send_flag::none}));
    must(s.end.qp().send(arena::get().outbox(pattern(8)), {.id = 7}));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(s.wire.read_segment().opcode, op::send);
    // In one packet, so that nothing completes in between.
    bytes both = fpdu(make_placement({.last = 1}, hello()));
    append(both, fpdu(make_terminate(
                     terminate_payload({1, 2, 5}, term_headers::ddp, make_send(1, pattern(8))))));
    s.wire.send(both);
    must(s.end.wait_disconnected(patience));
    s.expect_status(5, IBV_WC_SUCCESS);
    s.expect_status(6, IBV_WC_REM_INV_REQ_ERR);
    s.expect_status(7, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(Asks, not_somebody_who_does_not_answer) {
    session s(usual_options(role::responder));
    s.wire.send(make_greeting(answer_to(s.hello.value(), 1, greeting::rnr)));
    EXPECT_EQ(decode_greeting(s.wire.read_segment()).what, greeting::confirm);
    take_write(s, 5);
    s.expect_status(5, IBV_WC_SUCCESS);
    s.wire.expect_quiet();
}

TEST_F(Asks, no_stranger) {
    session s(usual_options(role::responder));
    take_write(s, 5);
    s.expect_status(5, IBV_WC_SUCCESS);
    s.wire.expect_quiet();
}

/// The peer asks. The verbs side answers whatever its own setting is.
class Answers : public greeted {
protected:
    using greeted::greeted;

    void ask(std::uint16_t index) const { s.wire.send(make_placement({.question = index}, hello)); }
    void expect_answer(std::uint16_t index) const {
        EXPECT_EQ(decode_placement(s.wire.read_segment(), hello), (placement{.answer = index}));
    }
};

TEST_F(Answers, when_all_is_placed) {
    const region open = arena::get().layout().open;
    s.wire.send(make_write(open.stag, open.base, pattern(4)));
    ask(77);
    expect_answer(77);
    EXPECT_TRUE(std::ranges::equal(arena::get().bytes_of(open).first(4), pattern(4)));
    // Any index, also one that was there before.
    ask(77);
    expect_answer(77);
    ask(0);
    expect_answer(0);
}

TEST_F(Answers, alone_or_with_a_message) {
    for (std::uint16_t i = 1; i <= 20; ++i) {
        ask(i);
        if (i % 2 == 0) {
            must(s.end.qp().send(arena::get().outbox(pattern(4)), {.id = 100U + i}));
            // Behind the answer, or before it.
            segment one = s.wire.read_segment(), other = s.wire.read_segment();
            if (one.opcode != op::write) std::swap(one, other);
            EXPECT_EQ(decode_placement(one, hello).answer, i);
            EXPECT_EQ(other.opcode, op::send);
            s.expect_status(100U + i, IBV_WC_SUCCESS);
        } else {
            expect_answer(i);
        }
    }
}

TEST_F(Answers, only_with_the_proof) {
    s.wire.send(make_placement({.question = 77}, {.value = 1}));
    s.wire.expect_quiet();
    ask(78);
    expect_answer(78);
}

// The verbs side ends while a question is on its way.
TEST_F(Answers, at_the_end_what_was_not_asked) {
    const region open = arena::get().layout().open;
    ask(1);
    expect_answer(1);
    s.wire.send(make_write(open.stag, open.base, pattern(4)));
    s.wire.send(make_send(1, pattern(8)));
    s.expect_receive(1, 8);
    must(s.end.disconnect());
    EXPECT_EQ(decode_placement(s.wire.read_segment(), hello), (placement{.last = 2}));
    s.wire.expect_closed();
}

// The reason for the end comes behind it.
TEST_F(Answers, before_a_terminate) {
    ask(1);
    expect_answer(1);
    s.wire.send(make_send(1, pattern(8)));
    s.expect_receive(1, 8);
    s.wire.send(make_write(0x12345600, 0, pattern(4)));
    EXPECT_EQ(decode_placement(s.wire.read_segment(), hello), (placement{.last = 1}));
    EXPECT_EQ(s.wire.read_segment().opcode, op::terminate);
    s.wire.expect_closed();
}

// Nobody has asked for it.
TEST_F(Answers, nothing_at_the_end_if_the_peer_never_asks) {
    s.wire.send(make_send(1, pattern(8)));
    s.expect_receive(1, 8);
    must(s.end.disconnect());
    s.wire.expect_closed();
}

class AnswersLate : public Answers {
protected:
    AnswersLate() : Answers(0) {}
};

// What it asks about has no receive.
TEST_F(AnswersLate, when_all_is_received) {
    s.wire.send(make_send(1, pattern(8)));
    ask(1);
    s.wire.send(make_send(2, pattern(9)));
    s.wire.send(make_send(3, pattern(10)));
    ask(3);
    s.wire.expect_quiet();
    post(1);
    s.expect_receive(1, 8);
    expect_answer(1);
    post(2);
    s.expect_receive(2, 9);
    s.wire.expect_quiet();
    post(3);
    s.expect_receive(3, 10);
    expect_answer(3);
}

// What waits is not placed, nor is what came behind it.
TEST_F(AnswersLate, at_the_end_what_is_received) {
    const region open = arena::get().layout().open;
    s.wire.send(make_write(open.stag, open.base, pattern(4)));
    s.wire.send(make_send(1, pattern(8)));
    s.wire.send(make_write(open.stag, open.base, pattern(4)));
    s.wire.send(make_send(2, pattern(8)));
    s.wire.send(make_write(open.stag, open.base, pattern(4)));
    ask(6);
    s.wire.expect_quiet();
    post(1);
    s.expect_receive(1, 8);
    must(s.end.disconnect());
    EXPECT_EQ(decode_placement(s.wire.read_segment(), hello), (placement{.last = 3}));
    s.wire.expect_closed();
}

/// The peer limits how long its Sends wait for receives.
class Limits : public AnswersLate {
protected:
    void limit(std::uint32_t tries) const { s.wire.send(make_placement({.limit = tries}, hello)); }
};

TEST_F(Limits, how_long_a_send_waits) {
    const region open = arena::get().layout().open;
    limit(1);
    s.wire.send(make_write(open.stag, open.base, pattern(4)));
    s.wire.send(make_send(1, pattern(8)));
    s.wire.send(make_write(open.stag, open.base, pattern(4)));
    EXPECT_EQ(decode_placement(s.wire.read_segment(), hello), (placement{.not_ready = 1}));
    // Nothing is received of it later, or told again.
    post(1);
    limit(1);
    s.wire.expect_quiet();
    s.wire.finish();
    must(s.end.wait_disconnected(patience));
    s.expect_status(1, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(Limits, what_waits_already) {
    s.wire.send(make_send(1, pattern(8)));
    s.wire.expect_quiet();
    limit(1);
    EXPECT_EQ(decode_placement(s.wire.read_segment(), hello), (placement{.not_ready = 0}));
}

// More comes than is kept of what waits, also before it is refused.
TEST_F(Limits, what_is_kept) {
    const region open = arena::get().layout().open;
    constexpr std::uint32_t messages = 800;
    limit(1);
    for (std::uint32_t msn = 1; msn <= messages; ++msn) s.wire.send(make_send(msn, pattern(4000)));
    ask(messages);
    s.wire.send(make_write(open.stag, open.base, pattern(4)));
    EXPECT_EQ(decode_placement(s.wire.read_segment(), hello), (placement{.not_ready = 0}));
    const auto until = std::chrono::steady_clock::now() + patience;
    const auto placed = [&] {
        return std::ranges::equal(arena::get().bytes_of(open).first(4), pattern(4));
    };
    while (!placed() && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(placed());
    post(1);
    s.wire.expect_quiet();
}

TEST_F(Limits, nothing_that_is_received_in_time) {
    limit(4);
    s.wire.send(make_send(1, pattern(8)));
    s.wire.expect_quiet();
    post(1);
    s.expect_receive(1, 8);
    // 0 takes the limit away.
    limit(0);
    s.wire.send(make_send(2, pattern(8)));
    std::this_thread::sleep_for(std::chrono::seconds(4));
    post(2);
    s.expect_receive(2, 8);
}

TEST_F(Asks, until_the_peer_has_no_receive) {
    session s = connect();
    take_write(s, 5);
    (void)asked(s);
    must(s.end.qp().send(arena::get().outbox(pattern(8)), {.id = 6}));
    (void)s.wire.read_segment();
    (void)asked(s);
    write(s, 7);
    s.wire.send(make_placement({.not_ready = 1}, hello()));
    s.expect_status(5, IBV_WC_SUCCESS);
    s.expect_status(6, IBV_WC_RNR_RETRY_EXC_ERR);
    s.expect_status(7, IBV_WC_WR_FLUSH_ERR);
    must(s.end.wait_disconnected(patience));
}

// What has completed cannot tell.
TEST_F(Asks, until_the_peer_has_no_receive_for_what_is_complete) {
    session s = connect();
    must(s.end.qp().send(arena::get().outbox(pattern(8)), {.id = 5, .flags = send_flag::none}));
    (void)s.wire.read_segment();
    s.wire.send(make_placement({.not_ready = 0}, hello()));
    must(s.end.wait_disconnected(patience));
    constexpr std::uint64_t later = 1000;
    must(s.end.qp().send(arena::get().outbox(pattern(8)), {.id = later}));
    ibv_wc wc = s.next();
    while (wc.wr_id != later) {
        EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
        wc = s.next();
    }
    EXPECT_EQ(wc.status, IBV_WC_RNR_RETRY_EXC_ERR);
}

// Nobody waits here for what the peer places, but a Read holds back what is behind it.
TEST(Refused, with_all_that_is_behind_it) {
    const link_setting placed{"placed_completions", false};
    session s(usual_options(role::responder));
    const greeting hello = s.hello.value();
    s.wire.send(make_greeting(answer_to(hello, 1, greeting::all)));
    EXPECT_EQ(decode_greeting(s.wire.read_segment()).what, greeting::confirm);
    const softrnic::local_slice memory = arena::get().inbox(0, 8);
    const softrnic::remote_slice to{.length = 8, .rkey = their_stag};
    must(s.end.qp().read(memory, to, {.id = 5}));
    for (const std::uint64_t id : {6U, 7U}) must(s.end.qp().write(memory, to, {.id = id}));
    const read_request asked = decode_read_request(s.wire.read_message().payload);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(s.wire.read_segment().opcode, op::write);
    const segment refused = make_write(their_stag, 0, pattern(8));
    const std::array<segment, 3> answers{
        make_read_response(asked.sink_stag, asked.sink_to, pattern(asked.size)),
        make_placement({.last = 0}, hello),
        make_terminate(terminate_payload({1, 1, 0}, term_headers::ddp, refused))};
    s.wire.send(fpdus(answers));
    must(s.end.wait_disconnected(patience));
    s.expect_status(5, IBV_WC_SUCCESS);
    s.expect_status(6, IBV_WC_REM_ACCESS_ERR);
    s.expect_status(7, IBV_WC_WR_FLUSH_ERR);
}

// A question before the greeting is a Write like any other.
TEST(AnswersNobody, who_has_not_greeted) {
    const greeting zero{.value = 0};
    const session s;
    s.wire.send(make_placement({.question = 1}, zero));
    s.wire.expect_quiet();
}

}  // namespace
}  // namespace wirepeer
