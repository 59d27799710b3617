// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Workers that go on for the engines.
 */
#include "../device/workqueues.h"
#include "engines.h"
#include "worker.h"

/**
 * srn_worker_inherit - a worker transmits from now on
 * @s: stream whose transmitter is the caller, and then the worker
 * @delay: jiffies from now
 *
 * queue_delayed_work() does nothing if the work is pending. It is not; but cancel_delayed_work(),
 * which srn_tx_take_over() calls at any time, marks it so for a moment. Nobody would transmit any
 * more. mod_delayed_work() waits until that moment is over.
 *
 * Context: any.
 */
void srn_worker_inherit(struct srn_stream *s, unsigned long delay)
{
	mod_delayed_work(srn_tx_wq, &s->tx_work, delay);
}

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
		srn_worker_inherit(s, 0);
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
