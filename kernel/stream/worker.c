// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Workers that go on for the engines.
 */
#include "../device/workqueues.h"
#include "engines.h"
#include "worker.h"

/**
 * srn_worker_transmit - there is something to transmit, and more will follow soon
 * @s: stream
 *
 * A worker transmits it, together with what is added before the caller lets the worker run.
 *
 * Context: any.
 */
void srn_worker_transmit(struct srn_stream *s)
{
	if (srn_tx_take_if_free(s))
		queue_delayed_work(srn_tx_wq, &s->tx_work, 0);
}

/**
 * srn_worker_receive - have a worker receive
 * @s: stream that srn_stream_halt() does not stop before this returns
 * @delay: jiffies from now, unless one is queued already; 0: at once
 *
 * Context: any.
 */
void srn_worker_receive(struct srn_stream *s, unsigned long delay)
{
	if (delay)
		queue_delayed_work(srn_tx_wq, &s->rx_work, delay);
	else
		mod_delayed_work(srn_tx_wq, &s->rx_work, 0);
}
