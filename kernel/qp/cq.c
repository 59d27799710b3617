// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues.
 *
 * Lock order: resize_mutex of the process's context, cq->lock.
 */
#include <linux/log2.h>
#include <linux/sched.h>
#include <rdma/uverbs_ioctl.h>

#include "../device/abi.h"
#include "../device/ucontext.h"
#include "../memory/ring.h"
#include "cq.h"
#include "qp.h"

/* A resize copies so many CQEs before others have their turn, and so many with interrupts off. */
#define COPY_SOME	1024
#define COPY_LOCKED	64

/**
 * srn_cq_push - append a completion
 * @cq: completion queue
 * @cqe: completion
 *
 * The caller calls srn_cq_notify() when it has appended all its completions, also if this fails.
 *
 * Context: any. Takes cq->lock.
 *
 * Return: 0, or -ENOSPC if the queue is full: it has overflowed, and is dead from now on.
 */
int srn_cq_push(struct srn_cq *cq, const struct srn_cqe *cqe)
{
	struct srn_cqe *slot;
	unsigned long flags;
	bool first;
	u32 cons;

	spin_lock_irqsave(&cq->lock, flags);
	/*
	 * What a process stores here can only damage its own queue. Acquire: it has
	 * read the slot that is written now.
	 */
	cons = cq->map ? smp_load_acquire(&cq->ctrl->cons) : cq->cons;
	if (!cq->overflow && cq->prod - cons < cq->depth) {
		slot = &cq->ring[cq->prod & (cq->depth - 1)];
		*slot = *cqe;
		if (cq->timed)
			slot->timestamp = ktime_get_real_ns();
		/* The entry is written before the index. */
		smp_store_release(&cq->ctrl->prod, ++cq->prod);
		spin_unlock_irqrestore(&cq->lock, flags);
		return 0;
	}
	first = !cq->overflow;
	cq->overflow = true;
	WRITE_ONCE(cq->ctrl->error, 1);
	if (first)
		WRITE_ONCE(cq->error_due, true);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (first) {
		srn_count(to_srn_dev(cq->ibcq.device)->counters, SRN_COUNT_CQ_OVERFLOWS);
		ibdev_notice_ratelimited(cq->ibcq.device,
					 "CQ of %u entries overflowed, QP%u lost a completion\n",
					 cq->depth, cqe->qp_num);
	}
	return -ENOSPC;
}

/* Two may have seen that it is due. */
static void raise_error(struct srn_cq *cq)
{
	struct ib_event event = {
		.device = cq->ibcq.device, .event = IB_EVENT_CQ_ERR, .element.cq = &cq->ibcq,
	};

	if (xchg(&cq->error_due, false) && cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
}

/**
 * srn_cq_notify - raise the completion event if the consumer waits for it
 * @cq: completion queue that got completions
 * @solicited: one of them was solicited or failed
 *
 * If the queue has overflowed, this raises IB_EVENT_CQ_ERR once.
 *
 * Context: any; no lock of a queue pair except conn_mutex, no lock of a CQ or RQ, and no memory
 * access is held, since a kernel consumer may post from its handler. The lock of a direct end may
 * be held. A kernel consumer may be called from its own post. The handler runs with bottom halves
 * off, so that what it posts to another queue pair is not transmitted and completed on this stack.
 */
void srn_cq_notify(struct srn_cq *cq, bool solicited)
{
	u32 arm;

	if (unlikely(READ_ONCE(cq->error_due)))
		raise_error(cq);
	/* Store prod before loading arm. Pairs with srn_cq_arm() and with the provider's arming. */
	smp_mb();
	arm = READ_ONCE(cq->ctrl->arm);
	if (arm == SRN_CQ_ARM_NONE || (arm == SRN_CQ_ARM_SOLICITED && !solicited))
		return;
	if (xchg(&cq->ctrl->arm, SRN_CQ_ARM_NONE) == SRN_CQ_ARM_NONE)
		return;
	srn_count(to_srn_dev(cq->ibcq.device)->counters, SRN_COUNT_CQ_EVENTS);
	if (!cq->ibcq.comp_handler)
		return;
	if (irqs_disabled()) {
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
		return;
	}
	local_bh_disable();
	cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	local_bh_enable();
}

/**
 * srn_cq_create - create a completion queue
 * @ibcq: queue, allocated by the core
 * @attr: size
 * @udata: response for a process, NULL for a kernel consumer
 *
 * Context: process.
 *
 * Return: 0; -EOPNOTSUPP for an unsupported type or flag; -EINVAL for sizes; -ENOMEM; as
 * srn_abi_request() and srn_abi_respond().
 */
int srn_cq_create(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct ib_udata *udata)
{
	struct srn_device *dev = to_srn_dev(ibcq->device);
	struct srn_uresp_create_cq resp = {};
	struct srn_cq *cq = to_srn_cq(ibcq);
	int ret;

	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (attr->cqe < 1 || attr->cqe > SRN_MAX_CQE)
		return -EINVAL;
	ret = srn_abi_request(dev, udata, NULL, 0);
	if (ret)
		return ret;
	if (!srn_limits_take(dev, SRN_LIMIT_CQ))
		return -ENOMEM;
	spin_lock_init(&cq->lock);
	srn_watch_init(&cq->watch);
	cq->depth = roundup_pow_of_two(attr->cqe);
	cq->timed = attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	cq->ctrl = srn_ring_alloc(udata, sizeof(*cq->ctrl) + cq->depth * sizeof(*cq->ring),
				  &cq->map, &resp.map);
	if (IS_ERR(cq->ctrl)) {
		srn_limits_give(dev, SRN_LIMIT_CQ);
		return PTR_ERR(cq->ctrl);
	}
	cq->ring = (void *)(cq->ctrl + 1);
	ibcq->cqe = cq->depth;
	if (udata) {
		resp.ctrl_size = sizeof(*cq->ctrl);
		resp.depth = cq->depth;
		resp.cqe_offset = sizeof(*cq->ctrl);
		resp.cqe_stride = sizeof(*cq->ring);
		ret = srn_abi_respond(udata, &resp, sizeof(resp));
		if (ret) {
			srn_cq_destroy(ibcq, udata);
			return ret;
		}
	}
	return 0;
}

/* A ring with a mapping of its own: the new one, and after the exchange the old one. */
struct new_ring {
	struct srn_cqe *slots;
	struct srn_mmap *map;
	u32 depth;
};

static void copy_cqes(const struct srn_cq *cq, const struct new_ring *to, u32 from, u32 num)
{
	for (; num; num--, from++)
		to->slots[from & (to->depth - 1)] = cq->ring[from & (cq->depth - 1)];
}

/* Return: @cq has not lost any since @cons, and @new has room for all. */
static bool fits(const struct srn_cq *cq, const struct new_ring *new, u32 cons)
{
	lockdep_assert_held(&cq->lock);
	return !cq->overflow && cq->prod - cons <= min(cq->depth, new->depth);
}

/*
 * The process does not poll meanwhile, or harms itself, so nobody writes what is copied without the
 * lock. No more is copied than fits. Return: 0, and @new is the old ring; -EINVAL if not all fits.
 */
static int exchange_rings(struct srn_ucontext *uc, struct srn_cq *cq, struct new_ring *new)
{
	u32 cons = READ_ONCE(cq->ctrl->cons), from = cons, num;
	bool good;

	lockdep_assert_held(&uc->resize_mutex);
	spin_lock_irq(&cq->lock);
	good = fits(cq, new, cons);
	while (good && cq->prod - from > COPY_LOCKED) {
		num = min_t(u32, cq->prod - from, COPY_SOME);
		spin_unlock_irq(&cq->lock);
		copy_cqes(cq, new, from, num);
		from += num;
		cond_resched();
		spin_lock_irq(&cq->lock);
		good = fits(cq, new, cons);
	}
	if (good) {
		copy_cqes(cq, new, from, cq->prod - from);
		swap(cq->ring, new->slots);
		swap(cq->ring_map, new->map);
		swap(cq->depth, new->depth);
		cq->ibcq.cqe = cq->depth;
	}
	spin_unlock_irq(&cq->lock);
	return good ? 0 : -EINVAL;
}

/**
 * srn_cq_resize - give a completion queue more room, or less
 * @ibcq: queue of a process
 * @cqe: completions that it has to hold
 * @udata: response
 *
 * What waits to be polled stays. The process must not poll until it has mapped what the response
 * names.
 *
 * Context: process.
 *
 * Return: 0; -EINVAL if more completions wait than it would hold, or it has overflowed; or another
 * negative errno, and nothing has changed.
 */
int srn_cq_resize(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata)
{
	struct srn_device *dev = to_srn_dev(ibcq->device);
	struct srn_uresp_resize_cq resp = {};
	struct srn_cq *cq = to_srn_cq(ibcq);
	struct srn_ucontext *uc;
	struct new_ring ring;
	int ret;

	if (!udata)
		return -EOPNOTSUPP;
	/* Who does not take all that revision 1 has of the response would not find the ring. */
	if (cqe < 1 || cqe > SRN_MAX_CQE ||
	    udata->outlen < offsetofend(struct srn_uresp_resize_cq, cqe_stride))
		return -EINVAL;
	uc = rdma_udata_to_drv_context(udata, struct srn_ucontext, ibuc);
	ret = srn_abi_request(dev, udata, NULL, 0);
	if (ret)
		return ret;
	ring.depth = roundup_pow_of_two(cqe);
	ring.slots = srn_ring_alloc(udata, ring.depth * sizeof(*ring.slots), &ring.map, &resp.map);
	if (IS_ERR(ring.slots))
		return PTR_ERR(ring.slots);
	resp.depth = ring.depth;
	resp.cqe_stride = sizeof(*ring.slots);
	ret = srn_abi_respond(udata, &resp, sizeof(resp));
	if (!ret)
		ret = mutex_lock_killable(&uc->resize_mutex);
	if (ret)
		goto out;
	ret = exchange_rings(uc, cq, &ring);
	mutex_unlock(&uc->resize_mutex);
	if (ret)
		srn_notice(dev, "a CQ is not resized to %u: more waits in it, or was lost\n", cqe);
out:
	/* The first ring is one allocation with the indices, which stay. */
	if (ring.map)
		srn_ring_free(ring.slots, ring.map);
	return ret;
}

/**
 * srn_cq_destroy - destroy a completion queue
 * @ibcq: queue, used by no QP any more
 * @udata: not used
 *
 * Context: process.
 *
 * Return: 0.
 */
int srn_cq_destroy(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct srn_cq *cq = to_srn_cq(ibcq);

	srn_watch_exit(&cq->watch);
	if (cq->ring_map)
		srn_ring_free(cq->ring, cq->ring_map);
	srn_ring_free(cq->ctrl, cq->map);
	srn_limits_give(to_srn_dev(ibcq->device), SRN_LIMIT_CQ);
	return 0;
}

static void to_kernel_wc(const struct srn_cq *cq, const struct srn_cqe *cqe, struct ib_wc *wc)
{
	struct srn_qp *qp;

	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->byte_len = cqe->byte_len;
	wc->opcode = cqe->opcode;
	qp = srn_qp_find(to_srn_dev(cq->ibcq.device), cqe->qp_num);
	wc->qp = qp ? &qp->ibqp : NULL;
	wc->port_num = 1;
	if (cqe->flags & SRN_CQE_WITH_INV) {
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->ex;
	} else if (cqe->flags & SRN_CQE_WITH_IMM) {
		wc->wc_flags = IB_WC_WITH_IMM;
		wc->ex.imm_data = (__force __be32)cqe->ex;
	}
}

/**
 * srn_cq_poll - give completions to a kernel consumer
 * @ibcq: queue
 * @num: number of completions to take at most
 * @wc: where to put them
 *
 * Context: any.
 *
 * Return: number taken.
 */
int srn_cq_poll(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct srn_cq *cq = to_srn_cq(ibcq);
	unsigned long flags;
	int n;

	spin_lock_irqsave(&cq->lock, flags);
	for (n = 0; n < num && cq->cons != cq->prod; n++)
		to_kernel_wc(cq, &cq->ring[cq->cons++ & (cq->depth - 1)], &wc[n]);
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/**
 * srn_cq_discard - take out what a kernel consumer does not want any more
 * @cq: queue of a kernel consumer
 * @qp_num: queue pair that it destroys, and that completes nothing more
 *
 * Context: any.
 */
void srn_cq_discard(struct srn_cq *cq, u32 qp_num)
{
	u32 mask = cq->depth - 1, from, to;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	/* The others move towards the newest, and stay in order. */
	for (from = cq->prod, to = cq->prod; from != cq->cons;)
		if (cq->ring[--from & mask].qp_num != qp_num)
			cq->ring[--to & mask] = cq->ring[from & mask];
	cq->cons = to;
	spin_unlock_irqrestore(&cq->lock, flags);
}

/**
 * srn_cq_arm - arm a completion queue for a kernel consumer
 * @ibcq: queue
 * @flags: which completions count
 *
 * Context: any.
 *
 * Return: 1 if completions are there already and the caller asked to be told, else 0.
 */
int srn_cq_arm(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	struct srn_cq *cq = to_srn_cq(ibcq);

	/* Never weaken what another caller has armed. */
	if (!solicited)
		WRITE_ONCE(cq->ctrl->arm, SRN_CQ_ARM_ANY);
	else
		cmpxchg(&cq->ctrl->arm, SRN_CQ_ARM_NONE, SRN_CQ_ARM_SOLICITED);
	/* Store arm before loading prod. Pairs with srn_cq_notify(). */
	smp_mb();
	return (flags & IB_CQ_REPORT_MISSED_EVENTS) &&
	       READ_ONCE(cq->prod) != READ_ONCE(cq->cons);
}
