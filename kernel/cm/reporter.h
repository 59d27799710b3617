/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A reporter tells a process of its connections.
 */
#ifndef SRN_REPORTER_H
#define SRN_REPORTER_H

#include <linux/list.h>

struct srn_device;
struct srn_reporter;
struct srn_reporter_item;

/*
 * What a reporter tells of. The reporter takes a reference by @get, in any context, under
 * dev->lock, and drops it by @put. @tell and @put are called in process context, without locks.
 */
struct srn_reporter_item_ops {
	void (*get)(struct srn_reporter_item *item);
	void (*put)(struct srn_reporter_item *item);
	void (*tell)(struct srn_reporter_item *item);
};

struct srn_reporter_item {
	const struct srn_reporter_item_ops *ops;
	struct list_head node;		/* in the reporter's list, under dev->lock */
};

struct srn_reporter *srn_reporter_of_current(struct srn_device *dev);
struct srn_reporter *srn_reporter_get(struct srn_reporter *r);
void srn_reporter_put(struct srn_reporter *r);
void srn_reporter_queue_locked(struct srn_reporter *r, struct srn_reporter_item *item);
void srn_reporter_queue(struct srn_reporter *r, struct srn_reporter_item *item);

#endif /* SRN_REPORTER_H */
