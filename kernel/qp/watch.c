// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The watch looks after queue pairs whose process may wait with its doorbells (doorbell.c).
 *
 * All queue pairs that send to a completion queue share one watch. A process that goes from one
 * queue pair to the next leaves the rest of a batch in many of them, and a timer for each, with one
 * interrupt in 100 µs, would cost more than what it transmits. When the process rings for one of
 * them and has nothing left to poll, the doorbell also transmits what is left in the others; the
 * timer has work only if no doorbell comes. While the timer finds no work, its period grows. So the
 * last message of a burst is late by twice MAX_PERIOD_NS at most: the first look sees it, and the
 * second one transmits it. A burst that needs the timer each time keeps the period short, and
 * waits for three times LATE_NS at most. If there are more queue pairs than MAX_LOOKS, the timer
 * looks at that many each time, in turn. It stops earlier when it has kicked MAX_KICKED of them.
 *
 * Lock order: watch->lock is taken with no spinlock of this module held. Under it, only the timer
 * is started, and a tasklet or a worker is scheduled.
 */
#include "../compat/compat.h"
#include "../stream/tx.h"
#include "doorbell.h"
#include "qp.h"
#include "watch.h"

/* Time from one look to the next: at first, and at most. */
#define LATE_NS		(100 * NSEC_PER_USEC)
#define MAX_PERIOD_NS	(8 * LATE_NS)
/* Most queue pairs that the timer and a doorbell look at, and that a doorbell transmits for. */
#define MAX_LOOKS	256
#define MAX_HELP_LOOKS	16
#define MAX_HELPED	8
/* Most queue pairs that the timer kicks at once: their tasklets run one after the other. */
#define MAX_KICKED	16

/* Has the process paused for longer than within a burst? */
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

/* Does nothing if the queue pair is not deferred. */
static void remove_deferred(struct srn_qp *qp)
{
	struct srn_cq *cq = qp->scq;

	lockdep_assert_held(&cq->watch.lock);
	list_del_init(&qp->doorbell.deferred_entry);
	WRITE_ONCE(cq->ctrl->deferred, !list_empty(&cq->watch.deferred));
}

/* Is something left, while nobody transmits, or waits for the peer before going on? */
static bool is_left(const struct srn_qp *qp)
{
	u32 taken = READ_ONCE(qp->doorbell.taken);

	return READ_ONCE(qp->ctrl->sq_prod) != taken && READ_ONCE(qp->sq.prod) == taken;
}

/*
 * Return: true if the watch lets go of the queue pair and has kicked its transmitter; then *late is
 * set if something was late.
 */
static bool look_after(struct srn_watch *watch, struct srn_qp *qp, u64 now, bool *late)
{
	u32 taken = READ_ONCE(qp->doorbell.taken);
	bool was_seen = (s32)(qp->doorbell.seen - taken) > 0, left, is_late, paused;

	lockdep_assert_held(&watch->lock);
	qp->doorbell.seen = READ_ONCE(qp->ctrl->sq_prod);
	/* A process may write any index: only what lies ahead is left. */
	left = (s32)(qp->doorbell.seen - taken) > 0 && READ_ONCE(qp->sq.prod) == taken;
	is_late = left && was_seen;
	/* The process has posted nothing for long, or the peer takes nothing more. */
	paused = !left && has_paused(qp, now);
	if (!is_late && !paused && READ_ONCE(qp->doorbell.lazy)) {
		list_move_tail(&qp->doorbell.watch_entry, &watch->qps);
		return false;
	}
	*late |= is_late;
	WRITE_ONCE(qp->doorbell.late, is_late);
	/* The transmitter sends what is left, and ends the burst or adds it to the watch again. */
	remove_locked(watch, qp);
	srn_tx_kick_async(&qp->stream);
	return true;
}

static enum hrtimer_restart look_after_some(struct hrtimer *timer)
{
	struct srn_watch *watch = container_of(timer, struct srn_watch, timer);
	u64 now = ktime_get_ns();
	u32 looks, kicked = 0;
	bool late = false, needed, more;

	spin_lock(&watch->lock);
	looks = min_t(u32, watch->count, MAX_LOOKS);
	needed = watch->count > looks;
	for (; looks && kicked < MAX_KICKED; looks--)
		kicked += look_after(watch, list_first_entry(&watch->qps, struct srn_qp,
							     doorbell.watch_entry), now, &late);
	needed |= late || looks;
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
 *
 * Context: process.
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
 * @watch: watch without queue pairs
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

/* Find queue pairs in which something was left, and take references. Return: how many. */
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
 * srn_watch_help - transmit what a process has left in other queue pairs
 * @qp: queue pair that the process has rung for
 *
 * The process has nothing left to poll, so it would usually ring for each of the others next.
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
 * @qp: queue pair that the process has rung for
 *
 * One worker transmits for all deferred queue pairs and has to share the processor with the
 * process. Queue pairs for which the process itself transmits would get ever further ahead of them.
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
