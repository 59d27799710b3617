/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Shared receive queues.
 */
#ifndef SRN_SRQ_H
#define SRN_SRQ_H

#include "rq.h"

/**
 * struct srn_srq - shared receive queue
 * @ibsrq: what the RDMA core sees
 * @rq: the ring
 * @limit: number of receives below which IB_EVENT_SRQ_LIMIT_REACHED is raised; 0: not armed.
 *	It is protected by rq.lock.
 * @map: mapping for a process
 * @ring_map: mapping of the ring alone, if the queue has been resized, else NULL
 * @ctrl: shared indices
 * @waiters_lock: protects @waiters; it is taken before the state_lock of a queue pair
 * @waiters: queue pairs with messages that wait for a receive: struct srn_rnr
 * @num_waiters: their number
 */
struct srn_srq {
	struct ib_srq ibsrq;
	struct srn_rq rq;
	u32 limit;
	struct srn_mmap *map;
	struct srn_mmap *ring_map;
	struct srn_srq_ctrl *ctrl;

	spinlock_t waiters_lock;	/* protects the fields below */
	struct list_head waiters;
	u32 num_waiters;
};

static inline struct srn_srq *to_srn_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct srn_srq, ibsrq);
}

int srn_srq_create(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int srn_srq_modify(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata);
int srn_srq_query(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int srn_srq_destroy(struct ib_srq *ibsrq, struct ib_udata *udata);
int srn_srq_post(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad_wr);
int srn_srq_take(struct srn_srq *srq, struct srn_recv *out);

#endif /* SRN_SRQ_H */
