// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting of sends, by a kernel consumer or by the doorbell of a process.
 */
#include "../stream/tx.h"
#include "../stream/worker.h"
#include "coalesce.h"
#include "completion.h"
#include "cq.h"
#include "fetch.h"
#include "post.h"
#include "state.h"
#include "watch.h"

/* A list of more work requests is taken in parts, and interrupts are let in between. */
#define POST_AT_ONCE	64

/*
 * May this context transmit, which sleeps for the socket lock? A kernel that does not count
 * spinlocks cannot tell, and the answer is no.
 */
static bool may_transmit_here(void)
{
	return preemptible() && !rcu_preempt_depth();
}

/*
 * Flush what was posted if the queue pair has ended. Return: true if there is a connection to
 * transmit on. Without one it stays for later, or end_work will flush it.
 */
static bool flush_or_connected(struct srn_qp *qp)
{
	bool ended = srn_state_has_ended(qp);
	enum ib_qp_state state;

	if (ended)
		srn_completion_flush(qp);
	state = READ_ONCE(qp->state);
	/* While it closes what was posted before is still transmitted. */
	return !ended && (state == IB_QPS_RTS || state == IB_QPS_SQD);
}

/*
 * Take some work requests of a kernel consumer. @here: it may transmit. If it may not, *collect
 * says whether a worker is to do so. Return: 0, and *wr is the next one, or NULL; or a negative
 * errno, and *wr is the first bad one.
 */
static int post_some(struct srn_qp *qp, const struct ib_send_wr **wr, bool here, bool *collect)
{
	enum ib_qp_state state;
	int left = POST_AT_ONCE;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&qp->sq.lock, flags);
	state = READ_ONCE(qp->state);
	if (state != IB_QPS_RTS && state != IB_QPS_SQD && state != IB_QPS_ERR)
		ret = -EINVAL;
	for (; *wr && !ret && left; left--) {
		ret = srn_fetch_post(qp, *wr);
		if (!ret)
			*wr = (*wr)->next;
	}
	*collect = !here && !ret && !*wr && state == IB_QPS_RTS && srn_coalesce(qp);
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	return ret;
}

/* Take the work requests of a kernel consumer up to the first bad one, and transmit them. */
static int post_list(struct srn_qp *qp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad_wr)
{
	bool here = may_transmit_here(), collect;
	int ret;

	do {
		ret = post_some(qp, &wr, here, &collect);
	} while (!ret && wr);
	if (ret)
		*bad_wr = wr;

	if (!flush_or_connected(qp))
		return ret;
	if (collect)
		srn_worker_transmit(&qp->stream);
	else if (here)
		srn_tx_kick(&qp->stream);
	else
		srn_tx_kick_async(&qp->stream);
	return ret;
}

/* A process has posted to its ring. */
static void ring(struct srn_qp *qp)
{
	struct srn_watch *watch = &qp->scq->watch;
	bool idle = srn_watch_is_shared(watch) && srn_cq_is_polled(qp->scq);

	if (srn_watch_has_deferred(watch))
		srn_watch_take_over(qp);
	srn_fetch_prepare(qp);
	if (flush_or_connected(qp))
		srn_tx_kick(&qp->stream);
	if (idle)
		srn_watch_help(qp);
	srn_count(qp->dev->counters, SRN_COUNT_DOORBELLS);
}

/**
 * srn_post_send - post sends of a kernel consumer, or execute a process's doorbell
 * @ibqp: queue pair
 * @wr: work requests; NULL for a doorbell
 * @bad_wr: first one that was not posted
 *
 * Context: any for a kernel consumer. The call transmits if it may sleep. If it may not,
 * srn_tx_kick_async() decides who transmits, or a worker does for several calls (coalesce.c). A
 * doorbell comes in process context, and transmits there.
 *
 * Return: 0, -EINVAL for a bad work request, one of a process, or before there is a connection, or
 * -ENOMEM if the queue is full.
 */
int srn_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr)
{
	struct srn_qp *qp = to_srn_qp(ibqp);

	if (qp->kernel)
		return post_list(qp, wr, bad_wr);
	if (wr) {
		*bad_wr = wr;
		return -EINVAL;
	}
	ring(qp);
	return 0;
}
