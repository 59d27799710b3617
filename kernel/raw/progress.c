// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a bring-up by hand does when something has happened to it, or when it is time.
 */
#include <linux/sched/mm.h>

#include "../qp/completion.h"
#include "../qp/state.h"
#include "attempt.h"
#include "progress.h"
#include "send_timeout.h"

/* How often to check whether sends wait for a peer that does not come. */
#define CHECK_PERIOD	HZ

/*
 * The other end gave up when our reply was on its way, and comes again, but a queue pair is
 * connected only once. Return: true if that has happened.
 */
static bool lost_reply(struct srn_raw *raw)
{
	if (!READ_ONCE(raw->gone) || raw->active || raw->self || READ_ONCE(raw->qp->rx.segments))
		return false;
	srn_completion_flush_first_as(raw->qp, IB_WC_RETRY_EXC_ERR);
	srn_state_fail(raw->qp, IB_EVENT_QP_FATAL, NULL, "its peer gave up while it connected");
	return true;
}

static void waiting(struct srn_raw *raw)
{
	if (lost_reply(raw) || !srn_raw_send_timeout_check(raw))
		return;
	if (!READ_ONCE(raw->gone) && (raw->active || raw->self))
		srn_raw_attempt_begin(raw);
	else if (raw->rts && raw->attr.timeout)
		srn_raw_queue(raw, CHECK_PERIOD);
}

static void look_at(struct srn_raw *raw)
{
	srn_raw_attempt_go_on(raw);
	if ((raw->state == SRN_RAW_WAITING || READ_ONCE(raw->gone)) &&
	    raw->state != SRN_RAW_ENDED && !delayed_work_pending(&raw->work))
		waiting(raw);
}

/**
 * srn_raw_progress - go as far as possible
 * @work: in struct srn_raw
 *
 * If a process holds the lock, the link's other bring-ups must not wait for that.
 *
 * Context: the link's raw_wq.
 */
void srn_raw_progress(struct work_struct *work)
{
	struct srn_raw *raw = container_of(to_delayed_work(work), struct srn_raw, work);
	unsigned int noio = memalloc_noio_save();

	if (srn_worker_lock_try(&raw->lock)) {
		look_at(raw);
		srn_raw_unlock(raw);
	}
	memalloc_noio_restore(noio);
	srn_raw_put(raw);
}
