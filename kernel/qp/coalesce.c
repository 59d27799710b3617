// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whether what a kernel consumer posts is worth collecting.
 *
 * A consumer that posts where it may not sleep can have each post transmitted at once, as if in
 * softirq. If it keeps many messages outstanding, it is better served by a worker, which runs when
 * the consumer pauses and puts all of them in few packets: NVMe with 32 outstanding requests then
 * completes 50 % more requests. Only trying shows which kind a consumer is. If a worker
 * finds single posts only, posts are transmitted at once for a while, which gets longer each time.
 */
#include "coalesce.h"
#include "qp.h"

/* It takes a while until a consumer has as much outstanding as it may. */
#define MAX_SINGLES	128
/* Posts are counted up to this. */
#define SEVERAL		2
#define MIN_PAUSE	1024
#define MAX_PAUSE	32768

static void worker_had(struct srn_coalesce *c, u8 posts)
{
	if (posts == SEVERAL) {
		c->singles = 0;
		c->pause = 0;
		return;
	}
	if (++c->singles < MAX_SINGLES)
		return;
	c->singles = 0;
	c->pause = clamp(2 * c->pause, MIN_PAUSE, MAX_PAUSE);
	c->at_once = c->pause;
}

/**
 * srn_coalesce - shall a worker transmit this post, with others?
 * @qp: queue pair of a kernel consumer, which has posted
 *
 * Context: any, sq.lock held.
 *
 * Return: false if it is to be transmitted at once.
 */
bool srn_coalesce(struct srn_qp *qp)
{
	struct srn_coalesce *c = &qp->sq.coalesce;

	lockdep_assert_held(&qp->sq.lock);
	if (c->at_once) {
		c->at_once--;
		return false;
	}
	if (c->posts && !srn_stream_transmits(&qp->stream)) {
		worker_had(c, c->posts);
		c->posts = 0;
	}
	if (c->posts < SEVERAL)
		c->posts++;
	return true;
}
