// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How long sends wait for a peer that does not come, or is gone.
 */
#include "../qp/completion.h"
#include "../qp/state.h"
#include "raw.h"
#include "send_timeout.h"

/* The shortest time for which sends wait, whatever the program has set. */
#define MIN_TIMEOUT	(5 * HZ)

/**
 * srn_raw_send_timeout - how long sends wait for the peer
 * @raw: bring-up in RTS, with a timeout
 *
 * InfiniBand sends again after 4.096 us * 2^timeout without an answer, or after up to four times as
 * long, and retry_cnt times. This takes the longest time, and MIN_TIMEOUT at least.
 *
 * Context: any.
 *
 * Return: jiffies.
 */
unsigned long srn_raw_send_timeout(const struct srn_raw *raw)
{
	u64 ns = 4ULL * 4096 << raw->attr.timeout;

	return max_t(unsigned long, nsecs_to_jiffies(ns * (raw->attr.retry_cnt + 1)), MIN_TIMEOUT);
}

/**
 * srn_raw_sends_wait - has the program posted sends that are not complete?
 * @qp: queue pair
 *
 * Context: process.
 *
 * Return: true if so.
 */
bool srn_raw_sends_wait(struct srn_qp *qp)
{
	struct srn_sq *sq = &qp->sq;
	bool wait;

	spin_lock_irq(&sq->lock);
	wait = sq->cons != (qp->map ? READ_ONCE(qp->ctrl->sq_prod) : sq->prod);
	spin_unlock_irq(&sq->lock);
	return wait;
}

/**
 * srn_raw_send_timeout_check - may sends go on to wait?
 * @raw: bring-up without a connection, or whose connection is gone
 *
 * A program that sends nothing may wait for ever, and so may one that has set no limit.
 *
 * Context: the work, raw->lock held.
 *
 * Return: false if the queue pair has been ended.
 */
bool srn_raw_send_timeout_check(struct srn_raw *raw)
{
	lockdep_assert_held(&raw->lock.mutex);
	if (!raw->rts || !raw->attr.timeout || !srn_raw_sends_wait(raw->qp)) {
		raw->sends_since = 0;
		return true;
	}
	if (!raw->sends_since)
		raw->sends_since = jiffies ?: 1;
	if (time_before(jiffies, raw->sends_since + srn_raw_send_timeout(raw)))
		return true;
	srn_completion_flush_first_as(raw->qp, IB_WC_RETRY_EXC_ERR);
	srn_state_fail(raw->qp, 0, NULL, READ_ONCE(raw->gone) ? "its peer is gone" :
								"its peer does not come");
	return false;
}
