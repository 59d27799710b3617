/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Completion queues.
 */
#ifndef SRN_CQ_H
#define SRN_CQ_H

#include <rdma/ib_verbs.h>

#include "../device/device.h"
#include "../uapi/softrnic-abi.h"
#include "watch.h"

/**
 * struct srn_cq - completion queue
 * @ibcq: what the RDMA core sees
 * @ctrl: indices shared with the consumer
 * @ring: the CQEs
 * @map: mapping of @ctrl, and of the CQEs that it was created with; NULL for a kernel consumer
 * @ring_map: mapping of @ring, if the queue has been resized, else NULL
 * @lock: protects @ring, @ring_map, @depth, @prod, @overflow and, for kernel consumers, @cons; a
 *	leaf
 * @prod: CQEs written
 * @cons: CQEs polled by a kernel consumer
 * @depth: CQEs, a power of two
 * @timed: completions get a time
 * @overflow: an entry was lost, so the queue is dead
 * @error_due: the consumer has to be told that the queue is dead
 * @watch: looks after queue pairs that send to it
 */
struct srn_cq {
	struct ib_cq ibcq;
	struct srn_cq_ctrl *ctrl;
	struct srn_mmap *map;
	bool timed;

	spinlock_t lock;	/* protects the fields below */
	struct srn_cqe *ring;
	struct srn_mmap *ring_map;
	u32 depth;
	u32 prod;
	u32 cons;
	bool overflow;
	bool error_due;

	struct srn_watch watch;
};

static inline struct srn_cq *to_srn_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct srn_cq, ibcq);
}

/* Has its process taken all completions? A hint only: the process may write any index. */
static inline bool srn_cq_is_polled(const struct srn_cq *cq)
{
	return READ_ONCE(cq->ctrl->cons) == READ_ONCE(cq->prod);
}

int srn_cq_push(struct srn_cq *cq, const struct srn_cqe *cqe);
void srn_cq_notify(struct srn_cq *cq, bool solicited);

int srn_cq_create(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct ib_udata *udata);
int srn_cq_resize(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata);
int srn_cq_destroy(struct ib_cq *ibcq, struct ib_udata *udata);
int srn_cq_poll(struct ib_cq *ibcq, int num, struct ib_wc *wc);
void srn_cq_discard(struct srn_cq *cq, u32 qp_num);
int srn_cq_arm(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

#endif /* SRN_CQ_H */
