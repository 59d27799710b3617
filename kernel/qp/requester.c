// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What is transmitted next: operations of the stream.
 */
#include "../memory/fastreg.h"
#include "../memory/invalidate.h"
#include "../memory/mr.h"
#include "../memory/window.h"
#include "../stream/tx.h"
#include "completion.h"
#include "doorbell.h"
#include "fetch.h"
#include "message.h"
#include "piggyback.h"
#include "placed.h"
#include "qp_trace.h"
#include "recognition.h"
#include "requester.h"
#include "requests.h"
#include "responder.h"
#include "state.h"
#include "watch.h"

/* May the ring of a process be read? Only once srn_fetch_prepare() has made room. */
static bool ring_is_open(const struct srn_qp *qp)
{
	return qp->map && READ_ONCE(qp->sq.sends);
}

/*
 * Is everything that was posted complete? If a process has never rung, its ring is not open: what
 * it has posted does not count, and is flushed later.
 */
static bool drained(struct srn_qp *qp)
{
	/* Acquire: pairs with srn_fetch_post(). */
	return READ_ONCE(qp->sq.cons) == smp_load_acquire(&qp->sq.prod) &&
	       qp->inbound.cons == READ_ONCE(qp->inbound.prod) && !srn_placed_is_asked(qp) &&
	       (!ring_is_open(qp) || READ_ONCE(qp->ctrl->sq_prod) == qp->sq.prod);
}

/**
 * srn_requester_built - the message in hand is completely in FPDUs
 * @s: stream of the queue pair
 *
 * Context: the active transmitter, bottom halves disabled.
 */
void srn_requester_built(struct srn_stream *s)
{
	struct srn_qp *qp = srn_qp_of_stream(s);

	if (qp->tx.sq_open)
		/* Release: the receiver may look at what is before that. */
		smp_store_release(&qp->sq.next, qp->sq.next + 1);
	qp->tx.sq_open = false;
	if (qp->tx.response_open)
		srn_responder_sent(qp);
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
	srn_message_bytes(qp, msg, &qp->tx.control.read, sizeof(qp->tx.control.read));
}

/* The request's identifier is the index of its work request in the send queue. */
static void atomic_request(struct srn_qp *qp, struct srn_tx_msg *msg, const struct srn_send *send)
{
	bool add = send->wqe.opcode == SRN_WR_FETCH_ADD;
	struct srn_atomic a = {
		.code = add ? SRN_ATOMIC_FETCH_ADD : SRN_ATOMIC_CMP_SWAP,
		.id = qp->sq.next,
		.stag = send->wqe.rkey,
		.to = send->wqe.remote_addr,
		.data = send->wqe.swap_add,
		/* A Fetch and Add adds one field of 64 bits; a Compare and Swap swaps all bits. */
		.mask = add ? 0 : ~0ULL,
		.compare = add ? 0 : send->wqe.compare,
		.compare_mask = ~0ULL,
	};

	srn_atomic_put(&qp->tx.control.atomic, &a);
	msg->opcode = srn_wr_info(send)->opcode;
	msg->inv_stag = 0;
	msg->msn = ++qp->tx.read_msn;
	srn_message_bytes(qp, msg, &qp->tx.control.atomic, sizeof(qp->tx.control.atomic));
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
	srn_message_bytes(qp, msg, &qp->tx.control.immediate, sizeof(qp->tx.control.immediate));
	return SRN_TX_MESSAGE;
}

static void tx_send(struct srn_qp *qp, struct srn_tx_msg *msg, const struct srn_send *send)
{
	const struct srn_wr_info *info = srn_wr_info(send);

	msg->opcode = send->wqe.flags & SRN_WR_SOLICITED ? info->solicited : info->opcode;
	msg->inv_stag = 0;
	if (info->ex == SRN_WR_EX_INVALIDATE)
		msg->inv_stag = send->wqe.ex;
	else if (info->ex == SRN_WR_EX_IMMEDIATE)
		msg->inv_stag = be32_to_cpu((__force __be32)send->wqe.ex);
	msg->msn = ++qp->tx.send_msn;
}

static void tx_payload(struct srn_qp *qp, struct srn_tx_msg *msg, struct srn_send *send)
{
	msg->length = send->length;
	if (send->wqe.flags & SRN_WR_INLINE)
		srn_message_bytes(qp, msg, send->wqe.data, send->length);
	else
		msg->source = srn_qp_cursor(qp, send->wqe.sge, send->wqe.num_sge, qp->kernel, 0);
}

/* Execute a request that needs no bytes on the wire. Return: enum ib_wc_status. */
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

/* Could the batch hold anything from the memory that a local request is about to change? */
static bool touches_batch(struct srn_qp *qp, const struct srn_send *send)
{
	const struct srn_mem *mem = NULL;

	if (send->wqe.opcode == SRN_WR_REG_MR)
		mem = to_srn_mr(send->mr)->mem;
	else if (send->wqe.opcode == SRN_WR_LOCAL_INV)
		mem = srn_mem_find(qp->dev, send->wqe.ex);
	return !mem || mem->type != SRN_MEM_FAST_REG || srn_tx_refers(&qp->stream, mem);
}

static enum srn_tx_verdict tx_local_request(struct srn_qp *qp, struct srn_send *send, bool flushed)
{
	int status;

	if (!flushed && touches_batch(qp, send))
		return SRN_TX_FLUSH;
	status = tx_local(qp, send);
	/* What was posted before a request that fails is sent and completed first. */
	if (status != IB_WC_SUCCESS && !flushed)
		return SRN_TX_FLUSH;
	send->status = status;
	if (status != IB_WC_SUCCESS) {
		srn_state_fail(qp, IB_EVENT_QP_ACCESS_ERR, &srn_state_local_error,
			       "local operation failed");
		return SRN_TX_WAIT;
	}
	trace_srn_send_begin(qp, send);
	/* Release: as in srn_requester_built(). */
	smp_store_release(&qp->sq.next, qp->sq.next + 1);
	return SRN_TX_AGAIN;
}

static enum srn_tx_verdict tx_work_request(struct srn_qp *qp, struct srn_tx_msg *msg,
					   struct srn_send *send, bool flushed)
{
	struct srn_sq *sq = &qp->sq;

	if (srn_is_request(send)) {
		if (srn_requests_wait(qp, sq->ord - 1))
			return SRN_TX_WAIT;
		srn_requests_begin(sq);
	}
	switch (srn_wr_info(send)->kind) {
	case SRN_WR_KIND_READ:
		read_request(qp, msg, srn_sink_stag(sq->next), send->length, send->wqe.rkey,
			     send->wqe.remote_addr);
		break;
	case SRN_WR_KIND_ATOMIC:
		atomic_request(qp, msg, send);
		break;
	case SRN_WR_KIND_WRITE:
		msg->opcode = srn_wr_info(send)->opcode;
		msg->stag = send->wqe.rkey;
		msg->to = send->wqe.remote_addr;
		tx_payload(qp, msg, send);
		break;
	case SRN_WR_KIND_SEND:
		tx_send(qp, msg, send);
		tx_payload(qp, msg, send);
		break;
	default:
		return tx_local_request(qp, send, flushed);
	}
	if (send->wqe.flags & SRN_WR_SIGNALED && !srn_is_request(send))
		qp->tx.unasked = true;
	if (unlikely(qp->tx.answered_alone))
		srn_piggyback_followed(qp);
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
	/* Acquire: pairs with srn_fetch_post(). */
	if (sq->next == smp_load_acquire(&sq->prod) && !(qp->map && srn_fetch_next(qp, false)))
		return SRN_TX_NONE;
	send = srn_sq_slot(sq, sq->next);
	if (send->wqe.flags & SRN_WR_FENCE && srn_requests_wait(qp, 0))
		return SRN_TX_WAIT;
	status = srn_fetch_check(qp, send);
	if (status != IB_WC_SUCCESS) {
		/* What was posted before the bad request is sent and completed first. */
		if (!flushed)
			return SRN_TX_FLUSH;
		send->status = status;
		srn_state_fail(qp, IB_EVENT_QP_FATAL, &srn_state_local_error,
			       "bad send work request");
		return SRN_TX_WAIT;
	}
	return tx_work_request(qp, msg, send, flushed);
}

/* The initiator has to send this first: until it arrives, the responder may not send. */
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
		srn_message_bytes(qp, msg, NULL, 0);
		return SRN_TX_MESSAGE;
	}
	srn_message_empty_write(qp, msg);
	msg->stag = 0;
	msg->to = 0;
	return SRN_TX_MESSAGE;
}

/**
 * srn_requester_next - what to transmit next
 * @s: stream of the queue pair
 * @msg: the message
 * @flushed: nothing waits in a batch
 *
 * Responses to the peer's Reads and atomics take turns with the send queue, so that neither starves
 * the other. Answers to the peer's questions take turns with both.
 *
 * Context: the active transmitter, bottom halves disabled.
 */
enum srn_tx_verdict srn_requester_next(struct srn_stream *s, struct srn_tx_msg *msg, bool flushed)
{
	struct srn_qp *qp = srn_qp_of_stream(s);
	enum srn_tx_verdict verdict = SRN_TX_NONE;
	bool answer;

	if (unlikely(qp->tx.rtr))
		return tx_rtr(qp, msg);
	/* Not between a Write and its Immediate Data, which belong together. */
	if (unlikely(READ_ONCE(qp->tx.greeting)) && !qp->tx.write_sent)
		return srn_recognition_next(qp, msg);
	if (srn_placed_concerns(qp) && !qp->tx.write_sent && srn_placed_next(qp, msg, false))
		return SRN_TX_MESSAGE;
	answer = srn_responder_waits(qp);
	qp->tx.responses_turn = !qp->tx.responses_turn;
	if (answer && qp->tx.responses_turn)
		return srn_responder_next(qp, msg);
	verdict = tx_send_queue(qp, msg, flushed);
	/* The send queue keeps its turn for after the flush, however many answers wait. */
	if (verdict == SRN_TX_FLUSH)
		qp->tx.responses_turn = !qp->tx.responses_turn;
	if (verdict != SRN_TX_NONE && verdict != SRN_TX_WAIT)
		return verdict;
	if (answer)
		return srn_responder_next(qp, msg);
	if (unlikely(qp->tx.final_report_due)) {
		srn_placed_close_next(qp, msg);
		return SRN_TX_MESSAGE;
	}
	return srn_placed_concerns(qp) && srn_placed_next(qp, msg, true) ? SRN_TX_MESSAGE : verdict;
}

/**
 * srn_requester_pushed - everything handed out so far is in the socket
 * @s: stream of the queue pair
 *
 * Context: the active transmitter.
 */
void srn_requester_pushed(struct srn_stream *s)
{
	struct srn_qp *qp = srn_qp_of_stream(s);
	struct srn_sq *sq = &qp->sq;
	unsigned long flags;

	if (sq->sent == sq->next)
		return;
	spin_lock_irqsave(&sq->lock, flags);
	sq->sent = sq->next;
	spin_unlock_irqrestore(&sq->lock, flags);
	srn_completion_run(qp);
}

/**
 * srn_requester_idle - the transmitter is about to stop
 * @s: stream of the queue pair
 * @may_sleep: the caller may sleep
 *
 * Context: the active transmitter.
 *
 * Return: SRN_TX_AGAIN if there is more to transmit, SRN_TX_SLEEP if only the
 * socket is left to be shut down but the caller may not sleep, else SRN_TX_NONE.
 */
enum srn_tx_verdict srn_requester_idle(struct srn_stream *s, bool may_sleep)
{
	struct srn_qp *qp = srn_qp_of_stream(s);

	if (READ_ONCE(qp->state) == IB_QPS_SQD && drained(qp)) {
		if (srn_placed_close(qp))
			return SRN_TX_AGAIN;
		if (!may_sleep)
			return SRN_TX_SLEEP;
		srn_stream_shutdown(s);
		/* What is posted from here on is too late. */
		return SRN_TX_NONE;
	}
	/* A process that has never rung has not been told that it need not: it will ring. */
	return ring_is_open(qp) && srn_doorbell_idle(qp) ? SRN_TX_AGAIN : SRN_TX_NONE;
}

/**
 * srn_requester_deferred - a worker is about to be asked to continue the transmission
 * @s: stream of the queue pair
 *
 * Context: the active transmitter.
 */
void srn_requester_deferred(struct srn_stream *s)
{
	struct srn_qp *qp = srn_qp_of_stream(s);

	if (!qp->kernel)
		srn_watch_defer(qp);
}
