// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive rings: posting by kernel consumers, taking by the receive engine, moving to more room.
 */
#include <linux/sched.h>

#include "../memory/mem.h"
#include "rq.h"

/* So many WQEs are moved before others have their turn. */
#define MOVE_SOME	1024

/**
 * srn_rq_size - decide depth and stride of a ring
 * @rq: ring to set up
 * @entries: WQEs that the consumer wants to have outstanding; 0: no ring
 * @max_sge: entries per WQE
 *
 * Context: process.
 */
void srn_rq_size(struct srn_rq *rq, u32 entries, u32 max_sge)
{
	spin_lock_init(&rq->lock);
	rq->capacity = entries;
	rq->depth = srn_rq_depth(entries);
	rq->max_sge = max_sge;
	rq->stride = ALIGN(SRN_RECV_WQE_HEADER + max_sge * sizeof(struct srn_sge), 32);
}

static void *rq_slot(const struct srn_rq *rq, u32 index)
{
	return rq->ring + (size_t)(index & (rq->depth - 1)) * rq->stride;
}

/* Copy one WQE out of memory that its producer may be changing, then check the copy. */
static int recv_copy(const struct srn_rq *rq, const struct srn_recv_wqe *wqe,
		     struct srn_recv *out)
{
	u32 i;

	out->wr_id = READ_ONCE(wqe->wr_id);
	out->num_sge = READ_ONCE(wqe->num_sge);
	out->length = 0;
	if (out->num_sge > rq->max_sge || READ_ONCE(wqe->reserved)) {
		out->num_sge = 0;
		return -EINVAL;
	}
	memcpy(out->sge, wqe->sge, out->num_sge * sizeof(out->sge[0]));
	/* Whatever the producer writes from here on, only the copy counts. */
	barrier();
	for (i = 0; i < out->num_sge; i++)
		out->length += out->sge[i].length;
	return 0;
}

/**
 * srn_rq_left - how many receives are posted and have not been taken
 * @rq: ring
 *
 * Context: any, rq->lock held.
 *
 * Return: number; more than @rq->depth if the index of the process makes no sense.
 */
u32 srn_rq_left(const struct srn_rq *rq)
{
	lockdep_assert_held(&rq->lock);
	/* Acquire: the WQEs up to there are written. */
	return (rq->user_prod ? smp_load_acquire(rq->user_prod) : rq->prod) - rq->cons;
}

/**
 * srn_rq_take_locked - take the oldest receive of a locked ring
 * @rq: ring
 * @out: private copy of the WQE
 * @left: how many are posted behind it, if it was consumed
 *
 * Context: any, rq->lock held.
 *
 * Return: as srn_rq_take().
 */
int srn_rq_take_locked(struct srn_rq *rq, struct srn_recv *out, u32 *left)
{
	u32 ready;
	int ret;

	lockdep_assert_held(&rq->lock);
	if (!rq->depth)
		return -ENOENT;
	ready = srn_rq_left(rq);
	if (!ready)
		return -ENOENT;
	if (ready > rq->depth)
		return -EOVERFLOW;
	ret = recv_copy(rq, rq_slot(rq, rq->cons), out);
	WRITE_ONCE(rq->cons, rq->cons + 1);
	/* The slot has been read before it is given back. */
	smp_store_release(rq->shared_cons, rq->cons);
	*left = ready - 1;
	return ret;
}

/**
 * srn_rq_take - take the oldest receive
 * @rq: ring
 * @out: private copy of the WQE
 *
 * Context: any. Takes rq->lock.
 *
 * Return: 0; -ENOENT if none is posted; -EINVAL if what a process wrote into the slot makes no
 * sense, in which case the slot is consumed and @out->wr_id is set; -EOVERFLOW if the index of the
 * process makes no sense, in which case nothing is consumed.
 */
int srn_rq_take(struct srn_rq *rq, struct srn_recv *out)
{
	unsigned long flags;
	u32 left;
	int ret;

	spin_lock_irqsave(&rq->lock, flags);
	ret = srn_rq_take_locked(rq, out, &left);
	spin_unlock_irqrestore(&rq->lock, flags);
	return ret;
}

/**
 * srn_rq_post - append one receive of a kernel consumer
 * @rq: ring
 * @wr: work request
 *
 * Context: any. Takes rq->lock.
 *
 * Return: 0, -ENOMEM if the ring is full, -EINVAL for too many entries.
 */
int srn_rq_post(struct srn_rq *rq, const struct ib_recv_wr *wr)
{
	struct srn_recv_wqe *wqe;
	unsigned long flags;

	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return -EINVAL;
	spin_lock_irqsave(&rq->lock, flags);
	if (rq->prod - rq->cons >= rq->capacity) {
		spin_unlock_irqrestore(&rq->lock, flags);
		return -ENOMEM;
	}
	wqe = rq_slot(rq, rq->prod);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	wqe->reserved = 0;
	srn_sge_copy(wqe->sge, wr->sg_list, wr->num_sge);
	WRITE_ONCE(rq->prod, rq->prod + 1);
	spin_unlock_irqrestore(&rq->lock, flags);
	return 0;
}

/* Return: the number of receives that are posted from @cons on fits both rings. */
static bool fits(const struct srn_rq *rq, u32 entries, u32 *cons, u32 *num)
{
	lockdep_assert_held(&rq->lock);
	*cons = rq->cons;
	*num = srn_rq_left(rq);
	return *num <= min(rq->depth, entries);
}

/**
 * srn_rq_move - go on in memory that has more room, or less
 * @rq: ring of a process
 * @slots: memory for srn_rq_depth() WQEs; the ring's old memory if this succeeds
 * @entries: receives that it may hold from now on
 *
 * What is posted stays. The process does not post meanwhile, or what it posts is lost.
 *
 * Context: process; nobody else moves the ring. Takes rq->lock.
 *
 * Return: 0, or -EINVAL if more receives are posted.
 */
int srn_rq_move(struct srn_rq *rq, void **slots, u32 entries)
{
	u32 depth = srn_rq_depth(entries);
	u32 at, num, i;
	bool good;

	spin_lock_irq(&rq->lock);
	good = fits(rq, entries, &at, &num);
	spin_unlock_irq(&rq->lock);
	if (!good)
		return -EINVAL;
	/* Others may take of these meanwhile, but nobody writes to them. */
	for (i = 0; i < num; i++, at++) {
		memcpy(*slots + (size_t)(at & (depth - 1)) * rq->stride, rq_slot(rq, at),
		       rq->stride);
		if (i % MOVE_SOME == MOVE_SOME - 1)
			cond_resched();
	}
	spin_lock_irq(&rq->lock);
	good = fits(rq, entries, &at, &num);
	if (good) {
		swap(rq->ring, *slots);
		WRITE_ONCE(rq->depth, depth);
		WRITE_ONCE(rq->capacity, entries);
	}
	spin_unlock_irq(&rq->lock);
	return good ? 0 : -EINVAL;
}
