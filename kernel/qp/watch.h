/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The watch looks after queue pairs whose process may wait with its doorbells.
 */
#ifndef SRN_WATCH_H
#define SRN_WATCH_H

#include <linux/hrtimer.h>
#include <linux/spinlock.h>

struct srn_qp;

/**
 * struct srn_watch - queue pairs that send to one completion queue and may be late
 * @lock: protects all of this, and srn_doorbell.watched of the queue pairs in @qps
 * @qps: queue pairs that are watched, by srn_doorbell.watch_entry; a queue pair that was looked at
 *	goes to the end
 * @count: number of queue pairs in @qps
 * @timer: looks at the queue pairs while there are any
 * @running: the timer has been started
 * @period: time between two looks of the timer, in ns
 * @deferred: queue pairs that a worker was asked to transmit for, in that order. The worker may
 *	have done so meanwhile.
 */
struct srn_watch {
	spinlock_t lock;	/* protects the fields below */
	struct list_head qps;
	u32 count;
	struct hrtimer timer;
	bool running;
	u32 period;
	struct list_head deferred;
};

/* Is more than one queue pair watched? Usually there is none, or one. */
static inline bool srn_watch_is_shared(const struct srn_watch *watch)
{
	return READ_ONCE(watch->count) > 1;
}

static inline bool srn_watch_has_deferred(const struct srn_watch *watch)
{
	return !list_empty(&watch->deferred);
}

void srn_watch_init(struct srn_watch *watch);
void srn_watch_exit(struct srn_watch *watch);
void srn_watch_add(struct srn_qp *qp);
void srn_watch_remove(struct srn_qp *qp);
void srn_watch_help(struct srn_qp *qp);
void srn_watch_defer(struct srn_qp *qp);
void srn_watch_take_over(struct srn_qp *qp);

#endif /* SRN_WATCH_H */
