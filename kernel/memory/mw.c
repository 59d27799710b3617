// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory window verbs.
 */
#include "../device/abi.h"
#include "../device/device.h"
#include "mw.h"
#include "window.h"

/**
 * srn_mw_alloc - allocate a window, not bound yet
 * @ibmw: window, allocated by the core
 * @udata: of the verb
 *
 * Context: process.
 *
 * Return: 0; -ENOMEM; as srn_abi_request() and srn_mem_publish().
 */
int srn_mw_alloc(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct srn_mem *mem;
	int ret;

	ret = srn_abi_request(to_srn_dev(ibmw->device), udata, NULL, 0);
	if (ret)
		return ret;
	mem = srn_mem_alloc(ibmw->pd, SRN_MEM_WINDOW, 0);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
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
 * srn_mw_dealloc - deallocate a window, bound or not
 * @ibmw: window
 *
 * When this returns, nothing is placed or read through the window any more.
 *
 * Context: process.
 *
 * Return: 0.
 */
int srn_mw_dealloc(struct ib_mw *ibmw)
{
	struct srn_mem *mem = to_srn_mw(ibmw)->mem;

	srn_mem_unpublish(mem);
	spin_lock_bh(&mem->lock);
	/* Whoever found the window before this now sees a window of no type, and fails. */
	mem->window_type = 0;
	srn_window_unbind(mem);
	spin_unlock_bh(&mem->lock);
	srn_mem_put(mem);
	return 0;
}
