// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receives of a queue pair: taken for messages, completed, flushed, posted.
 */
#include "cq.h"
#include "qp_trace.h"
#include "receive.h"
#include "rnr.h"
#include "state.h"

/**
 * srn_receive_complete - complete the receive in hand
 * @qp: queue pair that has taken one
 * @opcode: enum ib_wc_opcode
 * @status: enum ib_wc_status
 * @length: bytes of the message
 * @flags: SRN_CQE_*
 * @ex: invalidated STag or immediate data
 *
 * Context: the receiver; srn_receive_notify() follows.
 */
void srn_receive_complete(struct srn_qp *qp, u8 opcode, u8 status, u32 length, u16 flags, u32 ex)
{
	struct srn_cqe cqe = {
		.wr_id = qp->recv->wr_id,
		.byte_len = length,
		.qp_num = qp->ibqp.qp_num,
		.ex = ex,
		.status = status,
		.opcode = opcode,
		.flags = flags,
	};

	trace_srn_recv_complete(qp, &cqe);
	qp->rx.wr_taken = false;
	qp->rx.notify_recv = true;
	if (status != IB_WC_SUCCESS || flags & SRN_CQE_SOLICITED)
		qp->rx.solicited_recv = true;
	if (srn_cq_push(qp->rcq, &cqe))
		srn_state_fail(qp, IB_EVENT_QP_FATAL, NULL, "receive CQ overflowed");
}

/**
 * srn_receive_fail - complete the receive in hand with an error
 * @qp: queue pair that has taken one
 * @status: enum ib_wc_status
 *
 * Context: the receiver; srn_receive_notify() follows.
 */
void srn_receive_fail(struct srn_qp *qp, u8 status)
{
	srn_receive_complete(qp, IB_WC_RECV, status, 0, 0, 0);
}

/**
 * srn_receive_posted - is there a receive now?
 * @qp: queue pair; others may take the receives of an SRQ
 *
 * Context: any.
 *
 * Return: true if there is one.
 */
bool srn_receive_posted(const struct srn_qp *qp)
{
	return !srn_rq_empty(qp->srq ? &qp->srq->rq : &qp->rq);
}

/**
 * srn_receive_take - take a receive for a message that begins
 * @qp: queue pair without one in hand
 * @term: reason, on failure
 *
 * Context: the receiver.
 *
 * Return: 0; -EPROTO; -ENOENT if there is none, and the message may wait for one.
 */
int srn_receive_take(struct srn_qp *qp, struct srn_term_code *term)
{
	struct srn_qp_rx *rx = &qp->rx;
	int ret;

	ret = qp->srq ? srn_srq_take(qp->srq, qp->recv) : srn_rq_take(&qp->rq, qp->recv);
	if (ret == -ENOENT && rx->may_wait)
		return ret;
	if (ret == -ENOENT) {
		srn_count(qp->dev->counters, SRN_COUNT_NO_RECEIVE);
		*term = SRN_TERM(SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_NO_BUFFER);
		return -EPROTO;
	}
	if (ret) {
		srn_qp_notice(qp, "receive ring %s\n",
			      ret == -EINVAL ? "holds a bad work request" : "overrun");
		if (ret == -EINVAL)
			srn_receive_fail(qp, IB_WC_LOC_QP_OP_ERR);
		*term = srn_state_local_error;
		return -EPROTO;
	}
	rx->wr_taken = true;
	srn_cursor_release(&rx->recv);
	rx->recv = srn_qp_cursor(qp, qp->recv->sge, qp->recv->num_sge, qp->kernel,
				 IB_ACCESS_LOCAL_WRITE);
	if (qp->srq)
		rx->recv.pd = qp->srq->ibsrq.pd;
	return 0;
}

/**
 * srn_receive_notify - tell the consumer of receives that were completed
 * @qp: queue pair
 *
 * Context: the receiver, no memory access open.
 */
void srn_receive_notify(struct srn_qp *qp)
{
	struct srn_qp_rx *rx = &qp->rx;
	bool solicited = rx->solicited_recv;

	if (!rx->notify_recv)
		return;
	rx->notify_recv = false;
	rx->solicited_recv = false;
	srn_cq_notify(qp->rcq, solicited);
}

/**
 * srn_receive_flush_taken - complete the receive that a message was being placed in
 * @qp: queue pair whose stream has been stopped
 *
 * Context: any.
 */
void srn_receive_flush_taken(struct srn_qp *qp)
{
	if (!qp->rx.wr_taken)
		return;
	srn_receive_fail(qp, IB_WC_WR_FLUSH_ERR);
	srn_receive_notify(qp);
}

/* Flush at most @most receives. Return: how many; fewer if no more can be flushed. */
static u32 flush_receives(struct srn_qp *qp, u32 most)
{
	struct srn_cqe cqe = {
		.qp_num = qp->ibqp.qp_num, .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV,
	};
	u32 done;
	int ret;

	lockdep_assert_held(&qp->sq.lock);
	/* The queue pair may have been reset while the caller came here. */
	if (!READ_ONCE(qp->ended))
		return 0;
	for (done = 0; done < most && !READ_ONCE(qp->rcq->overflow); done++) {
		/* No message is being placed any more, so qp->recv is free. */
		ret = srn_rq_take(&qp->rq, qp->recv);
		if (ret && ret != -EINVAL)
			break;
		cqe.wr_id = qp->recv->wr_id;
		trace_srn_recv_complete(qp, &cqe);
		srn_cq_push(qp->rcq, &cqe);
	}
	return done;
}

/**
 * srn_receive_flush - complete all receives of a queue pair as flushed
 * @qp: queue pair in ERR whose stream has been stopped
 *
 * Receives of an SRQ belong to the SRQ and stay. If a process goes on posting meanwhile, it rings,
 * and that flushes what exceeds one ring's worth.
 *
 * Context: any, sq.lock not held: this takes it to keep the completions in order. Notifies.
 */
void srn_receive_flush(struct srn_qp *qp)
{
	u32 left = qp->rq.depth, most, done;
	unsigned long flags;

	do {
		most = min_t(u32, left, SRN_COMPLETE_AT_ONCE);
		spin_lock_irqsave(&qp->sq.lock, flags);
		done = flush_receives(qp, most);
		spin_unlock_irqrestore(&qp->sq.lock, flags);
		left -= done;
	} while (left && done == most);
	if (left != qp->rq.depth)
		srn_cq_notify(qp->rcq, true);
}

/**
 * srn_receive_post - post receives of a kernel consumer, or execute a process's doorbell
 * @ibqp: queue pair
 * @wr: work requests; NULL for a doorbell
 * @bad_wr: first one that was not posted
 *
 * A process rings only when the QP is in ERR, to have its receives flushed, and while messages wait
 * for a receive.
 *
 * Context: any.
 *
 * Return: 0; -ENOMEM if the queue is full; -EINVAL for a bad work request, or one of a process.
 */
int srn_receive_post(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad_wr)
{
	struct srn_qp *qp = to_srn_qp(ibqp);
	int ret = 0;

	if ((!qp->kernel && wr) || qp->srq) {
		*bad_wr = wr;
		return -EINVAL;
	}
	for (; wr; wr = wr->next) {
		ret = qp->rq.depth ? srn_rq_post(&qp->rq, wr) : -EINVAL;
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	srn_rnr_posted(qp);
	if (srn_state_has_ended(qp))
		srn_receive_flush(qp);
	return ret;
}
