/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Receive queues: a ring of receive work requests, of a QP or of an SRQ.
 */
#ifndef SRN_RQ_H
#define SRN_RQ_H

#include <linux/log2.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "../device/device.h"
#include "../uapi/softrnic-abi.h"

/**
 * struct srn_rq - ring of receive WQEs
 * @ring: the WQEs, in shared memory for a process
 * @user_prod: producer index of a process, NULL for a kernel consumer
 * @shared_cons: copy of @cons that the consumer sees
 * @depth: entries, a power of two; 0: no queue
 * @capacity: entries that were asked for and may be outstanding
 * @stride: bytes per entry of the ring
 * @max_sge: scatter/gather entries per WQE
 * @lock: protects @prod and @cons, and @ring, @depth and @capacity, which srn_rq_move() changes; a
 *	leaf
 * @prod: producer index of a kernel consumer
 * @cons: WQEs taken
 */
struct srn_rq {
	void *ring;
	u32 *user_prod;
	u32 *shared_cons;
	u32 depth;
	u32 capacity;
	u32 stride;
	u32 max_sge;

	spinlock_t lock;	/* protects the fields below */
	u32 prod;
	u32 cons;
};

/* WQEs of a ring that may hold so many: a power of two, or 0. */
static inline u32 srn_rq_depth(u32 entries)
{
	return entries ? roundup_pow_of_two(entries) : 0;
}

/* A receive WQE that has been taken: a private copy. */
struct srn_recv {
	u64 wr_id;
	u64 length;		/* bytes in all */
	u32 num_sge;
	struct srn_sge sge[];	/* as many as the ring's max_sge */
};

/* The answer may be out of date at once, unless the caller keeps others from posting and taking. */
static inline bool srn_rq_empty(const struct srn_rq *rq)
{
	return (rq->user_prod ? READ_ONCE(*rq->user_prod) : READ_ONCE(rq->prod)) ==
	       READ_ONCE(rq->cons);
}

void srn_rq_size(struct srn_rq *rq, u32 entries, u32 max_sge);
u32 srn_rq_left(const struct srn_rq *rq);
int srn_rq_take(struct srn_rq *rq, struct srn_recv *out);
int srn_rq_take_locked(struct srn_rq *rq, struct srn_recv *out, u32 *left);
int srn_rq_post(struct srn_rq *rq, const struct ib_recv_wr *wr);
int srn_rq_move(struct srn_rq *rq, void **slots, u32 entries);

#endif /* SRN_RQ_H */
