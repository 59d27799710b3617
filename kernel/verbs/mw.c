// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory windows: an STag for part of a region, bound and taken back by work requests.
 *
 * A window has an STag index of its own for all its life. While it is bound it is like a
 * region that borrows the blocks of another one, which cannot be deregistered meanwhile.
 * Its fields change under mem->lock, and only while it is not valid and no access to it
 * is open.
 */
#include <linux/slab.h>

#include "device.h"
#include "mem.h"

#define REMOTE_ACCESS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)
#define WRITING_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/**
 * srn_alloc_mw - allocate a window, not bound yet
 * @ibmw: window, allocated by the core
 * @udata: not used
 *
 * Context: process.
 */
int srn_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct srn_device *dev = to_srn_dev(ibmw->device);
	struct srn_mem *mem;
	int ret;

	if (!srn_count_inc(dev, SRN_LIMIT_MW))
		return -ENOMEM;
	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem) {
		srn_count_dec(dev, SRN_LIMIT_MW);
		return -ENOMEM;
	}
	srn_mem_init(mem, ibmw->pd, SRN_MEM_WINDOW, 0);
	mem->window_type = ibmw->type;
	ret = srn_mem_publish(mem);
	if (ret) {
		srn_mem_put(mem);
		return ret;
	}
	ibmw->rkey = mem->stag;
	to_srn_mw(ibmw)->mem = mem;
	return 0;
}

/**
 * srn_dealloc_mw - deallocate a window, bound or not
 * @ibmw: window
 *
 * When it returns nothing is placed or read through the window any more.
 *
 * Context: process.
 */
int srn_dealloc_mw(struct ib_mw *ibmw)
{
	struct srn_mem *mem = to_srn_mw(ibmw)->mem;

	xa_erase(&mem->dev->mems, mem->stag >> 8);
	spin_lock_bh(&mem->lock);
	/* Whoever has found it before finds no kind of window any more. */
	mem->window_type = 0;
	srn_mem_unbind(mem);
	spin_unlock_bh(&mem->lock);
	srn_mem_put(mem);
	return 0;
}

/* The region for these bytes, kept from being deregistered, or NULL. Under rcu_read_lock(). */
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

	if (wqe->compare) {
		region = take_region(window, wqe);
		if (!region)
			return -EINVAL;
	}
	srn_mem_unbind(window);
	WRITE_ONCE(window->stag, wqe->rkey);
	/* A window of type 1 that is bound to no bytes is unbound. */
	if (!region)
		return 0;
	WRITE_ONCE(window->region, region);
	window->qpn = window->window_type == IB_MW_TYPE_2 ? qpn : 0;
	window->access = wqe->swap_add & REMOTE_ACCESS;
	window->iova = wqe->swap_add & IB_ZERO_BASED ? 0 : wqe->remote_addr;
	window->length = wqe->compare;
	window->blocks = region->blocks;
	window->block_shift = region->block_shift;
	window->first = region->first + (wqe->remote_addr - region->iova);
	/* Whoever sees it valid sees the rest. */
	smp_store_release(&window->valid, true);
	return 0;
}

/**
 * srn_mw_bind - execute a bind
 * @ibqp: queue pair of the work request
 * @wqe: the work request: rkey is the window's with the key to use from now on, ex the lkey
 *	of the region, remote_addr and compare are address and length, swap_add the rights
 *
 * A window of type 2 must be unbound and becomes that queue pair's; one of type 1 is moved.
 *
 * Context: any, bottom halves disabled, no access open.
 *
 * Return: 0, or -EINVAL if the window, the region or the rights do not allow it.
 */
int srn_mw_bind(const struct ib_qp *ibqp, const struct srn_send_wqe *wqe)
{
	struct srn_device *dev = to_srn_dev(ibqp->device);
	struct srn_mem *window;
	int ret = -EINVAL;

	if (wqe->swap_add & ~(u64)(REMOTE_ACCESS | IB_ZERO_BASED))
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
