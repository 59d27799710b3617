// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * When a process has to tell the kernel that it has posted sends.
 *
 * Usually at once: the system call transmits what was posted. A process that streams small
 * messages, one after the other, would spend its time in system calls and TCP's in packets
 * of one message each. It is recognised by doorbells that follow each other quickly while
 * the peer sends next to nothing but responses to Reads; it may then wait with the next one until
 * it has nothing else to do, which the provider takes an empty completion queue for, or until
 * there is a batch. Those who never get there are looked after (watch.c). Where too few messages
 * have come together, or an answer was waited for, that did not pay; it takes longer until it is
 * tried again. A process that posts at a pace of its own, and never finds its completion queue
 * empty, waits for the watch with each message. It has the processor's time for its doorbells, so
 * where the watch transmits most batches it takes longest.
 */
#include "doorbell.h"
#include "qp.h"
#include "watch.h"

#define MIN_STREAK	8
#define MAX_STREAK	4096
/* After a stream that had to wait for the watch most of the time. */
#define PACED_STREAK	32768
#define MAX_LATE_BATCHES 4
/* So many messages are worth the wait. */
#define MIN_BATCH	4

/**
 * srn_doorbell_init - prepare a new queue pair's doorbell
 * @qp: queue pair
 */
void srn_doorbell_init(struct srn_qp *qp)
{
	qp->doorbell.wanted = MIN_STREAK;
	INIT_LIST_HEAD(&qp->doorbell.deferred_entry);
}

/* Return: there has been a post already. */
static bool ask(struct srn_qp *qp, u32 how)
{
	WRITE_ONCE(qp->ctrl->sq_kick, how);
	/* Pairs with the fence between storing sq_prod and loading sq_kick. */
	smp_mb();
	return READ_ONCE(qp->ctrl->sq_prod) != qp->sq.prod;
}

/**
 * srn_doorbell_rearm - ask to be called for the next post
 * @qp: queue pair of a process
 *
 * Context: the active transmitter; or none is left, sq.lock held.
 *
 * Return: there has been one already.
 */
bool srn_doorbell_rearm(struct srn_qp *qp)
{
	return ask(qp, SRN_KICK_NOW);
}

/* It did not pay to let the process wait, or no longer does. Return: false, it may not. */
static bool end_stream(struct srn_doorbell *d)
{
	bool paid = d->batches > 2 * d->wanted;

	/* It may have been longer. */
	if (paid)
		d->wanted = MIN_STREAK;
	else if (d->wanted < MAX_STREAK)
		d->wanted = clamp(2 * d->wanted, MIN_STREAK, MAX_STREAK);
	return false;
}

/*
 * Does the watch transmit most of what the process posts? What is left at times is no sign, nor
 * what is left in one queue pair while the process goes round others. The watch has let go of
 * this one.
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

/* Does the process that may wait make good use of it? */
static bool still_streams(struct srn_qp *qp, u32 posted, bool quiet, bool late, bool waited)
{
	struct srn_doorbell *d = &qp->doorbell;

	if (!posted) {
		/* One that has paid and pauses is a stream again with its next message. */
		d->wanted = d->batches ? 0 : max_t(u16, d->wanted, MIN_STREAK);
		return false;
	}
	if (waited || !quiet)
		return end_stream(d);
	if (is_paced(qp, late)) {
		d->wanted = PACED_STREAK;
		return false;
	}
	if (posted >= MIN_BATCH) {
		WRITE_ONCE(d->batches, min(d->batches + 1, U16_MAX));
		d->rest = false;
		return true;
	}
	/* The rest of a batch may be small. */
	if (!d->batches || d->rest)
		return end_stream(d);
	d->rest = true;
	return true;
}

/* Has the process been streaming since the transmitter stopped last? */
static bool streams(struct srn_qp *qp)
{
	struct srn_doorbell *d = &qp->doorbell;
	/* In this order: no more responses than segments. */
	u32 responses = READ_ONCE(qp->rx.responses);
	u32 segments = READ_ONCE(qp->rx.segments);
	u32 received = segments - d->received;
	u32 posted = qp->sq.prod - d->taken;
	u64 now = ktime_get_ns();
	bool quick = now - d->idle_at < srn_doorbell_gap(d);
	u32 answers = received - (responses - d->responses);
	/*
	 * A credit for many messages is no answer to any of them, and responses are waited for
	 * at the completion queue.
	 */
	bool quiet = answers * MIN_BATCH <= posted;
	bool late = READ_ONCE(d->late);
	/*
	 * A process that posts nothing more while it waits for an answer has waited for the watch.
	 * The answer to what that transmitted may come later than the transmitter stops.
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
		return still_streams(qp, posted, quiet, late, waited);
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

	WRITE_ONCE(d->lazy, streams(qp));
	if (!d->lazy)
		return srn_doorbell_rearm(qp);
	WRITE_ONCE(qp->ctrl->sq_taken, d->taken);
	if (ask(qp, SRN_KICK_LAZY))
		return true;
	/* Whoever ends the watch after this kicks. */
	if (!READ_ONCE(d->watched))
		srn_watch_add(qp);
	return false;
}
