// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The send queue: what is transmitted next, and what has been completed.
 */
#include "../memory/fastreg.h"
#include "../memory/invalidate.h"
#include "../memory/window.h"
#include "../stream/tx.h"
#include "qp.h"
#include "qp_trace.h"

static const u8 wc_opcode[SRN_WR_OPCODES] = {
	[SRN_WR_SEND] = IB_WC_SEND,
	[SRN_WR_SEND_WITH_INV] = IB_WC_SEND,
	[SRN_WR_WRITE] = IB_WC_RDMA_WRITE,
	[SRN_WR_READ] = IB_WC_RDMA_READ,
	[SRN_WR_READ_WITH_INV] = IB_WC_RDMA_READ,
	[SRN_WR_LOCAL_INV] = IB_WC_LOCAL_INV,
	[SRN_WR_REG_MR] = IB_WC_REG_MR,
	[SRN_WR_SEND_WITH_IMM] = IB_WC_SEND,
	[SRN_WR_WRITE_WITH_IMM] = IB_WC_RDMA_WRITE,
	[SRN_WR_FETCH_ADD] = IB_WC_FETCH_ADD,
	[SRN_WR_CMP_SWAP] = IB_WC_COMP_SWAP,
	[SRN_WR_BIND_MW] = IB_UVERBS_WC_BIND_MW,
};

static struct srn_qp *stream_qp(struct srn_stream *s)
{
	return container_of(s, struct srn_qp, stream);
}

/*
 * Complete the oldest work request. Its slot is given back before its completion can
 * be seen: who polls the completion may post at once. Return: a CQE was written.
 */
static bool complete_one(struct srn_qp *qp, u8 status)
{
	struct srn_sq *sq = &qp->sq;
	const struct srn_send *send = srn_sq_slot(sq, sq->cons);
	bool wanted = status != IB_WC_SUCCESS || send->wqe.flags & SRN_WR_SIGNALED;
	struct srn_cqe cqe = {
		.wr_id = send->wqe.wr_id,
		.byte_len = status == IB_WC_SUCCESS ? send->length : 0,
		.qp_num = qp->ibqp.qp_num,
		.status = status,
		.opcode = send->wqe.opcode < SRN_WR_OPCODES ? wc_opcode[send->wqe.opcode] : 0,
	};
	bool lost;

	trace_srn_send_complete(qp, &cqe);
	WRITE_ONCE(sq->cons, sq->cons + 1);
	if (qp->map)
		/* Before the index of the completion. */
		smp_store_release(&qp->ctrl->sq_cons, sq->cons);
	lost = wanted && srn_cq_push(qp->scq, &cqe);
	if (lost)
		srn_qp_fail(qp, IB_EVENT_QP_FATAL, NULL, "send CQ overflowed");
	if (qp->map && (!wanted || lost))
		/* Nobody polls for it. Release: its slot has been read. */
		smp_store_release(&qp->ctrl->sq_silent, ++sq->silent);
	return wanted;
}

/* Complete a few that are done. Return: how many; fewer than allowed if there is no other. */
static u32 complete_done(struct srn_qp *qp, u32 most, bool *written, bool *failed)
{
	struct srn_sq *sq = &qp->sq;
	struct srn_send *send;
	u32 done = 0;

	lockdep_assert_held(&sq->lock);
	while (done < most && sq->cons != sq->sent) {
		send = srn_sq_slot(sq, sq->cons);
		if (srn_is_request(send) && !send->finished)
			break;
		*failed |= send->status != IB_WC_SUCCESS;
		*written |= complete_one(qp, send->status);
		done++;
	}
	return done;
}

/**
 * srn_sq_complete - complete what is done, in order
 * @qp: queue pair
 *
 * Whatever is done later has somebody of its own to complete it.
 *
 * Context: any, sq.lock not held, no memory access open. Notifies.
 */
void srn_sq_complete(struct srn_qp *qp)
{
	bool written = false, failed = false;
	u32 left = qp->sq.depth, most, done;
	struct srn_sq *sq = &qp->sq;
	unsigned long flags;

	do {
		most = min_t(u32, left, SRN_COMPLETE_AT_ONCE);
		spin_lock_irqsave(&sq->lock, flags);
		done = complete_done(qp, most, &written, &failed);
		spin_unlock_irqrestore(&sq->lock, flags);
		left -= done;
	} while (left && done == most);
	if (written)
		srn_cq_notify(qp->scq, failed);
}

/* Flush a few, whether the kernel has them already or not. Return: as complete_done(). */
static u32 flush_outstanding(struct srn_qp *qp, u32 most, bool *written)
{
	struct srn_sq *sq = &qp->sq;
	struct srn_send *send;
	u32 done = 0;
	u8 status;

	lockdep_assert_held(&sq->lock);
	for (; done < most; done++) {
		if (sq->cons == sq->prod && !(qp->map && srn_sq_fetch(qp, true)))
			break;
		sq->next = sq->prod;
		send = srn_sq_slot(sq, sq->cons);
		status = send->status;
		if (status == IB_WC_SUCCESS &&
		    (sq->cons == sq->sent || (srn_is_request(send) && !send->finished)))
			status = IB_WC_WR_FLUSH_ERR;
		if (sq->cons == sq->sent)
			sq->sent++;
		*written |= complete_one(qp, status);
	}
	return done;
}

/**
 * srn_sq_flush - complete everything that is outstanding, in order
 * @qp: queue pair in ERR whose stream has been stopped
 *
 * A request that was executed completely succeeds, one that carries an error gets
 * it, all others are flushed. A process that goes on posting meanwhile rings for what comes
 * after one ring's worth.
 *
 * Context: any, sq.lock not held. Notifies.
 */
void srn_sq_flush(struct srn_qp *qp)
{
	u32 left = qp->sq.depth, most, done = 0;
	struct srn_sq *sq = &qp->sq;
	bool written = false;
	unsigned long flags;

	do {
		most = min_t(u32, left, SRN_COMPLETE_AT_ONCE);
		spin_lock_irqsave(&sq->lock, flags);
		/* It may have been reset while the caller came here. */
		if (!READ_ONCE(qp->ended)) {
			spin_unlock_irqrestore(&sq->lock, flags);
			break;
		}
		/* What is posted from here on is rung for, so one look is enough. */
		if (qp->map && left == sq->depth)
			srn_doorbell_rearm(qp);
		done = flush_outstanding(qp, most, &written);
		spin_unlock_irqrestore(&sq->lock, flags);
		left -= done;
	} while (left && done == most);
	if (written)
		srn_cq_notify(qp->scq, true);
}

/* Is there a ring of a process to be looked into? Not before srn_sq_prepare() has made room. */
static bool ring_is_open(const struct srn_qp *qp)
{
	return qp->map && READ_ONCE(qp->sq.sends);
}

/**
 * srn_sq_drained - is everything that was posted complete?
 * @qp: queue pair
 *
 * But for what a process has not rung for yet and has never rung before: that is flushed.
 *
 * Context: the active transmitter.
 */
bool srn_sq_drained(struct srn_qp *qp)
{
	/* Acquire: pairs with srn_sq_post(). */
	return READ_ONCE(qp->sq.cons) == smp_load_acquire(&qp->sq.prod) &&
	       qp->irq.cons == READ_ONCE(qp->irq.prod) &&
	       (!ring_is_open(qp) || READ_ONCE(qp->ctrl->sq_prod) == qp->sq.prod);
}

/*
 * May this kernel consumer's own context transmit, which sleeps for the socket lock? A kernel
 * that does not count spinlocks cannot tell.
 */
static bool may_transmit_here(void)
{
	return preemptible() && !rcu_preempt_depth();
}

/**
 * srn_post_send - post sends of a kernel consumer, or a process's doorbell
 * @ibqp: queue pair
 * @wr: work requests; NULL for a doorbell
 * @bad_wr: first one that was not posted
 *
 * Context: any for a kernel consumer, which transmits itself where it may sleep, and where it
 * may not if it does not post much; a doorbell comes in process context and transmits there.
 */
int srn_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr)
{
	struct srn_qp *qp = to_srn_qp(ibqp);
	enum ib_qp_state state;
	bool here = !qp->kernel || may_transmit_here();
	bool idle = !qp->kernel && srn_watch_is_shared(&qp->scq->watch) &&
		    srn_cq_is_polled(qp->scq);
	bool ended, collect = false;
	unsigned long flags;
	int ret = 0;

	if (!qp->kernel && wr) {
		*bad_wr = wr;
		return -EINVAL;
	}
	if (!qp->kernel) {
		if (srn_watch_has_deferred(&qp->scq->watch))
			srn_watch_take_over(qp);
		srn_sq_prepare(qp);
	} else {
		spin_lock_irqsave(&qp->sq.lock, flags);
		state = READ_ONCE(qp->state);
		if (state != IB_QPS_RTS && state != IB_QPS_SQD && state != IB_QPS_ERR)
			ret = -EINVAL;
		for (; wr && !ret; wr = wr->next) {
			ret = srn_sq_post(qp, wr);
			if (ret)
				break;
		}
		collect = !here && !ret && state == IB_QPS_RTS && srn_collect(qp);
		spin_unlock_irqrestore(&qp->sq.lock, flags);
		if (ret)
			*bad_wr = wr;
	}
	spin_lock_irqsave(&qp->state_lock, flags);
	ended = qp->ended;
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (ended)
		srn_sq_flush(qp);
	else if (READ_ONCE(qp->state) != IB_QPS_RTS)
		;	/* not connected yet, or end_work will flush it */
	else if (collect)
		srn_tx_kick_later(&qp->stream);
	else if (here)
		srn_tx_kick(&qp->stream);
	else
		srn_tx_kick_async(&qp->stream);
	if (idle)
		srn_watch_help(qp);
	if (!qp->kernel)
		srn_count(qp->dev->counters, SRN_COUNT_DOORBELLS);
	return ret;
}

/**
 * srn_qp_tx_built - the message in hand is completely in FPDUs
 * @s: stream of the queue pair
 *
 * An inbound request leaves its queue before the last byte of the response leaves for
 * the peer, which may answer that byte with another Read Request.
 *
 * Context: the active transmitter, bottom halves disabled.
 */
void srn_qp_tx_built(struct srn_stream *s)
{
	struct srn_qp *qp = stream_qp(s);

	if (qp->tx.sq_open)
		qp->sq.next++;
	if (qp->tx.irq_open)
		/* The slot has been read before it is given back. */
		smp_store_release(&qp->irq.cons, qp->irq.cons + 1);
	qp->tx.sq_open = false;
	qp->tx.irq_open = false;
}

static void source_init(struct srn_qp *qp, struct srn_tx_msg *msg, const struct srn_sge *sge,
			u32 num, bool kernel, u32 access)
{
	msg->source = (struct srn_cursor) {
		.dev = qp->dev, .pd = qp->ibqp.pd, .qpn = qp->ibqp.qp_num, .access = access,
		.kernel = kernel, .sge = sge, .num = num,
	};
}

/* Payload that lies in kernel memory of our own. */
static void source_bytes(struct srn_qp *qp, struct srn_tx_msg *msg, const void *data, u32 len)
{
	qp->tx.sge = (struct srn_sge) {
		.addr = (uintptr_t)data, .length = len, .lkey = SRN_LOCAL_DMA_LKEY,
	};
	source_init(qp, msg, &qp->tx.sge, 1, true, 0);
	msg->length = len;
}

static void tx_atomic_response(struct srn_qp *qp, struct srn_tx_msg *msg,
			       const struct srn_inbound *r)
{
	struct srn_wire_atomic_response *w = &qp->tx.control.response;

	w->id = cpu_to_be32(r->sink_stag);
	w->original = cpu_to_be64(r->sink_to);
	msg->opcode = SRN_OP_ATOMIC_RESPONSE;
	msg->inv_stag = 0;
	msg->msn = ++qp->tx.atomic_msn;
	source_bytes(qp, msg, w, sizeof(*w));
}

static enum srn_tx_verdict tx_response(struct srn_qp *qp, struct srn_tx_msg *msg)
{
	struct srn_inbound *r = &qp->irq.slots[qp->irq.cons & (qp->irq.depth - 1)];

	qp->tx.irq_open = true;
	if (r->atomic) {
		tx_atomic_response(qp, msg, r);
		return SRN_TX_MESSAGE;
	}
	msg->opcode = SRN_OP_READ_RESPONSE;
	msg->stag = r->sink_stag;
	msg->to = r->sink_to;
	msg->length = r->src.length;
	source_init(qp, msg, &r->src, 1, false, IB_ACCESS_REMOTE_READ);
	return SRN_TX_MESSAGE;
}

static void read_request(struct srn_qp *qp, struct srn_tx_msg *msg, u32 sink, u32 size, u32 stag,
			 u64 to)
{
	qp->tx.control.read = (struct srn_wire_read_request) {
		.sink_stag = cpu_to_be32(sink),
		.size = cpu_to_be32(size),
		.src_stag = cpu_to_be32(stag),
		.src_to = cpu_to_be64(to),
	};
	msg->opcode = SRN_OP_READ_REQUEST;
	msg->inv_stag = 0;
	msg->msn = ++qp->tx.read_msn;
	source_bytes(qp, msg, &qp->tx.control.read, sizeof(qp->tx.control.read));
}

/* Its identifier is the index of its work request. */
static void atomic_request(struct srn_qp *qp, struct srn_tx_msg *msg, const struct srn_send *send)
{
	bool add = send->wqe.opcode == SRN_WR_FETCH_ADD;
	struct srn_atomic a = {
		.code = add ? SRN_ATOMIC_FETCH_ADD : SRN_ATOMIC_CMP_SWAP,
		.id = qp->sq.next,
		.stag = send->wqe.rkey,
		.to = send->wqe.remote_addr,
		.data = send->wqe.swap_add,
		/* One field of 64 bits, or all bits. */
		.mask = add ? 0 : ~0ULL,
		.compare = add ? 0 : send->wqe.compare,
		.compare_mask = ~0ULL,
	};

	srn_put_atomic(&qp->tx.control.atomic, &a);
	msg->opcode = SRN_OP_ATOMIC_REQUEST;
	msg->inv_stag = 0;
	msg->msn = ++qp->tx.read_msn;
	source_bytes(qp, msg, &qp->tx.control.atomic, sizeof(qp->tx.control.atomic));
}

/* The second half of a Write with Immediate. */
static enum srn_tx_verdict tx_immediate(struct srn_qp *qp, struct srn_tx_msg *msg)
{
	const struct srn_send *send = srn_sq_slot(&qp->sq, qp->sq.next);

	qp->tx.write_sent = false;
	qp->tx.sq_open = true;
	qp->tx.control.immediate = (struct srn_wire_immediate) {
		.data = (__force __be32)send->wqe.ex,
	};
	msg->opcode = send->wqe.flags & SRN_WR_SOLICITED ? SRN_OP_IMM_SE : SRN_OP_IMM;
	msg->inv_stag = 0;
	msg->msn = ++qp->tx.send_msn;
	source_bytes(qp, msg, &qp->tx.control.immediate, sizeof(qp->tx.control.immediate));
	return SRN_TX_MESSAGE;
}

static void tx_send(struct srn_qp *qp, struct srn_tx_msg *msg, struct srn_send *send)
{
	bool solicited = send->wqe.flags & SRN_WR_SOLICITED;

	if (send->wqe.opcode == SRN_WR_SEND_WITH_INV) {
		msg->opcode = solicited ? SRN_OP_SEND_SE_INV : SRN_OP_SEND_INV;
		msg->inv_stag = send->wqe.ex;
	} else if (send->wqe.opcode == SRN_WR_SEND_WITH_IMM) {
		msg->opcode = solicited ? SRN_OP_SEND_SE_IMM : SRN_OP_SEND_IMM;
		msg->inv_stag = be32_to_cpu((__force __be32)send->wqe.ex);
	} else {
		msg->opcode = solicited ? SRN_OP_SEND_SE : SRN_OP_SEND;
		msg->inv_stag = 0;
	}
	msg->msn = ++qp->tx.send_msn;
}

static void tx_payload(struct srn_qp *qp, struct srn_tx_msg *msg, struct srn_send *send)
{
	msg->length = send->length;
	if (send->wqe.flags & SRN_WR_INLINE)
		source_bytes(qp, msg, send->wqe.data, send->length);
	else
		source_init(qp, msg, send->wqe.sge, send->wqe.num_sge, qp->kernel, 0);
}

/* sq.next becomes an outstanding Read or atomic. */
static void request_begins(struct srn_sq *sq)
{
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	if (sq->answered == sq->requested)
		WRITE_ONCE(sq->oldest, sq->next);
	/* The index before the receiver looks for it. */
	smp_store_release(&sq->requested, sq->requested + 1);
	spin_unlock_irqrestore(&sq->lock, flags);
}

/* Requests that need no bytes. Return: enum ib_wc_status. */
static int tx_local(struct srn_qp *qp, struct srn_send *send)
{
	int ret;

	if (send->wqe.opcode == SRN_WR_REG_MR)
		ret = srn_fastreg_register(qp->ibqp.pd, send->mr, send->wqe.rkey, send->wqe.ex);
	else if (send->wqe.opcode == SRN_WR_BIND_MW)
		ret = srn_window_bind(&qp->ibqp, &send->wqe);
	else
		ret = srn_invalidate(&qp->ibqp, send->wqe.ex, false);
	return ret ? IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
}

/* May something that waits in a batch lie in the memory that a local request is about? */
static bool touches_batch(struct srn_qp *qp, const struct srn_send *send)
{
	const struct srn_mem *mem = NULL;

	if (send->wqe.opcode == SRN_WR_REG_MR)
		mem = to_srn_mr(send->mr)->mem;
	else if (send->wqe.opcode == SRN_WR_LOCAL_INV)
		mem = srn_mem_find(qp->dev, send->wqe.ex);
	return !mem || mem->type != SRN_MEM_FAST_REG || srn_tx_refers(&qp->stream, mem);
}

/* The Read that made the peer ready counts as well. RFC 6581 section 9.1. */
static u32 outstanding(const struct srn_qp *qp)
{
	return qp->sq.requested - READ_ONCE(qp->sq.answered) +
	       READ_ONCE(qp->rx.sequence.rtr_read);
}

/* Are more than @limit Reads and atomics outstanding? Then receive will kick when one is done. */
static bool wait_for_reads(struct srn_qp *qp, u32 limit)
{
	if (outstanding(qp) <= limit)
		return false;
	WRITE_ONCE(qp->tx.awaits_read, true);
	/* Pairs with the barrier in kick_if_awaited(). */
	smp_mb();
	return outstanding(qp) > limit;
}

static void kick_if_awaited(struct srn_qp *qp)
{
	/* Pairs with the barrier in wait_for_reads(). */
	smp_mb();
	if (READ_ONCE(qp->tx.awaits_read)) {
		WRITE_ONCE(qp->tx.awaits_read, false);
		srn_tx_kick_async(&qp->stream);
	}
}

/**
 * srn_sq_rtr_done - the Read that made the peer ready has been answered
 * @qp: queue pair
 *
 * Context: the receiver.
 */
void srn_sq_rtr_done(struct srn_qp *qp)
{
	kick_if_awaited(qp);
}

/**
 * srn_sq_request_done - the oldest outstanding Read or atomic is finished
 * @qp: queue pair
 *
 * The caller calls srn_sq_complete() in due course.
 *
 * Context: the receiver.
 */
void srn_sq_request_done(struct srn_qp *qp)
{
	struct srn_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	srn_sq_slot(sq, sq->oldest)->finished = true;
	WRITE_ONCE(sq->answered, sq->answered + 1);
	if (sq->answered != sq->requested)
		do
			WRITE_ONCE(sq->oldest, sq->oldest + 1);
		while (!srn_is_request(srn_sq_slot(sq, sq->oldest)));
	spin_unlock_irqrestore(&sq->lock, flags);
	kick_if_awaited(qp);
}

/**
 * srn_sq_oldest_request - the Read or atomic that the next response belongs to
 * @qp: queue pair
 * @index: its index in the send queue
 *
 * Context: the receiver; the request stays outstanding until srn_sq_request_done().
 *
 * Return: request, or NULL if none is outstanding.
 */
struct srn_send *srn_sq_oldest_request(struct srn_qp *qp, u32 *index)
{
	struct srn_sq *sq = &qp->sq;

	/* The transmitter sets the oldest one only where there is none. */
	if (sq->answered == smp_load_acquire(&sq->requested))
		return NULL;
	*index = READ_ONCE(sq->oldest);
	return srn_sq_slot(sq, *index);
}

static enum srn_tx_verdict tx_work_request(struct srn_qp *qp, struct srn_tx_msg *msg,
					   struct srn_send *send, bool flushed)
{
	struct srn_sq *sq = &qp->sq;
	int status;

	if (srn_is_request(send)) {
		if (wait_for_reads(qp, sq->ord - 1))
			return SRN_TX_WAIT;
		request_begins(sq);
	}
	switch (send->wqe.opcode) {
	case SRN_WR_READ:
	case SRN_WR_READ_WITH_INV:
		read_request(qp, msg, srn_sink_stag(sq->next), send->length, send->wqe.rkey,
			     send->wqe.remote_addr);
		break;
	case SRN_WR_FETCH_ADD:
	case SRN_WR_CMP_SWAP:
		atomic_request(qp, msg, send);
		break;
	case SRN_WR_WRITE:
	case SRN_WR_WRITE_WITH_IMM:
		msg->opcode = SRN_OP_WRITE;
		msg->stag = send->wqe.rkey;
		msg->to = send->wqe.remote_addr;
		tx_payload(qp, msg, send);
		break;
	case SRN_WR_SEND:
	case SRN_WR_SEND_WITH_INV:
	case SRN_WR_SEND_WITH_IMM:
		tx_send(qp, msg, send);
		tx_payload(qp, msg, send);
		break;
	default:
		if (!flushed && touches_batch(qp, send))
			return SRN_TX_FLUSH;
		status = tx_local(qp, send);
		/* What is in front of one that fails goes out and completes first. */
		if (status != IB_WC_SUCCESS && !flushed)
			return SRN_TX_FLUSH;
		send->status = status;
		if (status != IB_WC_SUCCESS) {
			srn_qp_fail(qp, IB_EVENT_QP_ACCESS_ERR, &srn_term_local,
				    "local operation failed");
			return SRN_TX_WAIT;
		}
		trace_srn_send_begin(qp, send);
		sq->next++;
		return SRN_TX_AGAIN;
	}
	qp->tx.write_sent = send->wqe.opcode == SRN_WR_WRITE_WITH_IMM;
	qp->tx.sq_open = !qp->tx.write_sent;
	trace_srn_send_begin(qp, send);
	return SRN_TX_MESSAGE;
}

static enum srn_tx_verdict tx_send_queue(struct srn_qp *qp, struct srn_tx_msg *msg, bool flushed)
{
	struct srn_sq *sq = &qp->sq;
	struct srn_send *send;
	int status;

	if (qp->tx.write_sent)
		return tx_immediate(qp, msg);
	/* Acquire: pairs with srn_sq_post(). */
	if (sq->next == smp_load_acquire(&sq->prod) && !(qp->map && srn_sq_fetch(qp, false)))
		return SRN_TX_NONE;
	send = srn_sq_slot(sq, sq->next);
	if (send->wqe.flags & SRN_WR_FENCE && wait_for_reads(qp, 0))
		return SRN_TX_WAIT;
	status = srn_send_check(qp, send);
	if (status != IB_WC_SUCCESS) {
		/* What is in front of it goes out and completes first. */
		if (!flushed)
			return SRN_TX_FLUSH;
		send->status = status;
		srn_qp_fail(qp, IB_EVENT_QP_FATAL, &srn_term_local, "bad send work request");
		return SRN_TX_WAIT;
	}
	return tx_work_request(qp, msg, send, flushed);
}

/* What an initiator sends first so that the responder may send at all. */
static enum srn_tx_verdict tx_rtr(struct srn_qp *qp, struct srn_tx_msg *msg)
{
	enum srn_rtr rtr = qp->tx.rtr;

	qp->tx.rtr = SRN_RTR_NONE;
	if (rtr == SRN_RTR_READ) {
		read_request(qp, msg, 0, 0, 0, 0);
		return SRN_TX_MESSAGE;
	}
	if (rtr == SRN_RTR_SEND) {
		msg->opcode = SRN_OP_SEND;
		msg->inv_stag = 0;
		msg->msn = ++qp->tx.send_msn;
		source_bytes(qp, msg, NULL, 0);
		return SRN_TX_MESSAGE;
	}
	msg->opcode = SRN_OP_WRITE;
	msg->stag = 0;
	msg->to = 0;
	source_bytes(qp, msg, NULL, 0);
	return SRN_TX_MESSAGE;
}

/**
 * srn_qp_tx_next - what to transmit next
 * @s: stream of the queue pair
 * @msg: the message
 * @flushed: nothing waits in a batch
 *
 * Inbound Reads and atomics and the send queue take turns, so that neither starves the other.
 *
 * Context: the active transmitter, bottom halves disabled.
 */
enum srn_tx_verdict srn_qp_tx_next(struct srn_stream *s, struct srn_tx_msg *msg, bool flushed)
{
	struct srn_qp *qp = stream_qp(s);
	enum srn_tx_verdict verdict = SRN_TX_NONE;
	bool answer;

	if (unlikely(qp->tx.rtr))
		return tx_rtr(qp, msg);
	/* Acquire: the slot up to there is written. */
	answer = qp->irq.cons != smp_load_acquire(&qp->irq.prod);
	qp->tx.irq_turn = !qp->tx.irq_turn;
	if (answer && qp->tx.irq_turn)
		return tx_response(qp, msg);
	verdict = tx_send_queue(qp, msg, flushed);
	/* Then it comes first again, however many answers there are. */
	if (verdict == SRN_TX_FLUSH)
		qp->tx.irq_turn = !qp->tx.irq_turn;
	if (answer && (verdict == SRN_TX_NONE || verdict == SRN_TX_WAIT))
		return tx_response(qp, msg);
	return verdict;
}

/**
 * srn_qp_tx_pushed - everything handed out so far is in the socket
 * @s: stream of the queue pair
 *
 * Context: the active transmitter.
 */
void srn_qp_tx_pushed(struct srn_stream *s)
{
	struct srn_qp *qp = stream_qp(s);
	struct srn_sq *sq = &qp->sq;
	unsigned long flags;

	if (sq->sent == sq->next)
		return;
	spin_lock_irqsave(&sq->lock, flags);
	sq->sent = sq->next;
	spin_unlock_irqrestore(&sq->lock, flags);
	srn_sq_complete(qp);
}

/**
 * srn_qp_tx_idle - the transmitter is about to stop
 * @s: stream of the queue pair
 * @may_sleep: it may
 *
 * Context: the active transmitter.
 *
 * Return: SRN_TX_AGAIN if a process has posted meanwhile, SRN_TX_SLEEP if the last thing to
 * do is to shut down the socket and nobody may sleep here, else SRN_TX_NONE.
 */
enum srn_tx_verdict srn_qp_tx_idle(struct srn_stream *s, bool may_sleep)
{
	struct srn_qp *qp = stream_qp(s);

	if (READ_ONCE(qp->state) == IB_QPS_SQD && srn_sq_drained(qp)) {
		if (!may_sleep)
			return SRN_TX_SLEEP;
		srn_stream_shutdown(s);
		/* What is posted from here on is too late. */
		return SRN_TX_NONE;
	}
	/* Who has never rung will: nobody has told him that he need not. */
	return ring_is_open(qp) && srn_doorbell_idle(qp) ? SRN_TX_AGAIN : SRN_TX_NONE;
}

/**
 * srn_qp_tx_deferred - a worker is about to be asked to go on
 * @s: stream of the queue pair
 *
 * Context: the active transmitter.
 */
void srn_qp_tx_deferred(struct srn_stream *s)
{
	struct srn_qp *qp = stream_qp(s);

	if (!qp->kernel)
		srn_watch_defer(qp);
}
