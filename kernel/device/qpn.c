// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Numbers of queue pairs.
 *
 * Each context of a process has blocks of numbers to itself. Each block is used once before the
 * first one comes again, so that a late completion does not name somebody else's queue pair. Their
 * order is a permutation that a random key chooses, so that nobody guesses others' numbers from its
 * own. If numbers were all far apart, each queue pair would cost 3 KiB for the nodes of tables.
 */
#include <linux/siphash.h>
#include <rdma/uverbs_ioctl.h>

#include "qpn.h"
#include "ucontext.h"

/* As many as share a node of the tables that find queue pairs by number: the core's, and ours. */
#define QPN_BLOCK	XA_CHUNK_SIZE

#define HALF_BITS	((24 - XA_CHUNK_SHIFT) / 2)
#define HALF_MASK	(BIT(HALF_BITS) - 1)
#define ROUNDS		4

/* A Feistel network: whatever the round function is, each block has another place. */
static u32 place_of(const siphash_key_t *key, u32 block)
{
	u32 left = block >> HALF_BITS & HALF_MASK, right = block & HALF_MASK, round, mixed;

	BUILD_BUG_ON(2 * HALF_BITS + XA_CHUNK_SHIFT != 24);
	for (round = 0; round < ROUNDS; round++) {
		mixed = left ^ (siphash_2u32(right, round, key) & HALF_MASK);
		left = right;
		right = mixed;
	}
	return left << HALF_BITS | right;
}

static u32 next_number(struct srn_device *dev, struct srn_qpns *from)
{
	u32 qpn;

	spin_lock(&from->lock);
	if (from->next % QPN_BLOCK == 0)
		from->next = place_of(&dev->qpn_key, atomic_inc_return(&dev->qpn_blocks)) *
			     QPN_BLOCK;
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
