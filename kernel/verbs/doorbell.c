// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * When a process has to tell the kernel that it has posted sends.
 *
 * Usually at once: the system call transmits what was posted. A process that streams small
 * messages, one after the other, would spend its time in system calls and TCP's in packets
 * of one message each. It is recognised by doorbells that follow each other quickly while
 * the peer sends next to nothing; it may then wait with the next one until it has nothing else to
 * do, which the provider takes an empty completion queue for, or until there is a batch.
 * A timer looks after those who never get there. It comes after LAZY_NS and, as long as it comes
 * for nothing, ever more seldom: an interrupt each 100 µs would cost a fast stream more than
 * its doorbells. So the last message of such a stream is late by MAX_LAZY_NS at the
 * most, that of one that needs the timer by LAZY_NS. Where too few messages have come
 * together that did not pay; it takes longer until it is tried again.
 */
#include "../compat/compat.h"
#include "doorbell.h"
#include "qp.h"

#define LAZY_NS		(100 * NSEC_PER_USEC)
#define MAX_LAZY_NS	(8 * LAZY_NS)
/* Doorbells of a stream are not further apart. */
#define STREAM_GAP_NS	(5 * LAZY_NS)
#define MIN_STREAK	4
#define MAX_STREAK	4096
/* So many messages are worth the wait. */
#define MIN_BATCH	4

/* The process rings by itself, or has nothing to ring for and will go on soon. */
static bool comes_for_nothing(struct srn_qp *qp)
{
	u64 since = ktime_get_ns() - READ_ONCE(qp->doorbell.idle_at);

	if (since < LAZY_NS)
		return true;
	return since < STREAM_GAP_NS &&
	       READ_ONCE(qp->ctrl->sq_prod) == READ_ONCE(qp->doorbell.taken);
}

/* In a stream it runs on and on; starting it for each batch would cost more. */
static enum hrtimer_restart lazy_too_long(struct hrtimer *timer)
{
	struct srn_qp *qp = container_of(timer, struct srn_qp, doorbell.timer);
	struct srn_doorbell *d = &qp->doorbell;

	if (comes_for_nothing(qp)) {
		d->period = min_t(u32, 2 * d->period, MAX_LAZY_NS);
		hrtimer_forward_now(timer, ns_to_ktime(d->period));
		return HRTIMER_RESTART;
	}
	/* Before the transmitter looks again: it may have to start the timer anew. */
	atomic_set_release(&d->timed, 0);
	srn_stream_kick_async(&qp->stream);
	return HRTIMER_NORESTART;
}

/**
 * srn_doorbell_init - prepare a new queue pair's doorbell
 * @qp: queue pair
 */
void srn_doorbell_init(struct srn_qp *qp)
{
	srn_compat_timer_setup(&qp->doorbell.timer, lazy_too_long);
	qp->doorbell.wanted = MIN_STREAK;
}

/**
 * srn_doorbell_exit - nobody will ring any more
 * @qp: queue pair without a transmitter
 *
 * Context: process, sleeps.
 */
void srn_doorbell_exit(struct srn_qp *qp)
{
	hrtimer_cancel(&qp->doorbell.timer);
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

/* Has the process been streaming since the transmitter stopped last? */
static bool streams(struct srn_qp *qp)
{
	struct srn_doorbell *d = &qp->doorbell;
	u32 segments = READ_ONCE(qp->rx.segments);
	u32 received = segments - d->received;
	u32 posted = qp->sq.prod - d->taken;
	u64 now = ktime_get_ns();
	bool quick = now - d->idle_at < STREAM_GAP_NS;
	/* A credit for many messages is no answer to any of them. */
	bool quiet = received * MIN_BATCH <= posted;

	/* The process may have lost its processor for a while. */
	if (d->lazy && !posted && quick)
		return true;
	WRITE_ONCE(d->idle_at, now);
	WRITE_ONCE(d->taken, qp->sq.prod);
	d->received = segments;
	d->streak = !d->lazy && posted && quick && quiet ? d->streak + 1 : 0;
	if (!d->lazy) {
		d->paid = false;
		return posted && quiet && d->streak >= d->wanted;
	}
	if (posted >= MIN_BATCH && quiet) {
		d->paid = true;
		return true;
	}
	/* One that has paid and pauses is a stream again with its next message. */
	if (posted)
		d->wanted = clamp(2 * d->wanted, MIN_STREAK, MAX_STREAK);
	else
		d->wanted = d->paid ? 0 : max_t(u16, d->wanted, MIN_STREAK);
	return false;
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

	d->lazy = streams(qp);
	if (!d->lazy)
		return srn_doorbell_rearm(qp);
	WRITE_ONCE(qp->ctrl->sq_taken, d->taken);
	if (ask(qp, SRN_KICK_LAZY))
		return true;
	if (!atomic_xchg(&d->timed, 1)) {
		d->period = LAZY_NS;
		hrtimer_start(&d->timer, ns_to_ktime(LAZY_NS), HRTIMER_MODE_REL_SOFT);
	}
	return false;
}
