// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Placed completions: questions and answers, see placed.h.
 */
#include "../stream/tx.h"
#include "answered.h"
#include "message.h"
#include "piggyback.h"
#include "placed.h"
#include "responder.h"
#include "rnr.h"
#include "rnr_limit.h"
#include "state.h"

/**
 * srn_placed_begin - prepare for the first message of a connection
 * @qp: queue pair whose stream has not started
 * @await: it is known already that the peer answers
 *
 * Context: process.
 */
void srn_placed_begin(struct srn_qp *qp, bool await)
{
	qp->tx.asked = qp->sq.next;
	qp->sq.placed = qp->sq.next;
	qp->sq.messages = 0;
	qp->sq.await_placement = await;
	qp->sq.failed = false;
	qp->sq.refused_as = 0;
}

/**
 * srn_placed_await - the peer answers: completions wait from now on
 * @qp: queue pair; the caller kicks the transmitter
 *
 * Context: the receiver.
 */
void srn_placed_await(struct srn_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->sq.lock, flags);
	WRITE_ONCE(qp->sq.await_placement, true);
	spin_unlock_irqrestore(&qp->sq.lock, flags);
}

/* The peer has no receive for the message behind so many. That is the end, as with InfiniBand. */
static void not_received(struct srn_qp *qp, u32 messages)
{
	/* Nothing else counts, and this does not come twice. */
	qp->stream.rx_stopped = true;
	srn_answered_final_report(qp, messages);
	srn_answered_refused(qp, false, IB_WC_RNR_RETRY_EXC_ERR);
	srn_state_fail(qp, 0, NULL, "its peer has posted no receive in time");
}

/**
 * srn_placed_asked - all that came before a question is placed
 * @qp: queue pair
 * @index: what to answer
 *
 * Context: the receiver.
 */
void srn_placed_asked(struct srn_qp *qp, u16 index)
{
	WRITE_ONCE(qp->tx.ask_index, index);
	/* Release: pairs with answer(). */
	smp_store_release(&qp->tx.asks, qp->tx.asks + 1);
	if (!srn_piggyback_wait(qp))
		srn_tx_kick_async(&qp->stream);
}

/**
 * srn_placed_received - a Write without payload has come
 * @qp: queue pair
 *
 * Context: the receiver.
 *
 * Return: true if it was a struct srn_placed_msg.
 */
bool srn_placed_received(struct srn_qp *qp)
{
	const struct srn_rdmap_header *h = &qp->rx.header;
	struct srn_placed_msg p;

	if (!srn_greeting_take_placed(&qp->rx.greeting, h->stag, h->to, &p))
		return false;
	if (p.last)
		srn_answered_final_report(qp, p.messages);
	if (p.limits)
		srn_rnr_limit_told(qp, p.rnr_tries);
	if (p.not_ready)
		not_received(qp, p.messages);
	if (p.asks)
		qp->rx.asked = true;
	if (p.answers)
		srn_answered_up_to(qp, p.placed_index);
	/* The peer's kernel answers this, not its process: no reply as doorbell.c means it. */
	if (p.answers && !p.asks)
		WRITE_ONCE(qp->rx.responses, qp->rx.responses + 1);
	/* What came before the question may wait for a receive. */
	if (p.asks && qp->rx.waits)
		srn_rnr_asked(qp, p.ask_index);
	else if (p.asks)
		srn_placed_asked(qp, p.ask_index);
	return true;
}

/* May the peer be asked about something that it was not asked about before? */
static bool may_ask(const struct srn_qp *qp)
{
	/* Acquire: the greeting is valid. */
	return READ_ONCE(qp->sq.await_placement) && smp_load_acquire(&qp->tx.may_ask) &&
	       qp->tx.unasked;
}

/* While there is always more to send, the peer is asked each quarter of the send queue. */
static bool has_to_ask(const struct srn_qp *qp)
{
	return may_ask(qp) && qp->sq.next - qp->tx.asked >= qp->sq.depth / 4;
}

static u16 answer(struct srn_qp *qp)
{
	/* Acquire: pairs with srn_placed_asked(). */
	u32 asks = smp_load_acquire(&qp->tx.asks);

	WRITE_ONCE(qp->tx.asks_answered, asks);
	srn_piggyback_answered(qp);
	return READ_ONCE(qp->tx.ask_index);
}

/*
 * Does a question or an answer go before other messages? An answer is held back for one message,
 * because this end may have a question by then, for the same packet. So a peer that asks all the
 * time gets every second turn.
 */
static bool take_turn(struct srn_qp *qp)
{
	bool held = qp->tx.answer_held;

	qp->tx.answer_held = !held && srn_placed_is_asked(qp);
	return has_to_ask(qp) || (held && srn_placed_is_asked(qp));
}

/* Return: false if nothing has to be told but questions and answers. */
static bool notice(struct srn_qp *qp, struct srn_placed_msg *p)
{
	/* Acquire: pairs with srn_rnr_limit_tries(). */
	bool limit = smp_load_acquire(&qp->tx.limit_due), refuse;

	/* What the peer asked for before it sent what is refused is answered first. */
	refuse = READ_ONCE(qp->tx.refuse_due) && !srn_responder_waits(qp);
	/* Acquire: the greeting is valid. */
	if (likely(!limit && !refuse) || !smp_load_acquire(&qp->tx.may_ask))
		return false;
	if (limit) {
		WRITE_ONCE(qp->tx.limit_due, false);
		*p = (struct srn_placed_msg) { .limits = true, .rnr_tries = qp->tx.rnr_tries };
	} else {
		WRITE_ONCE(qp->tx.refuse_due, false);
		*p = (struct srn_placed_msg) {
			.not_ready = true, .messages = READ_ONCE(qp->rx.placed),
		};
	}
	return true;
}

static bool question_or_answer(struct srn_qp *qp, struct srn_placed_msg *p, bool idle)
{
	if (!idle && !take_turn(qp))
		return false;
	*p = (struct srn_placed_msg) {
		.answers = srn_placed_is_asked(qp), .asks = may_ask(qp),
	};
	if (!p->answers && !p->asks)
		return false;
	if (p->answers)
		p->placed_index = answer(qp);
	if (p->asks) {
		p->ask_index = qp->sq.next;
		WRITE_ONCE(qp->tx.asked, qp->sq.next);
		qp->tx.unasked = false;
	}
	return true;
}

/**
 * srn_placed_next - transmit an answer, or a question, or both; or a notice of rnr.h
 * @qp: queue pair that is not within a message
 * @msg: the message
 * @idle: there is nothing else to send
 *
 * Context: the active transmitter.
 *
 * Return: false if there is none, or it has to wait.
 */
bool srn_placed_next(struct srn_qp *qp, struct srn_tx_msg *msg, bool idle)
{
	struct srn_placed_msg p;

	if (!notice(qp, &p) && !question_or_answer(qp, &p, idle))
		return false;
	srn_message_empty_write(qp, msg);
	srn_greeting_put_placed(&qp->rx.greeting, &p, &msg->stag, &msg->to);
	return true;
}

/*
 * The final report goes to a peer that has asked. It also goes to one that has not, if this end
 * uses placed completions: the peer probably does so, too, and may have had no time to ask.
 */
static bool owes_final_report(const struct srn_qp *qp)
{
	if (qp->tx.final_report_sent || !(qp->rx.asked || READ_ONCE(qp->sq.await_placement)))
		return false;
	/* Before the initiator's greeting nobody would understand it. Acquire: that is valid. */
	return smp_load_acquire(&qp->tx.may_ask) && !qp->tx.rtr &&
	       READ_ONCE(qp->tx.greeting) != SRN_GREETING_HELLO;
}

static void put_final_report(struct srn_qp *qp, u32 *stag, u64 *to)
{
	struct srn_placed_msg p = { .last = true, .messages = READ_ONCE(qp->rx.placed) };

	srn_greeting_put_placed(&qp->rx.greeting, &p, stag, to);
	qp->tx.final_report_sent = true;
}

/**
 * srn_placed_close - the connection is about to be closed in an orderly way
 * @qp: queue pair that has nothing else to send
 *
 * What comes after the final report is received until the peer closes, too, but not reported.
 *
 * Context: the active transmitter.
 *
 * Return: true if srn_placed_close_next() has to be called first.
 */
bool srn_placed_close(struct srn_qp *qp)
{
	qp->tx.final_report_due = owes_final_report(qp);
	return qp->tx.final_report_due;
}

/**
 * srn_placed_close_next - transmit the final report
 * @qp: queue pair for which tx.final_report_due is true
 * @msg: the message
 *
 * Context: the active transmitter.
 */
void srn_placed_close_next(struct srn_qp *qp, struct srn_tx_msg *msg)
{
	qp->tx.final_report_due = false;
	srn_message_empty_write(qp, msg);
	put_final_report(qp, &msg->stag, &msg->to);
}

/**
 * srn_placed_final_report - tell the peer at the end what has been placed
 * @qp: queue pair whose stream has been halted
 * @last: what is sent at the end
 *
 * Context: process.
 */
void srn_placed_final_report(struct srn_qp *qp, struct srn_tx_last *last)
{
	last->write = owes_final_report(qp);
	if (last->write)
		put_final_report(qp, &last->stag, &last->to);
}
