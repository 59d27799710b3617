// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Placed completions, see placed.h.
 */
#include <linux/hrtimer.h>
#include <linux/slab.h>

#include "../compat/compat.h"
#include "../stream/tx.h"
#include "message.h"
#include "placed.h"
#include "rnr.h"

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
	qp->tx.signaled = qp->sq.next;
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
 * would complete: so it is not further back than the queue is deep. A number of messages is 16
 * bits, too, and a work request has two of them at most.
 */
static_assert(SRN_MAX_QP_WR < 32768);

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

/* The peer has placed so many messages of this connection, and will place no more. */
static void take_last(struct srn_qp *qp, u16 messages)
{
	struct srn_sq *sq = &qp->sq;
	unsigned long flags;
	u32 placed;
	u16 left;

	spin_lock_irqsave(&sq->lock, flags);
	left = messages - sq->messages;
	for (placed = sq->cons; placed != READ_ONCE(sq->next); placed++) {
		const struct srn_send *send = srn_sq_slot(sq, placed);

		if (srn_placed_messages(send) > left)
			break;
		left -= srn_placed_messages(send);
	}
	if ((s32)(placed - sq->placed) > 0)
		sq->placed = placed;
	spin_unlock_irqrestore(&sq->lock, flags);
	qp->rx.notify_send = true;
}

/* Nobody has sent anything for a while: the answer leaves alone. */
static enum hrtimer_restart look(struct hrtimer *timer)
{
	struct srn_ride *ride = container_of(timer, struct srn_ride, timer);
	struct srn_qp *qp = ride->qp;
	u32 asks = READ_ONCE(qp->tx.asks), answered = READ_ONCE(qp->tx.asks_answered);
	bool late, again;

	spin_lock(&ride->lock);
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
	/* Release: pairs with srn_placed_answer(). */
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
 * Return: true if it was a question, or an answer, or the last word.
 */
bool srn_placed_received(struct srn_qp *qp)
{
	const struct srn_rdmap_header *h = &qp->rx.header;
	struct srn_placement p;

	if (!srn_greeting_take_placement(&qp->rx.greeting, h->stag, h->to, &p))
		return false;
	if (p.last)
		take_last(qp, p.messages);
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
	       (s32)(qp->tx.signaled - qp->tx.asked) > 0;
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
 * Is it time to answer or to ask, whatever else there is to send? An answer comes behind the next
 * message, if there is one: a question may come along with it then. So a peer that always asks gets
 * every second turn.
 */
static bool is_due(struct srn_qp *qp)
{
	bool held = qp->tx.answer_held;

	qp->tx.answer_held = !held && srn_placed_is_asked(qp);
	return has_to_ask(qp) || (held && srn_placed_is_asked(qp));
}

/**
 * srn_placed_next - transmit an answer, or a question, or both
 * @qp: queue pair that is not within a message
 * @msg: the message
 * @idle: there is nothing else to send
 *
 * Context: the active transmitter.
 *
 * Return: false if there is neither, or it has to wait.
 */
bool srn_placed_next(struct srn_qp *qp, struct srn_tx_msg *msg, bool idle)
{
	struct srn_placement p;

	if (!idle && !is_due(qp))
		return false;
	p = (struct srn_placement) {
		.answers = srn_placed_is_asked(qp), .asks = may_ask(qp),
	};
	if (!p.answers && !p.asks)
		return false;
	if (p.answers)
		p.placed_index = answer(qp);
	if (p.asks) {
		p.ask_index = qp->sq.next;
		WRITE_ONCE(qp->tx.asked, qp->sq.next);
	}
	msg->opcode = SRN_OP_WRITE;
	srn_message_bytes(qp, msg, NULL, 0);
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

/**
 * srn_placed_last - tell the peer at the end what has been placed
 * @qp: queue pair that transmits nothing more but @last
 * @last: filled in
 *
 * Nothing is told to a peer that does not ask. It may have had no time to do so: an end that asks
 * takes its peer for one that does.
 *
 * Context: the active transmitter, or process if the stream has been halted.
 */
void srn_placed_last(struct srn_qp *qp, struct srn_tx_last *last)
{
	struct srn_placement p = { .last = true, .messages = READ_ONCE(qp->rx.placed) };

	*last = (struct srn_tx_last) { };
	/* Before the initiator's greeting nobody would understand it. Acquire: that is valid. */
	if (!smp_load_acquire(&qp->tx.may_ask) || qp->tx.rtr ||
	    READ_ONCE(qp->tx.greeting) == SRN_GREETING_HELLO)
		return;
	if (!qp->tx.asks && !qp->sq.await_placement)
		return;
	last->write = true;
	srn_greeting_put_placement(&qp->rx.greeting, &p, &last->stag, &last->to);
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
