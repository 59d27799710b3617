// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Shared receive queues: verbs, taking by the receive engine.
 */
#include <rdma/uverbs_ioctl.h>

#include "../device/abi.h"
#include "../memory/ring.h"
#include "rnr.h"

/**
 * srn_srq_create - create a shared receive queue
 * @ibsrq: queue, allocated by the core
 * @init: size and limit
 * @udata: response for a process, NULL for a kernel consumer
 *
 * Context: process.
 *
 * Return: 0; -EOPNOTSUPP for another type than IB_SRQT_BASIC; -EINVAL for sizes; -ENOMEM; as
 * srn_abi_request() and srn_abi_respond().
 */
int srn_srq_create(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct srn_device *dev = to_srn_dev(ibsrq->device);
	struct srn_srq *srq = to_srn_srq(ibsrq);
	struct srn_uresp_create_srq resp = {};
	struct ib_srq_attr *attr = &init->attr;
	int ret;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->max_wr || attr->max_wr > SRN_MAX_SRQ_WR || attr->max_sge > SRN_MAX_SGE ||
	    attr->srq_limit > attr->max_wr)
		return -EINVAL;
	ret = srn_abi_request(dev, udata, NULL, 0);
	if (ret)
		return ret;
	if (!srn_limits_take(dev, SRN_LIMIT_SRQ))
		return -ENOMEM;
	srn_rq_size(&srq->rq, attr->max_wr, max(attr->max_sge, 1u));
	srq->ctrl = srn_ring_alloc(udata, sizeof(*srq->ctrl) +
				   (size_t)srq->rq.depth * srq->rq.stride, &srq->map, &resp.map);
	if (IS_ERR(srq->ctrl)) {
		srn_limits_give(dev, SRN_LIMIT_SRQ);
		return PTR_ERR(srq->ctrl);
	}
	spin_lock_init(&srq->waiters_lock);
	INIT_LIST_HEAD(&srq->waiters);
	srq->rq.ring = srq->ctrl + 1;
	srq->rq.shared_cons = &srq->ctrl->cons;
	srq->rq.user_prod = udata ? &srq->ctrl->prod : NULL;
	srq->limit = attr->srq_limit;
	attr->max_sge = srq->rq.max_sge;
	if (udata) {
		resp.depth = srq->rq.depth;
		resp.rq_offset = sizeof(*srq->ctrl);
		resp.rq_stride = srq->rq.stride;
		resp.max_sge = srq->rq.max_sge;
		resp.ctrl_size = sizeof(*srq->ctrl);
		ret = srn_abi_respond(udata, &resp, sizeof(resp));
		if (ret) {
			srn_srq_destroy(ibsrq, udata);
			return ret;
		}
	}
	return 0;
}

/* Are there fewer than the armed limit? Disarm it then. */
static bool limit_reached(struct srn_srq *srq, u32 left)
{
	lockdep_assert_held(&srq->rq.lock);
	if (left >= srq->limit)
		return false;
	srq->limit = 0;
	return true;
}

static void raise_limit(struct srn_srq *srq)
{
	struct ib_event event = {
		.device = srq->ibsrq.device, .event = IB_EVENT_SRQ_LIMIT_REACHED,
		.element.srq = &srq->ibsrq,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
}

/**
 * srn_srq_modify - arm the limit event, which is raised at once if fewer are left already
 * @ibsrq: queue
 * @attr: the limit
 * @mask: IB_SRQ_LIMIT; IB_SRQ_MAX_WR is not supported
 * @udata: of the verb
 *
 * Context: process.
 *
 * Return: 0; -EOPNOTSUPP for another size; -EINVAL for a limit above the size; as
 * srn_abi_request().
 */
int srn_srq_modify(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata)
{
	struct srn_srq *srq = to_srn_srq(ibsrq);
	unsigned long flags;
	bool raise;
	int ret;

	ret = srn_abi_request(to_srn_dev(ibsrq->device), udata, NULL, 0);
	if (ret)
		return ret;
	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->rq.capacity)
		return -EINVAL;
	spin_lock_irqsave(&srq->rq.lock, flags);
	srq->limit = attr->srq_limit;
	/* The queue may be empty, and then nothing is taken that would show it. */
	raise = limit_reached(srq, srn_rq_left(&srq->rq));
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	if (raise)
		raise_limit(srq);
	return 0;
}

/**
 * srn_srq_query - report size and armed limit
 * @ibsrq: queue
 * @attr: result
 *
 * Context: process.
 *
 * Return: 0.
 */
int srn_srq_query(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct srn_srq *srq = to_srn_srq(ibsrq);

	attr->max_wr = srq->rq.capacity;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

/**
 * srn_srq_destroy - destroy a shared receive queue
 * @ibsrq: queue, used by no QP any more
 * @udata: not used
 *
 * Context: process.
 *
 * Return: 0.
 */
int srn_srq_destroy(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct srn_srq *srq = to_srn_srq(ibsrq);

	srn_ring_free(srq->ctrl, srq->map);
	srn_limits_give(to_srn_dev(ibsrq->device), SRN_LIMIT_SRQ);
	return 0;
}

/**
 * srn_srq_post - post receives of a kernel consumer, or execute a process's doorbell
 * @ibsrq: queue
 * @wr: work requests; NULL for a doorbell
 * @bad_wr: first one that was not posted
 *
 * A process rings only while messages wait for a receive.
 *
 * Context: any.
 *
 * Return: 0; -ENOMEM if the queue is full; -EINVAL for a bad work request, or one of a process.
 */
int srn_srq_post(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad_wr)
{
	struct srn_srq *srq = to_srn_srq(ibsrq);
	int ret = 0;

	if (srq->rq.user_prod) {
		*bad_wr = wr;
		srn_rnr_posted_shared(srq);
		return wr ? -EINVAL : 0;
	}
	for (; wr; wr = wr->next) {
		ret = srn_rq_post(&srq->rq, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	return ret;
}

/**
 * srn_srq_take - take the oldest receive
 * @srq: shared receive queue
 * @out: private copy of the WQE
 *
 * Raises the limit event when it leaves fewer than the armed limit.
 *
 * Context: any. Takes rq->lock.
 *
 * Return: as srn_rq_take().
 */
int srn_srq_take(struct srn_srq *srq, struct srn_recv *out)
{
	unsigned long flags;
	bool raise = false;
	u32 left;
	int ret;

	spin_lock_irqsave(&srq->rq.lock, flags);
	ret = srn_rq_take_locked(&srq->rq, out, &left);
	if (!ret || ret == -EINVAL)
		raise = limit_reached(srq, left);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	if (raise)
		raise_limit(srq);
	return ret;
}
