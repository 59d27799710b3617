// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting of sends, by a kernel consumer or by the doorbell of a process.
 */
#include "../stream/tx.h"
#include "coalesce.h"
#include "completion.h"
#include "cq.h"
#include "fetch.h"
#include "post.h"
#include "watch.h"

/*
 * May the context of this kernel consumer transmit, which sleeps for the socket lock? A kernel that
 * does not count spinlocks cannot tell, and the answer is no.
 */
static bool may_transmit_here(void)
{
	return preemptible() && !rcu_preempt_depth();
}

/**
 * srn_post_send - post sends of a kernel consumer, or execute a process's doorbell
 * @ibqp: queue pair
 * @wr: work requests; NULL for a doorbell
 * @bad_wr: first one that was not posted
 *
 * Context: any for a kernel consumer. It transmits by itself where it may sleep; where it may not,
 * it does so only if it does not post much. A doorbell comes in process context, and transmits
 * there.
 */
int srn_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr)
{
	struct srn_qp *qp = to_srn_qp(ibqp);
	enum ib_qp_state state;
	bool here = !qp->kernel || may_transmit_here();
	bool idle = !qp->kernel && srn_watch_is_shared(&qp->scq->watch) &&
		    srn_cq_is_polled(qp->scq);
	bool ended, collect = false;
	unsigned long flags;
	int ret = 0;

	if (!qp->kernel && wr) {
		*bad_wr = wr;
		return -EINVAL;
	}
	if (!qp->kernel) {
		if (srn_watch_has_deferred(&qp->scq->watch))
			srn_watch_take_over(qp);
		srn_fetch_prepare(qp);
	} else {
		spin_lock_irqsave(&qp->sq.lock, flags);
		state = READ_ONCE(qp->state);
		if (state != IB_QPS_RTS && state != IB_QPS_SQD && state != IB_QPS_ERR)
			ret = -EINVAL;
		for (; wr && !ret; wr = wr->next) {
			ret = srn_fetch_post(qp, wr);
			if (ret)
				break;
		}
		collect = !here && !ret && state == IB_QPS_RTS && srn_coalesce(qp);
		spin_unlock_irqrestore(&qp->sq.lock, flags);
		if (ret)
			*bad_wr = wr;
	}
	spin_lock_irqsave(&qp->state_lock, flags);
	ended = qp->ended;
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (ended)
		srn_completion_flush(qp);
	else if (READ_ONCE(qp->state) != IB_QPS_RTS)
		;	/* not connected yet, or end_work will flush it */
	else if (collect)
		srn_tx_kick_later(&qp->stream);
	else if (here)
		srn_tx_kick(&qp->stream);
	else
		srn_tx_kick_async(&qp->stream);
	if (idle)
		srn_watch_help(qp);
	if (!qp->kernel)
		srn_count(qp->dev->counters, SRN_COUNT_DOORBELLS);
	return ret;
}
