// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * When a process has to tell the kernel that it has posted sends.
 *
 * Usually it rings at once, and the system call transmits what was posted. A process that posts
 * a burst of small messages one by one would then spend its time on system calls, and TCP would
 * spend its time on packets of one message each. A burst is recognised by doorbells that follow
 * each other quickly while the peer sends almost nothing but responses to Reads. The process may
 * then delay its next doorbell until it has nothing else to do, which the provider concludes from
 * an empty completion queue, or until there is a batch. The watch (watch.c) looks after a process
 * that gets to neither. If too few messages came together, or the process waited for an answer, the
 * delay did not pay, and it takes longer until it is tried again. A process that posts at its own
 * pace and never finds its completion queue empty waits for the watch with each message. Such a
 * process has processor time to spare for doorbells, so the time until the next try is longest
 * where the watch transmits most batches.
 */
#include "doorbell.h"
#include "qp.h"
#include "watch.h"

#define MIN_STREAK	8
#define MAX_STREAK	4096
/* Streak that is wanted after a burst that waited for the watch most of the time. */
#define PACED_STREAK	32768
#define MAX_LATE_BATCHES 4
/* A batch of this many messages is worth the wait. */
#define MIN_BATCH	4

/**
 * srn_doorbell_init - prepare a new queue pair's doorbell
 * @qp: queue pair
 *
 * Context: process.
 */
void srn_doorbell_init(struct srn_qp *qp)
{
	qp->doorbell.wanted = MIN_STREAK;
	INIT_LIST_HEAD(&qp->doorbell.deferred_entry);
}

/**
 * srn_doorbell_end - the connection has ended: nobody transmits any more
 * @qp: queue pair without a transmitter
 *
 * Context: process.
 */
void srn_doorbell_end(struct srn_qp *qp)
{
	struct srn_doorbell *d = &qp->doorbell;

	WRITE_ONCE(d->lazy, false);
	/* The next connection counts its segments from 0. */
	d->received = 0;
	d->responses = 0;
	srn_watch_remove(qp);
}

/* Return: true if the process has posted already. */
static bool ask(struct srn_qp *qp, u32 how)
{
	WRITE_ONCE(qp->ctrl->sq_kick, how);
	/* Pairs with the provider's fence between storing sq_prod and loading sq_kick. */
	smp_mb();
	return READ_ONCE(qp->ctrl->sq_prod) != qp->sq.prod;
}

/**
 * srn_doorbell_rearm - ask to be called for the next post
 * @qp: queue pair of a process
 *
 * Context: the active transmitter; or none is left, sq.lock held.
 *
 * Return: true if the process has posted already.
 */
bool srn_doorbell_rearm(struct srn_qp *qp)
{
	return ask(qp, SRN_KICK_NOW);
}

/* Letting the process wait did not pay, or no longer does. Return: false, so it may not wait. */
static bool end_burst(struct srn_doorbell *d)
{
	/* PACED_STREAK is no measure of what a burst is worth. */
	bool paid = d->batches > 2 * min_t(u16, d->wanted, MAX_STREAK);

	/* Earlier bursts that did not pay may have raised it. */
	if (paid)
		d->wanted = MIN_STREAK;
	else if (d->wanted < MAX_STREAK)
		d->wanted = clamp(2 * d->wanted, MIN_STREAK, MAX_STREAK);
	return false;
}

/*
 * Does the watch transmit most of what the process posts? It is no sign if the watch does so at
 * times, nor if it does so for one queue pair while the process goes round others. The watch has
 * let go of this queue pair, so its count is that of the others.
 */
static bool is_paced(struct srn_qp *qp, bool late)
{
	struct srn_doorbell *d = &qp->doorbell;

	late = late && !READ_ONCE(qp->scq->watch.count);
	if (late)
		d->late_batches = min(d->late_batches + 1, MAX_LATE_BATCHES);
	else if (d->late_batches)
		d->late_batches--;
	return late && d->late_batches == MAX_LATE_BATCHES;
}

/* A process may wait with its doorbells. Return: true if it makes good use of that, and goes on. */
static bool continue_burst(struct srn_qp *qp, u32 posted, bool quiet, bool late, bool waited)
{
	struct srn_doorbell *d = &qp->doorbell;

	if (!posted) {
		/* A burst that has paid and pauses goes on with its next message. */
		d->wanted = d->batches ? 0 : max_t(u16, d->wanted, MIN_STREAK);
		return false;
	}
	if (waited || !quiet)
		return end_burst(d);
	if (is_paced(qp, late)) {
		d->wanted = PACED_STREAK;
		return false;
	}
	if (posted >= MIN_BATCH) {
		WRITE_ONCE(d->batches, min(d->batches + 1, U16_MAX));
		d->rest = false;
		return true;
	}
	/* One small batch is allowed: it may be the rest of a larger one. */
	if (!d->batches || d->rest)
		return end_burst(d);
	d->rest = true;
	return true;
}

/* Take in what happened since the transmitter stopped last. Return: true if it was a burst. */
static bool update_burst(struct srn_qp *qp)
{
	struct srn_doorbell *d = &qp->doorbell;
	u32 segments = READ_ONCE(qp->rx.segments);
	u32 responses = READ_ONCE(qp->rx.responses);
	u32 received = segments - d->received;
	u32 posted = qp->sq.prod - d->taken;
	u64 now = ktime_get_ns();
	bool quick = now - d->idle_at < srn_doorbell_gap(d);
	/* The receiver may be in the middle of counting a response. */
	u32 answers = received - min(received, responses - d->responses);
	/*
	 * A credit for many messages is not an answer to any of them. Responses do not count, as a
	 * process waits for them at its completion queue.
	 */
	bool quiet = answers * MIN_BATCH <= posted;
	bool late = READ_ONCE(d->late);
	/*
	 * A process that posts nothing more while it waits for an answer has waited for the watch.
	 * The answer to what the watch transmitted may come only after the transmitter has stopped.
	 */
	bool waited = (late || d->was_late) && received;

	/* The process may have lost its processor for a while. */
	if (d->lazy && !posted && quick)
		return true;
	WRITE_ONCE(d->idle_at, now);
	WRITE_ONCE(d->taken, qp->sq.prod);
	WRITE_ONCE(d->late, false);
	d->was_late = late;
	d->received = segments;
	d->responses = responses;
	if (d->lazy) {
		d->streak = 0;
		return continue_burst(qp, posted, quiet, late, waited);
	}
	d->streak = posted && quick && quiet ? d->streak + 1 : 0;
	WRITE_ONCE(d->batches, 0);
	d->rest = false;
	return posted && quiet && d->streak >= d->wanted;
}

/**
 * srn_doorbell_idle - the transmitter is about to stop
 * @qp: queue pair of a process
 *
 * Context: the active transmitter.
 *
 * Return: true if the process has posted meanwhile.
 */
bool srn_doorbell_idle(struct srn_qp *qp)
{
	struct srn_doorbell *d = &qp->doorbell;

	WRITE_ONCE(d->lazy, update_burst(qp));
	if (!d->lazy)
		return srn_doorbell_rearm(qp);
	WRITE_ONCE(qp->ctrl->sq_taken, d->taken);
	if (ask(qp, SRN_KICK_LAZY))
		return true;
	/* If the watch lets go of the queue pair after this, it kicks the transmitter. */
	if (!READ_ONCE(d->watched))
		srn_watch_add(qp);
	return false;
}
