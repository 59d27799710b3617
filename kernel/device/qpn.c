// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Numbers of queue pairs.
 *
 * Each context of a process has blocks of numbers to itself. Each block is used once before the
 * first one comes again, so that a late completion does not name somebody else's queue pair. The
 * step from one block to the next is random, so that a stranger does not guess numbers; whoever
 * knows two blocks that follow each other knows all. It is odd, so that no block is left out.
 * If numbers were all far apart, each queue pair would cost 3 KiB for the nodes of tables.
 */
#include <rdma/uverbs_ioctl.h>

#include "qpn.h"
#include "ucontext.h"

/* As many as share a node of the tables that find queue pairs by number: the core's, and ours. */
#define QPN_BLOCK	XA_CHUNK_SIZE

static u32 next_number(struct srn_device *dev, struct srn_qpns *from)
{
	u32 qpn;

	spin_lock(&from->lock);
	if (from->next % QPN_BLOCK == 0)
		from->next = atomic_inc_return(&dev->qpn_blocks) * dev->qpn_step * QPN_BLOCK;
	qpn = from->next++ & SRN_MAX_QPN;
	spin_unlock(&from->lock);
	return qpn;
}

/**
 * srn_qpn_reserve - reserve a number that no queue pair has
 * @dev: link
 * @udata: of the verb, NULL for a kernel consumer
 * @qpn: result, with an empty entry in @dev->qps
 *
 * Context: process.
 *
 * Return: 0 or -ENOMEM.
 */
int srn_qpn_reserve(struct srn_device *dev, struct ib_udata *udata, u32 *qpn)
{
	struct srn_ucontext *uc =
		rdma_udata_to_drv_context(udata, struct srn_ucontext, ibuc);
	struct srn_qpns *from = uc ? &uc->qpns : &dev->qpns;
	int ret = -EBUSY;

	while (ret == -EBUSY) {
		*qpn = next_number(dev, from);
		if (*qpn)
			ret = xa_insert(&dev->qps, *qpn, NULL, GFP_KERNEL);
	}
	return ret;
}
