// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completions of the send queue, in order.
 */
#include "completion.h"
#include "cq.h"
#include "doorbell.h"
#include "fetch.h"
#include "placed.h"
#include "qp_trace.h"
#include "state.h"

/*
 * Complete the oldest work request. Its slot is given back before its completion can be seen, as
 * whoever polls the completion may post at once. Return: true if a CQE is wanted, even if it was
 * lost because the CQ overflowed.
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
		.opcode = srn_wr_info(send)->completes_as,
	};
	bool lost;

	trace_srn_send_complete(qp, &cqe);
	sq->messages += srn_send_messages(send);
	/* Release: the slot has been read. A process that posts at this moment may overwrite it. */
	smp_store_release(&sq->cons, sq->cons + 1);
	if (qp->map)
		/* The slot is given back before the index of the completion is stored. */
		smp_store_release(&qp->ctrl->sq_cons, sq->cons);
	lost = wanted && srn_cq_push(qp->scq, &cqe);
	if (lost)
		srn_state_fail(qp, IB_EVENT_QP_FATAL, NULL, "send CQ overflowed");
	if (qp->map && (!wanted || lost))
		/* Nobody polls for this one. Release: its slot has been read. */
		smp_store_release(&qp->ctrl->sq_silent, ++sq->silent);
	return wanted;
}

/*
 * Has the peer refused this work request, or one before it? It then waits for the end, when it is
 * known which one.
 */
static bool may_be_refused(const struct srn_sq *sq)
{
	return sq->refused_as && (s32)(sq->cons - sq->placed) >= 0;
}

/*
 * Complete at most @most that are done. What is behind an error waits for the end, which flushes
 * it. Return: how many; fewer if no more are done.
 */
static u32 complete_done(struct srn_qp *qp, u32 most, bool *written, bool *failed)
{
	struct srn_sq *sq = &qp->sq;
	struct srn_send *send;
	u32 done = 0;

	lockdep_assert_held(&sq->lock);
	while (done < most && sq->cons != sq->sent && !unlikely(sq->failed || may_be_refused(sq))) {
		send = srn_sq_slot(sq, sq->cons);
		if ((srn_is_request(send) && !send->finished) || !srn_placed_may_complete(sq, send))
			break;
		if (unlikely(send->status != IB_WC_SUCCESS))
			sq->failed = *failed = true;
		*written |= complete_one(qp, send->status);
		done++;
	}
	/* It must not fall behind so far that it seems to be ahead. */
	if ((s32)(sq->cons - sq->placed) > 0)
		sq->placed = sq->cons;
	return done;
}

/**
 * srn_completion_run - complete what is done, in order
 * @qp: queue pair
 * @left: work requests to complete at most
 *
 * Whoever finishes a work request later calls this again.
 *
 * Context: any, sq.lock not held, no memory access open. Notifies.
 *
 * Return: true if more may be done.
 */
bool srn_completion_run(struct srn_qp *qp, u32 left)
{
	bool written = false, failed = false;
	struct srn_sq *sq = &qp->sq;
	unsigned long flags;
	u32 most, done;

	do {
		most = min_t(u32, left, SRN_COMPLETE_AT_ONCE);
		spin_lock_irqsave(&sq->lock, flags);
		done = complete_done(qp, most, &written, &failed);
		spin_unlock_irqrestore(&sq->lock, flags);
		left -= done;
	} while (left && done == most);
	if (written)
		srn_cq_notify(qp->scq, failed);
	return !left;
}

/* The first request that is flushed may have to say why the connection ended. */
static u8 flush_status(struct srn_sq *sq)
{
	u8 status = sq->flush_first_as ?: IB_WC_WR_FLUSH_ERR;

	sq->flush_first_as = 0;
	return status;
}

/*
 * Was the work request at sq->cons executed completely? What the peer has placed was sent, also if
 * it was in a batch of which a part is still here.
 */
static bool was_executed(const struct srn_sq *sq, const struct srn_send *send)
{
	/* The peer does not execute what is behind a request that it has refused. */
	if (sq->failed)
		return false;
	if (srn_is_request(send))
		return send->finished;
	if (sq->cons == sq->sent)
		return sq->await_placement && (s32)(sq->placed - sq->cons) > 0;
	return srn_placed_may_complete(sq, send);
}

/* Flush at most @most, whether fetched already or not. Return: how many; fewer if none is left. */
static u32 flush_outstanding(struct srn_qp *qp, u32 most, bool *written)
{
	struct srn_sq *sq = &qp->sq;
	struct srn_send *send;
	u32 done = 0;
	u8 status;

	lockdep_assert_held(&sq->lock);
	for (; done < most; done++) {
		if (sq->cons == sq->prod && !(qp->map && srn_fetch_next(qp, true)))
			break;
		sq->next = sq->prod;
		send = srn_sq_slot(sq, sq->cons);
		status = send->status;
		if (status == IB_WC_SUCCESS && !was_executed(sq, send))
			status = flush_status(sq);
		sq->failed |= status != IB_WC_SUCCESS;
		if (sq->cons == sq->sent)
			sq->sent++;
		*written |= complete_one(qp, status);
	}
	return done;
}

/**
 * srn_completion_flush - complete everything that is outstanding, in order
 * @qp: queue pair in ERR whose stream has been stopped
 *
 * Before the first error a request that was executed completely succeeds. One that carries an error
 * completes with it, and all others are flushed. If a process goes on posting meanwhile, it rings,
 * and that flushes what exceeds one ring's worth.
 *
 * Context: any, sq.lock not held. Notifies.
 */
void srn_completion_flush(struct srn_qp *qp)
{
	u32 left = qp->sq.depth, most, done = 0;
	struct srn_sq *sq = &qp->sq;
	bool written = false;
	unsigned long flags;

	do {
		most = min_t(u32, left, SRN_COMPLETE_AT_ONCE);
		spin_lock_irqsave(&sq->lock, flags);
		/* The queue pair may have been reset while the caller came here. */
		if (!READ_ONCE(qp->ended)) {
			spin_unlock_irqrestore(&sq->lock, flags);
			break;
		}
		/* The process rings for what it posts from here on, so rearming once is enough. */
		if (qp->map && left == sq->depth)
			srn_doorbell_rearm(qp);
		done = flush_outstanding(qp, most, &written);
		spin_unlock_irqrestore(&sq->lock, flags);
		left -= done;
	} while (left && done == most);
	if (written)
		srn_cq_notify(qp->scq, true);
}

/**
 * srn_completion_flush_first_as - give the first work request that will be flushed a status
 * @qp: queue pair; nothing happens if its connection has ended, and with it that request
 * @status: instead of IB_WC_WR_FLUSH_ERR
 *
 * Context: any.
 */
void srn_completion_flush_first_as(struct srn_qp *qp, enum ib_wc_status status)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->sq.lock, flags);
	/* The end is noted before srn_completion_flush() takes this lock. */
	if (!READ_ONCE(qp->ended))
		qp->sq.flush_first_as = status;
	spin_unlock_irqrestore(&qp->sq.lock, flags);
}
