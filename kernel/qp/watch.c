// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The watch looks after queue pairs whose process may wait with its doorbells (doorbell.c).
 *
 * There is one watch for all that send to a completion queue: a process that goes from one
 * queue pair to the next leaves the rest of a batch in many of them, and a timer for each, at one
 * interrupt in 100 µs, would cost more than what it transmits. A doorbell for one of them, once
 * nothing is left to be polled, transmits what the others have left, too; the timer has work only
 * if no doorbell comes. As long as it has none it comes ever more seldom. So what a stream
 * posts last is late by twice MAX_PERIOD_NS at the most: the first look sees it, the second one
 * transmits it. One that needs the timer each time has short looks, and waits for three times
 * LATE_NS. With more queue pairs than MAX_LOOKS that many are looked at each time, in turn.
 *
 * Lock order: watch->lock is taken with no other lock of this module held. The start of the timer
 * and the scheduling of a tasklet or a worker is all that happens below it.
 */
#include "../compat/compat.h"
#include "../stream/tx.h"
#include "doorbell.h"
#include "qp.h"
#include "watch.h"

/* From one look to the next. */
#define LATE_NS		(100 * NSEC_PER_USEC)
#define MAX_PERIOD_NS	(8 * LATE_NS)
/* How many the timer and a doorbell look at in one go. */
#define MAX_LOOKS	256
#define MAX_HELP_LOOKS	16
#define MAX_HELPED	8
/* And how many the timer has transmit, which one tasklet after the other does. */
#define MAX_LATE	16

/* Has it paused for longer than a stream does? */
static bool has_paused(const struct srn_qp *qp, u64 now)
{
	s64 since = now - READ_ONCE(qp->doorbell.idle_at);

	return since > (s64)srn_doorbell_gap(&qp->doorbell);
}

static void remove_locked(struct srn_watch *watch, struct srn_qp *qp)
{
	lockdep_assert_held(&watch->lock);
	list_del(&qp->doorbell.watch_entry);
	WRITE_ONCE(watch->count, watch->count - 1);
	WRITE_ONCE(qp->doorbell.watched, false);
}

/* Does nothing if it is not deferred. */
static void remove_deferred(struct srn_qp *qp)
{
	struct srn_cq *cq = qp->scq;

	lockdep_assert_held(&cq->watch.lock);
	list_del_init(&qp->doorbell.deferred_entry);
	WRITE_ONCE(cq->ctrl->deferred, !list_empty(&cq->watch.deferred));
}

/* Something is, and nobody is at work on it or waits for the peer's leave to go on. */
static bool is_left(const struct srn_qp *qp)
{
	u32 taken = READ_ONCE(qp->doorbell.taken);

	return READ_ONCE(qp->ctrl->sq_prod) != taken && READ_ONCE(qp->sq.prod) == taken;
}

/* Return: it was late, and is being transmitted. */
static bool look_after(struct srn_watch *watch, struct srn_qp *qp, u64 now)
{
	u32 taken = READ_ONCE(qp->doorbell.taken);
	/* Anything is left that the last look has seen. */
	bool late = (s32)(qp->doorbell.seen - taken) > 0 && is_left(qp);
	bool paused;

	lockdep_assert_held(&watch->lock);
	qp->doorbell.seen = READ_ONCE(qp->ctrl->sq_prod);
	paused = qp->doorbell.seen == taken && has_paused(qp, now);
	if (!late && !paused && READ_ONCE(qp->doorbell.lazy)) {
		list_move_tail(&qp->doorbell.watch_entry, &watch->qps);
		return false;
	}
	WRITE_ONCE(qp->doorbell.late, late);
	/* It transmits, finds that it is no stream any more, or adds itself again. */
	remove_locked(watch, qp);
	srn_tx_kick_async(&qp->stream);
	return late;
}

static enum hrtimer_restart look_after_some(struct hrtimer *timer)
{
	struct srn_watch *watch = container_of(timer, struct srn_watch, timer);
	u64 now = ktime_get_ns();
	u32 looks, late = 0;
	bool needed, more;

	spin_lock(&watch->lock);
	looks = min_t(u32, watch->count, MAX_LOOKS);
	needed = watch->count > looks;
	for (; looks && late < MAX_LATE; looks--)
		late += look_after(watch, list_first_entry(&watch->qps, struct srn_qp,
							   doorbell.watch_entry), now);
	needed |= late;
	more = watch->count;
	watch->running = more;
	watch->period = needed ? LATE_NS : min_t(u32, 2 * watch->period, MAX_PERIOD_NS);
	if (more)
		hrtimer_forward_now(timer, ns_to_ktime(watch->period));
	spin_unlock(&watch->lock);
	return more ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/**
 * srn_watch_init - prepare a new completion queue's watch
 * @watch: watch
 */
void srn_watch_init(struct srn_watch *watch)
{
	spin_lock_init(&watch->lock);
	INIT_LIST_HEAD(&watch->qps);
	INIT_LIST_HEAD(&watch->deferred);
	srn_compat_timer_setup(&watch->timer, look_after_some);
}

/**
 * srn_watch_exit - the completion queue goes away
 * @watch: watch of no queue pair
 *
 * Context: process, sleeps.
 */
void srn_watch_exit(struct srn_watch *watch)
{
	hrtimer_cancel(&watch->timer);
}

/**
 * srn_watch_add - look after a queue pair whose process may be late
 * @qp: queue pair, watched already or not
 *
 * Context: its active transmitter.
 */
void srn_watch_add(struct srn_qp *qp)
{
	struct srn_watch *watch = &qp->scq->watch;

	spin_lock_bh(&watch->lock);
	if (!qp->doorbell.watched) {
		qp->doorbell.seen = READ_ONCE(qp->doorbell.taken);
		list_add_tail(&qp->doorbell.watch_entry, &watch->qps);
		WRITE_ONCE(watch->count, watch->count + 1);
		WRITE_ONCE(qp->doorbell.watched, true);
	}
	if (!watch->running) {
		watch->running = true;
		watch->period = LATE_NS;
		hrtimer_start(&watch->timer, ns_to_ktime(LATE_NS), HRTIMER_MODE_REL_SOFT);
	}
	spin_unlock_bh(&watch->lock);
}

/**
 * srn_watch_remove - the queue pair goes away
 * @qp: queue pair without a transmitter
 *
 * Context: process.
 */
void srn_watch_remove(struct srn_qp *qp)
{
	struct srn_watch *watch = &qp->scq->watch;

	spin_lock_bh(&watch->lock);
	if (qp->doorbell.watched)
		remove_locked(watch, qp);
	remove_deferred(qp);
	spin_unlock_bh(&watch->lock);
}

/* Queue pairs, with references, in which something was left. Return: how many. */
static u32 find_left(struct srn_watch *watch, const struct srn_qp *but, struct srn_qp **left)
{
	u32 looks, found = 0;
	struct srn_qp *qp;

	lockdep_assert_held(&watch->lock);
	looks = min_t(u32, watch->count, MAX_HELP_LOOKS);
	for (; looks && found < MAX_HELPED; looks--) {
		qp = list_first_entry(&watch->qps, struct srn_qp, doorbell.watch_entry);
		list_move_tail(&qp->doorbell.watch_entry, &watch->qps);
		if (qp != but && is_left(qp) && refcount_inc_not_zero(&qp->refs))
			left[found++] = qp;
	}
	return found;
}

/**
 * srn_watch_help - transmit what a process without anything to poll has left in other queue pairs
 * @qp: the one that it has rung for
 *
 * Usually it would ring for each of them.
 *
 * Context: process, no locks held; sleeps for their socket locks.
 */
void srn_watch_help(struct srn_qp *qp)
{
	struct srn_watch *watch = &qp->scq->watch;
	struct srn_qp *left[MAX_HELPED];
	u32 found, i;

	spin_lock_bh(&watch->lock);
	found = find_left(watch, qp, left);
	spin_unlock_bh(&watch->lock);
	for (i = 0; i < found; i++) {
		srn_tx_kick(&left[i]->stream);
		srn_qp_put(left[i]);
	}
}

/**
 * srn_watch_defer - a worker is about to be asked to transmit for a queue pair
 * @qp: queue pair of a process
 *
 * Context: its active transmitter.
 */
void srn_watch_defer(struct srn_qp *qp)
{
	struct srn_watch *watch = &qp->scq->watch;

	spin_lock_bh(&watch->lock);
	if (list_empty(&qp->doorbell.deferred_entry))
		list_add_tail(&qp->doorbell.deferred_entry, &watch->deferred);
	WRITE_ONCE(qp->scq->ctrl->deferred, 1);
	spin_unlock_bh(&watch->lock);
}

/* Return: the queue pair that has waited longest, with a reference; NULL if there is none. */
static struct srn_qp *next_deferred(struct srn_watch *watch)
{
	struct srn_qp *qp, *found = NULL;

	spin_lock_bh(&watch->lock);
	while (!found && !list_empty(&watch->deferred)) {
		qp = list_first_entry(&watch->deferred, struct srn_qp, doorbell.deferred_entry);
		remove_deferred(qp);
		if (refcount_inc_not_zero(&qp->refs))
			found = qp;
	}
	spin_unlock_bh(&watch->lock);
	return found;
}

/**
 * srn_watch_take_over - transmit what a worker was asked to transmit before
 * @qp: the queue pair that the process has rung for
 *
 * One worker transmits for all of them and has to share the processor with the process. Whoever
 * the process transmits for itself would get ever further ahead of them.
 *
 * Context: process, no locks held; sleeps for their socket locks.
 */
void srn_watch_take_over(struct srn_qp *qp)
{
	struct srn_watch *watch = &qp->scq->watch;
	struct srn_qp *deferred;
	u32 i;

	for (i = 0; i < MAX_HELPED; i++) {
		deferred = next_deferred(watch);
		if (!deferred)
			return;
		srn_tx_take_over(&deferred->stream);
		srn_qp_put(deferred);
	}
}
