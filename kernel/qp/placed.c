// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Placed completions, see placed.h.
 */
#include <linux/hrtimer.h>
#include <linux/slab.h>

#include "../compat/compat.h"
#include "../stream/tx.h"
#include "completion.h"
#include "message.h"
#include "placed.h"
#include "responder.h"
#include "rnr.h"
#include "state.h"

/* How long an answer waits for a message that it may ride with. */
#define RIDE_NS		(50 * NSEC_PER_USEC)
/* Most messages that have to follow an answer closely before answers wait again. */
#define MAX_DOUBT	64

/**
 * struct srn_ride - answers that wait for a message to ride with
 * @qp: queue pair
 * @timer: sends what nothing has come for
 * @left_at: when the last answer left alone, in ns; of the transmitter
 * @lock: protects what follows; a leaf
 * @rides: answers wait
 * @running: the timer has been started
 * @seen: number of questions when the timer was started, or looked last
 * @doubt: messages that have to follow an answer closely before answers wait again
 * @penalty: @doubt after the next answer for which no message comes in time
 */
struct srn_ride {
	struct srn_qp *qp;
	struct hrtimer timer;
	u64 left_at;
	spinlock_t lock;	/* of what follows */
	bool rides;
	bool running;
	u32 seen;
	u32 doubt;
	u32 penalty;
};

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

/*
 * An index is 16 bits of one in the send queue, which holds what the answer to an earlier question
 * would complete: so it is not further back than the queue is deep.
 */
static_assert(SRN_MAX_QP_WR <= 32768);

static void take_answer(struct srn_qp *qp, u16 index)
{
	struct srn_sq *sq = &qp->sq;
	unsigned long flags;
	u32 asked, placed;

	spin_lock_irqsave(&sq->lock, flags);
	asked = READ_ONCE(qp->tx.asked);
	placed = asked - (u16)(asked - index);
	if ((s32)(placed - sq->placed) > 0)
		sq->placed = placed;
	spin_unlock_irqrestore(&sq->lock, flags);
	qp->rx.notify_send = true;
}

/* How far a search for the last message that has been placed is. */
struct search {
	u32 index;		/* in the send queue */
	s32 left;		/* messages that have been placed from there on */
};

/*
 * The peer has placed so many messages of this connection. There may be fewer than have completed
 * here, as nobody waits for what is not signaled. Return: false at the end of the search.
 */
static bool search_on(struct srn_sq *sq, struct search *s, u32 messages)
{
	u32 most = SRN_COMPLETE_AT_ONCE, next, n;

	lockdep_assert_held(&sq->lock);
	/* At the beginning, or if work has completed meanwhile. */
	if ((s32)(sq->cons - s->index) >= 0) {
		s->index = sq->cons;
		s->left = messages - sq->messages;
	}
	/* Acquire: pairs with srn_requester_built(). */
	next = smp_load_acquire(&sq->next);
	for (; most && s->left > 0 && s->index != next; most--) {
		n = srn_placed_messages(srn_sq_slot(sq, s->index++));
		if (n > s->left)
			return false;
		s->left -= n;
		/* What has no message may not have come to the peer, if nothing behind it has. */
		if (n && (s32)(s->index - sq->placed) > 0)
			sq->placed = s->index;
	}
	return s->left > 0 && s->index != next;
}

/* Only the first word counts: looking through the queue takes its time. */
static void take_last(struct srn_qp *qp, u32 messages)
{
	struct srn_sq *sq = &qp->sq;
	struct search s = { .index = READ_ONCE(sq->cons) };
	unsigned long flags;
	bool more;

	if (qp->rx.last_word)
		return;
	qp->rx.last_word = true;
	qp->rx.notify_send = true;
	do {
		spin_lock_irqsave(&sq->lock, flags);
		more = search_on(sq, &s, messages);
		spin_unlock_irqrestore(&sq->lock, flags);
	} while (more);
}

/* Could the peer mean this work request? */
static bool is_about(const struct srn_send *send, const struct srn_rdmap_header *h)
{
	if (!h)
		return srn_placed_messages(send);
	if (!h->tagged)
		return srn_wr_info(send)->kind == SRN_WR_KIND_SEND ||
		       send->wqe.opcode == SRN_WR_WRITE_WITH_IMM;
	return srn_wr_info(send)->kind == SRN_WR_KIND_WRITE && send->wqe.rkey == h->stag &&
	       h->to - send->wqe.remote_addr < send->length;
}

/* Look at the next few work requests from @index on. Return: false at the end of the search. */
static bool blame(struct srn_sq *sq, u32 *index, const struct srn_rdmap_header *h, u8 status,
		  bool *found)
{
	u32 most = SRN_COMPLETE_AT_ONCE, prod;
	struct srn_send *send;

	lockdep_assert_held(&sq->lock);
	if ((s32)(sq->cons - *index) > 0)
		*index = sq->cons;
	/* The one in hand, too. Acquire: pairs with srn_fetch_next() and srn_fetch_post(). */
	prod = smp_load_acquire(&sq->prod);
	for (; most && *index != prod; most--) {
		send = srn_sq_slot(sq, (*index)++);
		if (!is_about(send, h))
			continue;
		send->status = status;
		*found = true;
		return false;
	}
	return *index != prod;
}

/**
 * srn_placed_refused - the peer ends the stream because of a Send or Write
 * @qp: queue pair
 * @h: header of its segment, or NULL if the peer does not tell
 * @status: enum ib_wc_status that says why
 *
 * If the peer has told what it has placed, it is the next one that fits: a Write may have overtaken
 * Sends that wait for a receive. What was not signaled may be complete.
 *
 * Context: the receiver.
 *
 * Return: true if there is one.
 */
bool srn_placed_refused(struct srn_qp *qp, const struct srn_rdmap_header *h, u8 status)
{
	struct srn_sq *sq = &qp->sq;
	u32 index = READ_ONCE(sq->placed);
	bool more, found = false;
	unsigned long flags;

	if (!qp->rx.last_word)
		return false;
	do {
		spin_lock_irqsave(&sq->lock, flags);
		more = blame(sq, &index, h, status, &found);
		spin_unlock_irqrestore(&sq->lock, flags);
	} while (more);
	return found;
}

/* The peer has no receive for the message behind so many. That is the end, as with InfiniBand. */
static void not_received(struct srn_qp *qp, u32 messages)
{
	/* Nothing else counts, and this does not come twice. */
	qp->stream.rx_stopped = true;
	take_last(qp, messages);
	/* One that was not signaled, and is complete: the next one tells. */
	if (!srn_placed_refused(qp, NULL, IB_WC_RNR_RETRY_EXC_ERR))
		srn_completion_flush_first_as(qp, IB_WC_RNR_RETRY_EXC_ERR);
	srn_state_fail(qp, 0, NULL, "its peer has posted no receive in time");
}

/* Nobody has sent anything for a while: the answer leaves alone. */
static enum hrtimer_restart look(struct hrtimer *timer)
{
	struct srn_ride *ride = container_of(timer, struct srn_ride, timer);
	struct srn_qp *qp = ride->qp;
	u32 asks, answered;
	bool late, again;

	spin_lock(&ride->lock);
	/* A question that is not seen here sees that the timer does not run any more. */
	asks = READ_ONCE(qp->tx.asks);
	answered = READ_ONCE(qp->tx.asks_answered);
	late = (s32)(ride->seen - answered) > 0;
	again = !late && asks != answered;
	ride->seen = asks;
	ride->running = again;
	if (late) {
		ride->rides = false;
		ride->doubt = ride->penalty;
		ride->penalty = min_t(u32, 2 * ride->penalty + 1, MAX_DOUBT);
	}
	spin_unlock(&ride->lock);
	if (late)
		srn_tx_kick_async(&qp->stream);
	if (!again)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(RIDE_NS));
	return HRTIMER_RESTART;
}

static struct srn_ride *create_ride(struct srn_qp *qp)
{
	struct srn_ride *ride = kzalloc(sizeof(*ride), GFP_ATOMIC | __GFP_NOWARN);

	if (!ride)
		return NULL;
	ride->qp = qp;
	ride->rides = true;
	spin_lock_init(&ride->lock);
	srn_compat_timer_setup(&ride->timer, look);
	return ride;
}

/* Return: true if the answer waits for a message. */
static bool waits_for_ride(struct srn_qp *qp)
{
	struct srn_ride *ride = qp->rx.ride;
	bool rides;

	if (!ride) {
		ride = create_ride(qp);
		/* Release: the transmitter looks for it. */
		smp_store_release(&qp->rx.ride, ride);
	}
	if (!ride)
		return false;
	spin_lock(&ride->lock);
	rides = ride->rides;
	if (rides && !ride->running) {
		ride->running = true;
		ride->seen = qp->tx.asks;
		hrtimer_start(&ride->timer, ns_to_ktime(RIDE_NS), HRTIMER_MODE_REL_SOFT);
	}
	spin_unlock(&ride->lock);
	return rides;
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
	if (!waits_for_ride(qp))
		srn_tx_kick_async(&qp->stream);
}

/**
 * srn_placed_received - a Write without payload has come
 * @qp: queue pair
 *
 * Context: the receiver.
 *
 * Return: true if it was one of those in struct srn_placement.
 */
bool srn_placed_received(struct srn_qp *qp)
{
	const struct srn_rdmap_header *h = &qp->rx.header;
	struct srn_placement p;

	if (!srn_greeting_take_placement(&qp->rx.greeting, h->stag, h->to, &p))
		return false;
	if (p.last)
		take_last(qp, p.messages);
	if (p.limits)
		srn_rnr_limited(qp, p.rnr_tries);
	if (p.not_ready)
		not_received(qp, p.messages);
	if (p.asks)
		qp->rx.asked = true;
	if (p.answers)
		take_answer(qp, p.placed_index);
	/* That says nothing of whether the process of the peer answers, see doorbell.c. */
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
	/* Acquire: pairs with waits_for_ride(). */
	struct srn_ride *ride = smp_load_acquire(&qp->rx.ride);

	WRITE_ONCE(qp->tx.asks_answered, asks);
	if (ride && !READ_ONCE(ride->rides)) {
		ride->left_at = ktime_get_ns();
		qp->tx.answered_alone = true;
	}
	return READ_ONCE(qp->tx.ask_index);
}

/*
 * Does a question or an answer go before other messages? An answer is held back for one message,
 * because this end may have a question by then, for the same packet. So a peer that asks all the
 * time gets every second turn.
 */
static bool is_due(struct srn_qp *qp)
{
	bool held = qp->tx.answer_held;

	qp->tx.answer_held = !held && srn_placed_is_asked(qp);
	return has_to_ask(qp) || (held && srn_placed_is_asked(qp));
}

/* Return: false if nothing has to be told but questions and answers. */
static bool notice(struct srn_qp *qp, struct srn_placement *p)
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
		*p = (struct srn_placement) { .limits = true, .rnr_tries = qp->tx.rnr_tries };
	} else {
		WRITE_ONCE(qp->tx.refuse_due, false);
		*p = (struct srn_placement) {
			.not_ready = true, .messages = READ_ONCE(qp->rx.placed),
		};
	}
	return true;
}

static bool question_or_answer(struct srn_qp *qp, struct srn_placement *p, bool idle)
{
	if (!idle && !is_due(qp))
		return false;
	*p = (struct srn_placement) {
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
	struct srn_placement p;

	if (!notice(qp, &p) && !question_or_answer(qp, &p, idle))
		return false;
	srn_message_empty_write(qp, msg);
	srn_greeting_put_placement(&qp->rx.greeting, &p, &msg->stag, &msg->to);
	return true;
}

/**
 * srn_placed_followed - a message of the consumer comes behind an answer that did not wait for it
 * @qp: queue pair for which tx.answered_alone is true
 *
 * Context: the active transmitter, bottom halves disabled.
 */
void srn_placed_followed(struct srn_qp *qp)
{
	struct srn_ride *ride = qp->rx.ride;

	qp->tx.answered_alone = false;
	if (ktime_get_ns() - ride->left_at > RIDE_NS)
		return;
	spin_lock(&ride->lock);
	if (ride->doubt)
		ride->doubt--;
	else
		ride->rides = true;
	spin_unlock(&ride->lock);
}

/*
 * The final report goes to a peer that has asked. If this end would ask, so would the peer, and may
 * have had no time for it.
 */
static bool owes_last(const struct srn_qp *qp)
{
	if (qp->tx.last_told || !(qp->rx.asked || READ_ONCE(qp->sq.await_placement)))
		return false;
	/* Before the initiator's greeting nobody would understand it. Acquire: that is valid. */
	return smp_load_acquire(&qp->tx.may_ask) && !qp->tx.rtr &&
	       READ_ONCE(qp->tx.greeting) != SRN_GREETING_HELLO;
}

static void put_last(struct srn_qp *qp, u32 *stag, u64 *to)
{
	struct srn_placement p = { .last = true, .messages = READ_ONCE(qp->rx.placed) };

	srn_greeting_put_placement(&qp->rx.greeting, &p, stag, to);
	qp->tx.last_told = true;
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
	qp->tx.last_due = owes_last(qp);
	return qp->tx.last_due;
}

/**
 * srn_placed_close_next - transmit the final report
 * @qp: queue pair for which tx.last_due is true
 * @msg: the message
 *
 * Context: the active transmitter.
 */
void srn_placed_close_next(struct srn_qp *qp, struct srn_tx_msg *msg)
{
	qp->tx.last_due = false;
	srn_message_empty_write(qp, msg);
	put_last(qp, &msg->stag, &msg->to);
}

/**
 * srn_placed_last - tell the peer at the end what has been placed
 * @qp: queue pair whose stream has been halted
 * @last: what is sent at the end
 *
 * Context: process.
 */
void srn_placed_last(struct srn_qp *qp, struct srn_tx_last *last)
{
	last->write = owes_last(qp);
	if (last->write)
		put_last(qp, &last->stag, &last->to);
}

/**
 * srn_placed_exit - answer nothing any more
 * @qp: queue pair whose stream has been stopped
 *
 * Context: process, sleeps.
 */
void srn_placed_exit(struct srn_qp *qp)
{
	struct srn_ride *ride = qp->rx.ride;

	if (!ride)
		return;
	hrtimer_cancel(&ride->timer);
	kfree(ride);
	qp->rx.ride = NULL;
}
