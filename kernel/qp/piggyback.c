// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Piggybacking of answers on messages, see piggyback.h.
 */
#include <linux/hrtimer.h>
#include <linux/slab.h>

#include "../compat/compat.h"
#include "../stream/charge.h"
#include "../stream/tx.h"
#include "piggyback.h"

/* A message that follows an answer in this time follows it closely. */
#define CLOSE_NS	(50 * NSEC_PER_USEC)
/*
 * How long an answer waits for a message, up to twice that. It is longer, since the timer costs a
 * tenth of a round trip of small messages if it fires in each, and an answer seldom waits in vain.
 */
#define WAIT_NS		(200 * NSEC_PER_USEC)
/*
 * Messages that have to follow an answer closely before answers wait. It is more than what programs
 * exchange when they begin: perftest's server then listens again, once its last Send is complete,
 * and its client, which has received that, connects.
 */
#define FIRST_DOUBT	8
/* Most of them, if answers have waited in vain. */
#define MAX_DOUBT	64

/**
 * struct srn_piggyback - answers that wait for a message to leave with
 * @qp: queue pair
 * @timer: sends what nothing has come for
 * @left_at: when the last answer left alone, in ns; of the transmitter
 * @lock: protects what follows; a leaf
 * @waits: answers wait
 * @running: the timer has been started
 * @seen: number of questions when the timer was started, or looked last
 * @doubt: messages that have to follow an answer closely before answers wait
 * @penalty: @doubt after the next answer for which no message comes in time
 */
struct srn_piggyback {
	struct srn_qp *qp;
	struct hrtimer timer;
	u64 left_at;
	spinlock_t lock;	/* protects the fields below */
	bool waits;
	bool running;
	u32 seen;
	u32 doubt;
	u32 penalty;
};

/* Nobody has sent anything for a while: the answer leaves alone. */
static enum hrtimer_restart timer_ends(struct hrtimer *timer)
{
	struct srn_piggyback *p = container_of(timer, struct srn_piggyback, timer);
	struct srn_qp *qp = p->qp;
	u32 asks, answered;
	bool late, again;

	spin_lock(&p->lock);
	/* A question that is not seen here sees that the timer does not run any more. */
	asks = READ_ONCE(qp->tx.asks);
	answered = READ_ONCE(qp->tx.asks_answered);
	late = (s32)(p->seen - answered) > 0;
	again = !late && asks != answered;
	p->seen = asks;
	p->running = again;
	if (late) {
		p->waits = false;
		p->doubt = p->penalty;
		p->penalty = min_t(u32, 2 * p->penalty + 1, MAX_DOUBT);
	}
	spin_unlock(&p->lock);
	if (late)
		srn_tx_kick_async(&qp->stream);
	if (!again)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(WAIT_NS));
	return HRTIMER_RESTART;
}

static struct srn_piggyback *create(struct srn_qp *qp)
{
	struct mem_cgroup *before = srn_charge_to(qp->stream.payer);
	struct srn_piggyback *p = kzalloc(sizeof(*p), srn_charge_gfp_now(qp->stream.payer));

	set_active_memcg(before);
	if (!p)
		return NULL;
	p->qp = qp;
	p->doubt = FIRST_DOUBT;
	spin_lock_init(&p->lock);
	srn_compat_timer_setup(&p->timer, timer_ends);
	return p;
}

/**
 * srn_piggyback_wait - the peer has asked
 * @qp: queue pair, whose tx.asks counts the question already
 *
 * Context: the receiver.
 *
 * Return: true if the answer waits for a message, false if it is to leave at once.
 */
bool srn_piggyback_wait(struct srn_qp *qp)
{
	struct srn_piggyback *p = qp->rx.piggyback;
	bool waits;

	if (!p) {
		p = create(qp);
		/* Release: the transmitter looks for it. */
		smp_store_release(&qp->rx.piggyback, p);
	}
	if (!p)
		return false;
	spin_lock(&p->lock);
	waits = p->waits;
	if (waits && !p->running) {
		p->running = true;
		p->seen = qp->tx.asks;
		hrtimer_start(&p->timer, ns_to_ktime(WAIT_NS), HRTIMER_MODE_REL_SOFT);
	}
	spin_unlock(&p->lock);
	return waits;
}

/**
 * srn_piggyback_answered - an answer leaves now
 * @qp: queue pair
 *
 * Context: the active transmitter.
 */
void srn_piggyback_answered(struct srn_qp *qp)
{
	/* Acquire: pairs with srn_piggyback_wait(). */
	struct srn_piggyback *p = smp_load_acquire(&qp->rx.piggyback);

	if (!p || READ_ONCE(p->waits))
		return;
	p->left_at = ktime_get_ns();
	qp->tx.answered_alone = true;
}

/**
 * srn_piggyback_followed - a message comes behind an answer that did not wait for it
 * @qp: queue pair for which tx.answered_alone is true
 *
 * Context: the active transmitter, bottom halves disabled.
 */
void srn_piggyback_followed(struct srn_qp *qp)
{
	struct srn_piggyback *p = qp->rx.piggyback;

	qp->tx.answered_alone = false;
	if (ktime_get_ns() - p->left_at > CLOSE_NS)
		return;
	spin_lock(&p->lock);
	if (p->doubt)
		p->doubt--;
	else
		p->waits = true;
	spin_unlock(&p->lock);
}

/**
 * srn_piggyback_exit - let no answer wait any more
 * @qp: queue pair whose stream has been stopped
 *
 * Context: process, sleeps.
 */
void srn_piggyback_exit(struct srn_qp *qp)
{
	struct srn_piggyback *p = qp->rx.piggyback;

	if (!p)
		return;
	hrtimer_cancel(&p->timer);
	kfree(p);
	qp->rx.piggyback = NULL;
}
