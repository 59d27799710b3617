// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A reporter tells a process of its connections.
 *
 * A process can hold up whoever tells it something, for as long as it likes. So each process has a
 * reporter for each link that it uses: a work item of its own, for which nobody else waits. While a
 * link is added, it gets the listeners of many processes, so each listener has its own reporter.
 * A reporter tells of one endpoint after the other, in the order in which there was something to
 * tell: programs with several connections expect them in the order in which they were made.
 */
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../device/device.h"
#include "reporter.h"

/* Everything in it is protected by dev->lock. */
struct srn_reporter {
	struct hlist_node node;		/* in dev->reporters, or unhashed if not shared */
	struct srn_device *dev;
	struct pid *process;		/* NULL: threads of the kernel */
	u32 users;			/* endpoints, and the work item while it is queued */
	struct list_head items;		/* endpoints with something to tell; with references */
	struct work_struct work;
};

static struct srn_reporter_item *next_item(struct srn_reporter *r)
{
	struct srn_reporter_item *item;

	spin_lock_bh(&r->dev->lock);
	item = list_first_entry_or_null(&r->items, struct srn_reporter_item, node);
	if (item)
		list_del_init(&item->node);
	spin_unlock_bh(&r->dev->lock);
	return item;
}

static void reporter_work(struct work_struct *work)
{
	struct srn_reporter *r = container_of(work, struct srn_reporter, work);
	struct srn_reporter_item *item;

	while ((item = next_item(r))) {
		item->ops->tell(item);
		item->ops->put(item);
		cond_resched();
	}
	srn_reporter_put(r);
}

static struct srn_reporter *find_reporter(struct srn_device *dev, const struct pid *process)
{
	struct srn_reporter *r;

	hash_for_each_possible(dev->reporters, r, node, (unsigned long)process)
		if (r->process == process)
			return r;
	return NULL;
}

/**
 * srn_reporter_of_current - the reporter of the calling process
 * @dev: link
 *
 * While the link is being registered the core opens listeners on behalf of any process. Nobody says
 * whose they are, so each gets a reporter that it shares only with the connections it accepts.
 *
 * Context: process.
 *
 * Return: reporter with a reference, or NULL if there is no memory.
 */
struct srn_reporter *srn_reporter_of_current(struct srn_device *dev)
{
	struct pid *process = current->flags & PF_KTHREAD ? NULL : task_tgid(current);
	struct srn_reporter *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	bool alone = READ_ONCE(dev->registering) == current;
	struct srn_reporter *r = NULL;

	if (!fresh)
		return NULL;
	spin_lock_bh(&dev->lock);
	if (!alone)
		r = find_reporter(dev, process);
	if (!r) {
		r = fresh;
		r->dev = dev;
		r->process = get_pid(process);
		INIT_HLIST_NODE(&r->node);
		INIT_LIST_HEAD(&r->items);
		INIT_WORK(&r->work, reporter_work);
		if (!alone)
			hash_add(dev->reporters, &r->node, (unsigned long)process);
		fresh = NULL;
	}
	r->users++;
	spin_unlock_bh(&dev->lock);
	kfree(fresh);
	return r;
}

/**
 * srn_reporter_get - take one more reference
 * @r: reporter
 *
 * Context: any, dev->lock not held.
 *
 * Return: @r.
 */
struct srn_reporter *srn_reporter_get(struct srn_reporter *r)
{
	spin_lock_bh(&r->dev->lock);
	r->users++;
	spin_unlock_bh(&r->dev->lock);
	return r;
}

/**
 * srn_reporter_put - drop a reference
 * @r: reporter
 *
 * Context: any but dev->lock held.
 */
void srn_reporter_put(struct srn_reporter *r)
{
	bool last;

	spin_lock_bh(&r->dev->lock);
	last = !--r->users;
	if (last)
		hash_del(&r->node);
	spin_unlock_bh(&r->dev->lock);
	if (!last)
		return;
	put_pid(r->process);
	kfree(r);
}

/**
 * srn_reporter_queue_locked - there is something to tell
 * @r: reporter
 * @item: what there is something to tell of; a reference to it is taken
 *
 * Context: any, dev->lock held.
 */
void srn_reporter_queue_locked(struct srn_reporter *r, struct srn_reporter_item *item)
{
	lockdep_assert_held(&r->dev->lock);
	if (list_empty(&item->node)) {
		item->ops->get(item);
		list_add_tail(&item->node, &r->items);
	}
	if (queue_work(r->dev->report_wq, &r->work))
		r->users++;
}

/**
 * srn_reporter_queue - there is something to tell
 * @r: reporter
 * @item: what there is something to tell of; a reference to it is taken
 *
 * Context: any but dev->lock held.
 */
void srn_reporter_queue(struct srn_reporter *r, struct srn_reporter_item *item)
{
	spin_lock_bh(&r->dev->lock);
	srn_reporter_queue_locked(r, item);
	spin_unlock_bh(&r->dev->lock);
}
