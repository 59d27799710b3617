// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Shared receive queues: verbs, taking by the receive engine.
 *
 * Lock order: resize_mutex of the process's context, rq->lock.
 */
#include <linux/uaccess.h>
#include <rdma/uverbs_ioctl.h>

#include "../device/abi.h"
#include "../device/ucontext.h"
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

/* Return: 0, or -EINVAL if @limit is more than the queue holds. */
static int set_limit(struct srn_srq *srq, u32 limit)
{
	unsigned long flags;
	bool raise = false;
	int ret = -EINVAL;

	spin_lock_irqsave(&srq->rq.lock, flags);
	if (limit <= srq->rq.capacity) {
		srq->limit = limit;
		/* The queue may be empty, and then nothing is taken that would show it. */
		raise = limit_reached(srq, srn_rq_left(&srq->rq));
		ret = 0;
	}
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	if (raise)
		raise_limit(srq);
	return ret;
}

/* @limit: receives below which the event is to be raised from now on */
static int resize(struct srn_srq *srq, u32 entries, u32 limit,
		  const struct srn_ureq_modify_srq *req, struct ib_udata *udata)
{
	struct srn_device *dev = to_srn_dev(srq->ibsrq.device);
	struct srn_uresp_resize_srq resp = {};
	struct srn_ucontext *uc;
	struct srn_mmap *map;
	void *slots;
	int ret;

	if (entries < 1 || entries > SRN_MAX_SRQ_WR || limit > entries)
		return -EINVAL;
	resp.depth = srn_rq_depth(entries);
	slots = srn_ring_alloc(udata, (size_t)resp.depth * srq->rq.stride, &map, &resp.map);
	if (IS_ERR(slots))
		return PTR_ERR(slots);
	uc = rdma_udata_to_drv_context(udata, struct srn_ucontext, ibuc);
	ret = copy_to_user(u64_to_user_ptr(req->response), &resp, sizeof(resp)) ? -EFAULT :
	      mutex_lock_killable(&uc->resize_mutex);
	if (ret)
		goto out;
	ret = srn_rq_move(&srq->rq, &slots, entries);
	if (!ret)
		swap(srq->ring_map, map);
	mutex_unlock(&uc->resize_mutex);
	if (ret)
		srn_notice(dev, "an SRQ is not resized to %u: more receives are posted\n", entries);
out:
	/* The first ring is one allocation with the indices, which stay. */
	if (map)
		srn_ring_free(slots, map);
	return ret;
}

/**
 * srn_srq_modify - arm the limit event, or give the queue more room, or less
 * @ibsrq: queue
 * @attr: limit and size
 * @mask: IB_SRQ_LIMIT: the event is raised at once if fewer are left already; IB_SRQ_MAX_WR: what
 *	is posted stays, and the process does not post until it has mapped what the answer names
 * @udata: of the verb
 *
 * Context: process.
 *
 * Return: 0; -EOPNOTSUPP for another size of a kernel consumer's queue, or of a provider that does
 * not say where it wants the answer; -EINVAL for a limit above the size, or a size below the number
 * of receives that are posted; -ENOMEM; -EFAULT; as srn_abi_request(). The queue is as it was then.
 */
int srn_srq_modify(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata)
{
	struct srn_device *dev = to_srn_dev(ibsrq->device);
	struct srn_srq *srq = to_srn_srq(ibsrq);
	struct srn_ureq_modify_srq req = {};
	int ret;

	ret = srn_abi_request(dev, udata, &req, sizeof(req));
	if (ret)
		return ret;
	if (req.reserved)
		return srn_abi_refuse(dev);
	if (mask & IB_SRQ_MAX_WR) {
		/* Who does not take all of the response would not find the ring. */
		if (!udata || req.response_size < sizeof(struct srn_uresp_resize_srq))
			return -EOPNOTSUPP;
		ret = resize(srq, attr->max_wr,
			     mask & IB_SRQ_LIMIT ? attr->srq_limit : READ_ONCE(srq->limit), &req,
			     udata);
		if (ret)
			return ret;
	}
	return mask & IB_SRQ_LIMIT ? set_limit(srq, attr->srq_limit) : 0;
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

	attr->max_wr = READ_ONCE(srq->rq.capacity);
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

	if (srq->ring_map)
		srn_ring_free(srq->rq.ring, srq->ring_map);
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
