// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send work requests on their way into the kernel's send queue: from the ring of a
 * process, copied once and then checked, or from a kernel consumer.
 */
#include <linux/slab.h>

#include "fetch.h"
#include "state.h"

/* A slot still has what was known of an earlier work request. */
static void forget_earlier(struct srn_send *send)
{
	send->length = 0;
	send->status = IB_WC_SUCCESS;
	send->finished = false;
	send->mr = NULL;
}

/*
 * Copy one WQE out of memory that its process may be changing. Only the copy is
 * looked at from here on. Return: 0, or -EINVAL if it is not a valid WQE.
 */
static int fetch_copy(const struct srn_sq *sq, const struct srn_send_wqe *from,
		      struct srn_send *send)
{
	struct srn_send_wqe *wqe = &send->wqe;
	u32 tail;

	forget_earlier(send);
	memcpy(wqe, from, SRN_SEND_WQE_HEADER);
	/* Keep the compiler from reading the lengths below from the ring again. */
	barrier();
	if (wqe->opcode >= SRN_WR_OPCODES || !srn_wr_table[wqe->opcode].user ||
	    wqe->flags & ~SRN_WR_FLAGS || wqe->num_sge > sq->max_sge)
		return -EINVAL;
	if (wqe->flags & SRN_WR_INLINE) {
		if (!srn_wr_table[wqe->opcode].can_inline || wqe->num_sge ||
		    wqe->inline_len > sq->max_inline)
			return -EINVAL;
		tail = wqe->inline_len;
	} else {
		tail = wqe->num_sge * sizeof(struct srn_sge);
	}
	memcpy(wqe->data, from->data, tail);
	barrier();
	return 0;
}

/**
 * srn_fetch_prepare - make room for work requests of a process before the first one is fetched
 * @qp: queue pair of a process
 *
 * Many queue pairs only receive, or stay idle, and need no room. This must not fail, because what
 * is posted has to be completed in any case; so queues larger than a page get their room when they
 * are created. Until there is room the process rings for whatever it posts, so nobody else has to
 * look into its ring.
 *
 * Context: process, sleeps.
 */
void srn_fetch_prepare(struct srn_qp *qp)
{
	struct srn_sq *sq = &qp->sq;
	void *sends;

	if (likely(READ_ONCE(sq->sends)))
		return;
	sends = kcalloc(sq->depth, sq->stride, GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
	spin_lock_irq(&sq->lock);
	if (!sq->sends) {
		/* The transmitter may be looking. Pairs with srn_fetch_next(). */
		smp_store_release(&sq->sends, sends);
		sends = NULL;
	}
	spin_unlock_irq(&sq->lock);
	kfree(sends);
}

/**
 * srn_fetch_next - fetch the next work request of a process
 * @qp: queue pair of a process
 * @flushing: the work request will be flushed, so the process must go on ringing
 *
 * Context: the active transmitter, bottom halves disabled; or sq.lock held, if there is no
 * transmitter any more.
 *
 * Return: true if sq.prod has moved. A ring that makes no sense fails the QP.
 */
bool srn_fetch_next(struct srn_qp *qp, bool flushing)
{
	struct srn_sq *sq = &qp->sq;
	struct srn_send *send;
	/* Acquire: the WQEs up to there are written. */
	u32 ready = smp_load_acquire(&qp->ctrl->sq_prod) - sq->prod;

	/* Acquire: pairs with srn_fetch_prepare(), whose caller comes here next. */
	if (!ready || !smp_load_acquire(&sq->sends))
		return false;
	send = srn_sq_slot(sq, sq->prod);
	if (ready > sq->depth - (sq->prod - READ_ONCE(sq->cons))) {
		srn_state_fail(qp, IB_EVENT_QP_FATAL, NULL, "send ring overrun");
		return false;
	}
	if (!flushing && READ_ONCE(qp->ctrl->sq_kick))
		WRITE_ONCE(qp->ctrl->sq_kick, SRN_KICK_NOT);
	if (fetch_copy(sq, sq->user_ring + (size_t)(sq->prod & (sq->depth - 1)) * sq->user_stride,
		       send)) {
		if (send->wqe.opcode >= SRN_WR_OPCODES || !srn_wr_info(send)->name)
			send->wqe.opcode = SRN_WR_SEND;
		send->wqe.flags = SRN_WR_SIGNALED;
		send->wqe.num_sge = 0;
		send->status = IB_WC_LOC_QP_OP_ERR;
	}
	if (sq->signal_all)
		send->wqe.flags |= SRN_WR_SIGNALED;
	/* Release: pairs with srn_requester_next() and with scheduler.c. */
	smp_store_release(&sq->prod, sq->prod + 1);
	return true;
}

static u64 sum_of_lengths(const struct srn_send_wqe *wqe)
{
	u64 length = 0;
	u32 i;

	for (i = 0; i < wqe->num_sge; i++)
		length += wqe->sge[i].length;
	return length;
}

/**
 * srn_fetch_check - is a work request that has reached its turn valid?
 * @qp: queue pair
 * @send: work request; its length is filled in
 *
 * Context: any.
 *
 * Return: enum ib_wc_status, IB_WC_SUCCESS if it may be executed.
 */
int srn_fetch_check(struct srn_qp *qp, struct srn_send *send)
{
	struct srn_send_wqe *wqe = &send->wqe;
	enum srn_mem_fault fault;
	u64 length;

	if (send->status != IB_WC_SUCCESS)
		return send->status;
	if (srn_is_request(send) && !qp->sq.ord)
		return IB_WC_LOC_QP_OP_ERR;
	if (!srn_wr_table[wqe->opcode].payload)
		return IB_WC_SUCCESS;
	if (wqe->flags & SRN_WR_INLINE) {
		send->length = wqe->inline_len;
		return IB_WC_SUCCESS;
	}
	length = sum_of_lengths(wqe);
	if (length > SRN_MAX_MESSAGE || (srn_is_atomic(send) && length != SRN_ATOMIC_SIZE))
		return IB_WC_LOC_LEN_ERR;
	send->length = length;
	fault = srn_mem_check_sges(&qp->ibqp, qp->kernel, wqe->sge, wqe->num_sge,
				   srn_wr_table[wqe->opcode].access);
	return fault == SRN_MEM_OK ? IB_WC_SUCCESS : IB_WC_LOC_PROT_ERR;
}

static u16 kernel_flags(const struct srn_sq *sq, unsigned int flags)
{
	return (flags & IB_SEND_SIGNALED || sq->signal_all ? SRN_WR_SIGNALED : 0) |
	       (flags & IB_SEND_SOLICITED ? SRN_WR_SOLICITED : 0) |
	       (flags & IB_SEND_FENCE ? SRN_WR_FENCE : 0);
}

static int kernel_inline(const struct srn_sq *sq, const struct ib_send_wr *wr,
			 struct srn_send_wqe *wqe)
{
	u32 total = 0;
	int i;

	wqe->num_sge = 0;
	for (i = 0; i < wr->num_sge; i++) {
		u32 length = wr->sg_list[i].length;

		if (length > sq->max_inline - total)
			return -EINVAL;
		memcpy(wqe->data + total, (void *)(uintptr_t)wr->sg_list[i].addr, length);
		total += length;
	}
	wqe->inline_len = total;
	wqe->flags |= SRN_WR_INLINE;
	return 0;
}

static void kernel_sges(const struct ib_send_wr *wr, struct srn_send_wqe *wqe)
{
	wqe->num_sge = wr->num_sge;
	srn_sge_copy(wqe->sge, wr->sg_list, wr->num_sge);
}

static u32 kernel_ex(const struct ib_send_wr *wr, u8 ex)
{
	switch (ex) {
	case SRN_WR_EX_INVALIDATE:
		return wr->ex.invalidate_rkey;
	case SRN_WR_EX_IMMEDIATE:
		return (__force u32)wr->ex.imm_data;
	case SRN_WR_EX_SINK:
		return wr->num_sge ? wr->sg_list[0].lkey : 0;
	default:
		return 0;
	}
}

static void kernel_atomic(const struct ib_atomic_wr *wr, struct srn_send_wqe *wqe)
{
	bool swap = wqe->opcode == SRN_WR_CMP_SWAP;

	wqe->remote_addr = wr->remote_addr;
	wqe->rkey = wr->rkey;
	wqe->swap_add = swap ? wr->swap : wr->compare_add;
	wqe->compare = swap ? wr->compare_add : 0;
}

/* Copy what a work request says, except for its payload. */
static void kernel_rest(const struct ib_send_wr *wr, struct srn_send *send)
{
	const struct srn_wr_info *info = srn_wr_info(send);
	struct srn_send_wqe *wqe = &send->wqe;

	wqe->ex = kernel_ex(wr, info->ex);
	if (info->kind == SRN_WR_KIND_WRITE || info->kind == SRN_WR_KIND_READ) {
		wqe->remote_addr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
	} else if (info->kind == SRN_WR_KIND_ATOMIC) {
		kernel_atomic(atomic_wr(wr), wqe);
	} else if (wqe->opcode == SRN_WR_REG_MR) {
		send->mr = reg_wr(wr)->mr;
		wqe->rkey = reg_wr(wr)->key;
		wqe->ex = reg_wr(wr)->access;
	}
}

/**
 * srn_fetch_post - append one work request of a kernel consumer
 * @qp: queue pair of a kernel consumer
 * @wr: work request
 *
 * Context: any; sq.lock held.
 *
 * Return: 0, -ENOMEM if the queue is full, -EINVAL for a bad request.
 */
int srn_fetch_post(struct srn_qp *qp, const struct ib_send_wr *wr)
{
	int opcode = srn_wr_table_find(wr->opcode);
	struct srn_sq *sq = &qp->sq;
	struct srn_send *send;
	int ret = 0;

	lockdep_assert_held(&sq->lock);
	if (opcode < 0 || wr->num_sge < 0 || wr->num_sge > sq->max_sge)
		return -EINVAL;
	if (sq->prod - sq->cons >= sq->capacity)
		return -ENOMEM;
	send = srn_sq_slot(sq, sq->prod);
	forget_earlier(send);
	send->wqe.wr_id = wr->wr_id;
	send->wqe.opcode = opcode;
	send->wqe.flags = kernel_flags(sq, wr->send_flags);
	if (!srn_wr_table[opcode].payload)
		send->wqe.num_sge = 0;
	else if (wr->send_flags & IB_SEND_INLINE && srn_wr_table[opcode].can_inline)
		ret = kernel_inline(sq, wr, &send->wqe);
	else
		kernel_sges(wr, &send->wqe);
	if (ret)
		return ret;
	kernel_rest(wr, send);
	/* The transmitter looks at the slot when it sees the index. */
	smp_store_release(&sq->prod, sq->prod + 1);
	return 0;
}
