// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Invalidation of an STag, by a work request or by the peer.
 */
#include "../device/device.h"
#include "fastreg.h"
#include "invalidate.h"
#include "window.h"

/**
 * srn_invalidate - execute a local or remote invalidation
 * @ibqp: queue pair
 * @stag: STag to invalidate
 * @remote: the peer asks for it
 *
 * Only fast-registered regions of the same PD with exactly this key may be invalidated, and
 * windows of type 2 that are bound to this queue pair (RFC 5040 section 8.1.1: not the whole
 * memory of a process). The peer may invalidate only what grants remote access.
 *
 * Context: any, bottom halves disabled, no access open.
 *
 * Return: 0, -ENOENT if there is no such STag, -EACCES if it may not be invalidated.
 */
int srn_invalidate(const struct ib_qp *ibqp, u32 stag, bool remote)
{
	struct srn_mem *mem;
	int ret = 0;

	rcu_read_lock();
	mem = srn_mem_find(to_srn_dev(ibqp->device), stag);
	if (!mem || (remote && !READ_ONCE(mem->valid)))
		ret = -ENOENT;
	else if (mem->pd != ibqp->pd)
		ret = -EACCES;
	else if (mem->type == SRN_MEM_WINDOW)
		ret = srn_window_invalidate(mem, stag, ibqp->qp_num, remote);
	else if (mem->type == SRN_MEM_FAST_REG)
		ret = srn_fastreg_invalidate(mem, stag, remote);
	else
		ret = -EACCES;
	rcu_read_unlock();
	return ret;
}
