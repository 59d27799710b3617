// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiver not ready: how long a message waits.
 */
#include "../stream/worker.h"
#include "rnr_limit.h"

/*
 * No message is refused earlier, whatever the limit: a process whose processor is taken away for a
 * moment posts its receives later than any adapter would have to wait.
 */
#define WAIT_MIN	(HZ / 10)

/**
 * srn_rnr_limit_set_timer - how long the peer would wait before it tries again
 * @qp: queue pair
 * @timer: as min_rnr_timer of InfiniBand
 *
 * Context: process.
 */
void srn_rnr_limit_set_timer(struct srn_qp *qp, u8 timer)
{
	WRITE_ONCE(qp->rnr_timer, timer & 31);
}

/**
 * srn_rnr_limit_tries - limit how often the Sends of this end may find no receive
 * @qp: queue pair that has not sent any on this connection
 * @tries: number; 0: there is no limit
 *
 * The peer is told with the next message.
 *
 * Context: process.
 */
void srn_rnr_limit_tries(struct srn_qp *qp, u8 tries)
{
	if (!tries)
		return;
	qp->tx.rnr_tries = tries;
	/* Release: pairs with notice() of placed.c. */
	smp_store_release(&qp->tx.limit_due, true);
}

/**
 * srn_rnr_limit_told - the peer limits how often its Sends may find no receive
 * @qp: queue pair
 * @tries: number; 0: there is no limit
 *
 * Context: the receiver.
 */
void srn_rnr_limit_told(struct srn_qp *qp, u8 tries)
{
	qp->peer_rnr_tries = tries;
	if (qp->rx.waits)
		srn_worker_receive(&qp->stream, 0);
}

/* Microseconds that the number of a timer stands for: 10 to 491520, and 655360 for 0. */
static u32 timer_us(u8 timer)
{
	if (!timer)
		return 655360;
	if (timer == 1)
		return 10;
	return 10 * (timer & 1 ? 3u << (timer - 3) / 2 : 1u << timer / 2);
}

/**
 * srn_rnr_limit_wait - how long a message of the peer may wait for its receive
 * @qp: queue pair
 *
 * Context: the receiver.
 *
 * Return: jiffies; 0: for ever.
 */
unsigned long srn_rnr_limit_wait(const struct srn_qp *qp)
{
	u32 us = timer_us(READ_ONCE(qp->rnr_timer));

	if (!qp->peer_rnr_tries)
		return 0;
	return max_t(unsigned long, usecs_to_jiffies(us) * qp->peer_rnr_tries, WAIT_MIN);
}
