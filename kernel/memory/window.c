// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory windows.
 */
#include <linux/sched.h>

#include "../device/device.h"
#include "window.h"

#define WRITING_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/**
 * srn_window_unbind - let go of the region that a window is bound to
 * @window: window, bound or not
 *
 * Context: bottom halves disabled, window->lock held, no access open.
 */
void srn_window_unbind(struct srn_mem *window)
{
	lockdep_assert_held(&window->lock);
	if (!window->region)
		return;
	srn_mem_revoke(window);
	atomic_dec(&window->region->windows);
	WRITE_ONCE(window->region, NULL);
}

/**
 * srn_window_refuse - let no window be bound to a region any more
 * @region: any region
 *
 * Context: any.
 *
 * Return: false if windows are bound to it, or it refuses already; nothing was done.
 */
bool srn_window_refuse(struct srn_mem *region)
{
	return !atomic_cmpxchg(&region->windows, 0, -1);
}

static void unbind_from(struct srn_mem *window, const struct srn_mem *region)
{
	if (window->type != SRN_MEM_WINDOW || READ_ONCE(window->region) != region)
		return;
	spin_lock_bh(&window->lock);
	if (window->region == region)
		srn_window_unbind(window);
	spin_unlock_bh(&window->lock);
}

/**
 * srn_window_unbind_all - unbind all windows of a region and let no more be bound
 * @region: region of a process; it is not valid any more when this returns
 *
 * This looks at all regions and windows of the device, which is fine for what hardly ever happens.
 *
 * Context: process, sleeps.
 */
void srn_window_unbind_all(struct srn_mem *region)
{
	struct srn_mem *window;
	unsigned long index;

	WRITE_ONCE(region->valid, false);
	/* Somebody may have found it valid before that, and be about to bind a window: retry. */
	while (!srn_window_refuse(region)) {
		index = 0;
		do {
			rcu_read_lock();
			window = xa_find(&region->dev->mems, &index, ULONG_MAX, XA_PRESENT);
			if (window)
				unbind_from(window, region);
			rcu_read_unlock();
			index++;
			cond_resched();
		} while (window);
	}
}

/**
 * srn_window_invalidate - unbind a window of type 2
 * @window: window
 * @stag: STag, with the key by which the caller knows the window
 * @qpn: queue pair that asks for it
 * @remote: its peer asks for it, which may do so only with what grants remote access
 *
 * Somebody else may have invalidated the window meanwhile and bound it again.
 *
 * Context: any, bottom halves disabled, no access open.
 *
 * Return: 0; -ENOENT if it is not bound with that key; -EACCES if it is another queue pair's, or
 * of type 1, or if the peer may not do that.
 */
int srn_window_invalidate(struct srn_mem *window, u32 stag, u32 qpn, bool remote)
{
	int ret = 0;

	spin_lock(&window->lock);
	if (!window->valid || window->stag != stag)
		ret = -ENOENT;
	else if (window->window_type != IB_MW_TYPE_2 || window->qpn != qpn ||
		 (remote && !(window->access & SRN_MEM_REMOTE_ACCESS)))
		ret = -EACCES;
	else
		srn_window_unbind(window);
	spin_unlock(&window->lock);
	return ret;
}

/*
 * Find the region for these bytes and keep it from being deregistered. Context: rcu_read_lock()
 * held. Return: region or NULL.
 */
static struct srn_mem *take_region(const struct srn_mem *window, const struct srn_send_wqe *wqe)
{
	u32 access = IB_ACCESS_MW_BIND |
		     (wqe->swap_add & WRITING_ACCESS ? IB_ACCESS_LOCAL_WRITE : 0);
	struct srn_mem *region = srn_mem_find(window->dev, wqe->ex);

	if (!region || region->type != SRN_MEM_USER ||
	    srn_mem_check(region, window->pd, wqe->remote_addr, wqe->compare, access) != SRN_MEM_OK)
		return NULL;
	return atomic_inc_unless_negative(&region->windows) ? region : NULL;
}

/* Context: window->lock held, no access open. */
static int rebind(struct srn_mem *window, const struct srn_send_wqe *wqe, u32 qpn)
{
	struct srn_mem *region = NULL;

	lockdep_assert_held(&window->lock);
	if (wqe->compare) {
		region = take_region(window, wqe);
		if (!region)
			return -EINVAL;
	}
	srn_window_unbind(window);
	WRITE_ONCE(window->stag, wqe->rkey);
	/* A window of type 1 that is bound to no bytes is unbound. */
	if (!region)
		return 0;
	WRITE_ONCE(window->region, region);
	window->qpn = window->window_type == IB_MW_TYPE_2 ? qpn : 0;
	window->access = wqe->swap_add & SRN_MEM_REMOTE_ACCESS;
	window->iova = wqe->swap_add & IB_ZERO_BASED ? 0 : wqe->remote_addr;
	window->length = wqe->compare;
	window->blocks = region->blocks;
	window->block_shift = region->block_shift;
	window->first = region->first + (wqe->remote_addr - region->iova);
	/* Whoever sees the window valid sees its other fields. */
	smp_store_release(&window->valid, true);
	return 0;
}

/**
 * srn_window_bind - execute a bind
 * @ibqp: queue pair of the work request
 * @wqe: the work request. Its rkey is that of the window, with the key to use from now on. ex is
 *	the lkey of the region, remote_addr the address, compare the length, swap_add the rights.
 *
 * A window of type 2 must be unbound before, and belongs to that queue pair afterwards. A window of
 * type 1 may be bound before; it is moved.
 *
 * Context: any, bottom halves disabled, no access open.
 *
 * Return: 0, or -EINVAL if the window, the region or the rights do not allow it.
 */
int srn_window_bind(const struct ib_qp *ibqp, const struct srn_send_wqe *wqe)
{
	struct srn_device *dev = to_srn_dev(ibqp->device);
	struct srn_mem *window;
	int ret = -EINVAL;

	if (wqe->swap_add & ~(u64)(SRN_MEM_REMOTE_ACCESS | IB_ZERO_BASED))
		return -EINVAL;
	rcu_read_lock();
	window = xa_load(&dev->mems, wqe->rkey >> 8);
	if (window && window->type == SRN_MEM_WINDOW && window->pd == ibqp->pd) {
		spin_lock(&window->lock);
		if (window->window_type == IB_MW_TYPE_1 ||
		    (window->window_type == IB_MW_TYPE_2 && !window->valid && wqe->compare))
			ret = rebind(window, wqe, ibqp->qp_num);
		spin_unlock(&window->lock);
	}
	rcu_read_unlock();
	return ret;
}
