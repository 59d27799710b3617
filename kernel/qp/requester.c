// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The send queue: its next work request, as a message.
 */
#include "fetch.h"
#include "local_op.h"
#include "message.h"
#include "piggyback.h"
#include "qp_trace.h"
#include "requester.h"
#include "requests.h"
#include "state.h"

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

static enum srn_tx_verdict tx_work_request(struct srn_qp *qp, struct srn_tx_msg *msg,
					   struct srn_send *send, bool flushed)
{
	struct srn_sq *sq = &qp->sq;

	if (srn_is_request(send)) {
		if (srn_requests_wait(qp, sq->ord - 1))
			return SRN_TX_WAIT;
		srn_requests_begin(sq);
	}
	send->number = qp->tx.messages;
	qp->tx.messages += srn_send_messages(send);
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
		return srn_local_op_execute(qp, send, flushed);
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

/**
 * srn_requester_next - the next message of the send queue
 * @qp: queue pair
 * @msg: the message
 * @flushed: nothing waits in a batch
 *
 * Context: the active transmitter, bottom halves disabled.
 *
 * Return: SRN_TX_NONE if nothing is posted; SRN_TX_WAIT if what is posted has to wait, or the queue
 * pair has failed; SRN_TX_FLUSH if what was posted before must be sent first; SRN_TX_AGAIN if a
 * work request was executed that needs no message; else SRN_TX_MESSAGE.
 */
enum srn_tx_verdict srn_requester_next(struct srn_qp *qp, struct srn_tx_msg *msg, bool flushed)
{
	struct srn_sq *sq = &qp->sq;
	enum srn_tx_verdict verdict;
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
		verdict = srn_requests_settle(qp, flushed);
		if (verdict != SRN_TX_NONE)
			return verdict;
		send->status = status;
		srn_state_fail(qp, IB_EVENT_QP_FATAL, &srn_state_local_error,
			       "bad send work request");
		return SRN_TX_WAIT;
	}
	return tx_work_request(qp, msg, send, flushed);
}

/**
 * srn_requester_rtr - make the RTR, which the initiator sends first (RFC 6581, section 9.2)
 * @qp: queue pair whose tx.rtr says which one
 * @msg: the message
 *
 * Until it arrives, the responder may not send.
 *
 * Context: the active transmitter, bottom halves disabled.
 *
 * Return: SRN_TX_MESSAGE.
 */
enum srn_tx_verdict srn_requester_rtr(struct srn_qp *qp, struct srn_tx_msg *msg)
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
