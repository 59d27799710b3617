// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a complete message means. RFC 5040 sections 5 and 8.
 */
#include "../memory/invalidate.h"
#include "../stream/rx.h"
#include "../stream/tx.h"
#include "answered.h"
#include "binding.h"
#include "completion.h"
#include "delivery.h"
#include "placed.h"
#include "placement.h"
#include "qp_trace.h"
#include "receive.h"
#include "recognition.h"
#include "requests.h"
#include "responder.h"
#include "rnr.h"
#include "state.h"

/*
 * An answer can complete a whole queue. So many work requests complete before others have their
 * turn, and fewer where the receiver, and not the network, keeps softirqs off.
 */
#define COMPLETE_IN_SOFTIRQ	1024
#define COMPLETE_IN_PROCESS	128

static void end_write(struct srn_qp *qp)
{
	/* The peer's final report is an empty Write, which may come between segments of another. */
	if (!qp->rx.payload && srn_placed_received(qp))
		return;
	if (!qp->rx.write_len)
		srn_recognition_received(qp);
	else if (qp->rx.waits)
		srn_rnr_passed(qp);
	else
		srn_placed_count(qp, 1);
}

static void end_read_response(struct srn_qp *qp)
{
	struct srn_qp_rx *rx = &qp->rx;
	struct srn_send *send;
	u32 index;

	srn_cursor_release(&rx->read);
	rx->notify_send = true;
	send = srn_requests_oldest(qp, &index);
	if (send && send->wqe.opcode == SRN_WR_READ_WITH_INV && send->wqe.ex) {
		srn_placement_pause(&qp->stream);
		if (srn_invalidate(&qp->ibqp, send->wqe.ex, false)) {
			send->status = IB_WC_LOC_ACCESS_ERR;
			srn_state_fail(qp, IB_EVENT_QP_ACCESS_ERR, NULL,
				       "cannot invalidate after a Read");
		}
	}
	srn_requests_done(qp);
}

static int end_send(struct srn_qp *qp, struct srn_term_code *term)
{
	const struct srn_opcode_info *info = &srn_opcodes[qp->rx.header.opcode];
	u32 length = qp->rx.header.mo + qp->rx.payload;
	u16 flags = info->solicited ? SRN_CQE_SOLICITED : 0;
	struct srn_qp_rx *rx = &qp->rx;
	u32 ex = rx->header.stag;
	int ret;

	srn_cursor_release(&rx->recv);
	if (info->invalidates) {
		srn_placement_pause(&qp->stream);
		ret = srn_invalidate(&qp->ibqp, rx->header.stag, true);
		if (ret) {
			*term = SRN_TERM(SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_PROTECTION,
					 ret == -ENOENT ? SRN_PROT_INVALID_STAG :
					 SRN_PROT_CANNOT_INVALIDATE);
			srn_receive_fail(qp, IB_WC_REM_INV_REQ_ERR);
			return -EPROTO;
		}
		flags |= SRN_CQE_WITH_INV;
	}
	if (info->immediate) {
		flags |= SRN_CQE_WITH_IMM;
		ex = (__force u32)cpu_to_be32(ex);
	}
	srn_placed_count(qp, 1);
	srn_receive_complete(qp, IB_WC_RECV, IB_WC_SUCCESS, length, flags, ex);
	return 0;
}

/* Immediate Data has come: it ends what verbs call a Write with Immediate. */
static void end_immediate(struct srn_qp *qp)
{
	const struct srn_opcode_info *info = &srn_opcodes[qp->rx.header.opcode];
	struct srn_qp_rx *rx = &qp->rx;
	struct srn_wire_immediate w;

	memcpy(&w, rx->control, sizeof(w));
	srn_cursor_release(&rx->recv);
	srn_placed_count(qp, 1);
	srn_receive_complete(qp, IB_WC_RECV_RDMA_WITH_IMM, IB_WC_SUCCESS, rx->write_len,
			     SRN_CQE_WITH_IMM | (info->solicited ? SRN_CQE_SOLICITED : 0),
			     (__force u32)w.data);
	rx->write_len = 0;
}

static int end_atomic_response(struct srn_qp *qp, struct srn_term_code *term)
{
	struct srn_wire_atomic_response w;
	enum srn_mem_fault fault;
	struct srn_send *send;
	struct srn_cursor c;
	u32 index;
	u64 value;

	memcpy(&w, qp->rx.control, sizeof(w));
	value = be64_to_cpu(w.original);
	/* The request was there when the message began, and only the receiver removes it. */
	send = srn_requests_oldest(qp, &index);
	if (be32_to_cpu(w.id) != index) {
		*term = SRN_TERM(SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_OPERATION,
				 SRN_OPER_UNSPECIFIED);
		return -EPROTO;
	}
	c = srn_qp_cursor(qp, send->wqe.sge, send->wqe.num_sge, qp->kernel, IB_ACCESS_LOCAL_WRITE);
	fault = srn_cursor_write(&c, (const u8 *)&value, sizeof(value));
	srn_cursor_release(&c);
	if (fault != SRN_MEM_OK) {
		send->status = IB_WC_LOC_PROT_ERR;
		*term = srn_state_local_error;
		return -EPROTO;
	}
	qp->rx.notify_send = true;
	srn_requests_done(qp);
	return 0;
}

/* Status of a Read or atomic that the peer has refused. */
static u8 request_status(struct srn_term_code code)
{
	if (code.layer != SRN_LAYER_RDMAP)
		return IB_WC_REM_OP_ERR;
	if (code.etype == SRN_RDMAP_REMOTE_PROTECTION)
		return IB_WC_REM_ACCESS_ERR;
	/* The peer does not know the opcode, or the address of an atomic is not aligned. */
	if (code.etype == SRN_RDMAP_REMOTE_OPERATION &&
	    (code.ecode == SRN_OPER_OPCODE || code.ecode == SRN_OPER_STREAM))
		return IB_WC_REM_INV_REQ_ERR;
	return IB_WC_REM_OP_ERR;
}

/* Status of a Send or Write that the peer has refused. */
static u8 message_status(struct srn_term_code code)
{
	if (code.layer == SRN_LAYER_DDP && code.etype == SRN_DDP_TAGGED_BUFFER)
		return IB_WC_REM_ACCESS_ERR;
	if (code.layer == SRN_LAYER_DDP && code.etype == SRN_DDP_UNTAGGED_BUFFER)
		return code.ecode == SRN_UNTAGGED_NO_BUFFER ? IB_WC_RNR_RETRY_EXC_ERR :
							      IB_WC_REM_INV_REQ_ERR;
	return request_status(code);
}

/* A peer that ends for reasons of its own (catastrophic error) names no message. */
static bool is_about_message(const struct srn_terminate *t)
{
	if (!t->has_header)
		return t->code.layer == SRN_LAYER_RDMAP &&
		       t->code.etype == SRN_RDMAP_CATASTROPHIC;
	return t->header.opcode == SRN_OP_WRITE ||
	       (!t->header.tagged && t->header.qn == SRN_QN_SEND);
}

/*
 * The Read that a Terminate is about, by the STag that names its slot; or the oldest request, if
 * the peer does not say. Return: NULL if none is outstanding.
 */
static struct srn_send *refused_request(struct srn_qp *qp, const struct srn_terminate *t)
{
	struct srn_sq *sq = &qp->sq;
	struct srn_send *oldest, *send;
	u32 index, behind;

	oldest = srn_requests_oldest(qp, &index);
	if (!oldest || !t->has_read)
		return oldest;
	behind = (t->sink_stag - index) & SRN_SINK_INDEX;
	/* Acquire: the request has been fetched. */
	if (behind >= smp_load_acquire(&sq->next) - index)
		return oldest;
	send = srn_sq_slot(sq, index + behind);
	return srn_is_request(send) && !srn_is_atomic(send) && !send->finished ? send : oldest;
}

/* The peer ends the stream because of something that we did. */
static void end_terminate(struct srn_qp *qp)
{
	struct srn_terminate t;
	struct srn_send *send;
	bool about_request, told = true;

	qp->stream.rx_stopped = true;
	if (srn_rdmap_get_terminate(qp->rx.control, qp->rx.control_len, &t)) {
		srn_state_fail(qp, IB_EVENT_QP_FATAL, NULL, "peer sent a malformed Terminate");
		return;
	}
	trace_srn_terminate_received(qp, &t.code);
	srn_qp_notice(qp, "peer sent Terminate: layer %u, type %u, code 0x%02x%s%s\n", t.code.layer,
		      t.code.etype, t.code.ecode, t.has_header ? ", about " : "",
		      t.has_header ? srn_opcodes[t.header.opcode].name : "");
	about_request = t.has_header ? !t.header.tagged && t.header.qn == SRN_QN_READ_REQUEST :
			t.code.layer == SRN_LAYER_RDMAP &&
			t.code.etype == SRN_RDMAP_REMOTE_PROTECTION;
	send = refused_request(qp, &t);
	if (about_request && send)
		send->status = request_status(t.code);
	else if (is_about_message(&t))
		srn_answered_refused(qp, t.has_header, message_status(t.code));
	else
		told = false;
	/* InfiniBand tells of a request that was refused by its completion only. */
	told = told && srn_binding_kind(qp) == SRN_BOUND_BY_HAND;
	srn_state_fail(qp, told ? 0 : IB_EVENT_QP_FATAL, NULL, NULL);
}

/**
 * srn_delivery_end - a segment is complete and its CRC is good
 * @s: stream of the queue pair
 * @term: reason, on failure
 *
 * Delivers the message if this was its last segment. Context: the receiver.
 *
 * Return: 0 or -EPROTO.
 */
int srn_delivery_end(struct srn_stream *s, struct srn_term_code *term)
{
	struct srn_qp *qp = srn_qp_of_stream(s);
	struct srn_qp_rx *rx = &qp->rx;

	if (unlikely(srn_rnr_open(qp))) {
		srn_rnr_end(qp);
		return 0;
	}
	if (!srn_sequence_advance(&rx->sequence, &rx->header, rx->payload)) {
		if (rx->sequence.rtr && rx->header.opcode == SRN_OP_READ_RESPONSE)
			srn_requests_rtr_done(qp);
		return 0;
	}
	/* Whoever sees what comes later sees this message's bytes. Pairs with reads of programs. */
	smp_wmb();
	switch (rx->header.opcode) {
	case SRN_OP_WRITE:
		end_write(qp);
		return 0;
	case SRN_OP_READ_RESPONSE:
		end_read_response(qp);
		return 0;
	case SRN_OP_READ_REQUEST:
		return srn_responder_read(qp, term);
	case SRN_OP_ATOMIC_REQUEST:
		return srn_responder_atomic(qp, term);
	case SRN_OP_ATOMIC_RESPONSE:
		return end_atomic_response(qp, term);
	case SRN_OP_IMM:
	case SRN_OP_IMM_SE:
		end_immediate(qp);
		return 0;
	case SRN_OP_TERMINATE:
		end_terminate(qp);
		return 0;
	default:
		return end_send(qp, term);
	}
}

/* Return: true if there is more. */
static bool complete_some(struct srn_qp *qp)
{
	return srn_completion_run(qp, in_serving_softirq() ? COMPLETE_IN_SOFTIRQ :
							     COMPLETE_IN_PROCESS);
}

/**
 * srn_delivery_done - a receive pass is over: report what it completed
 * @s: stream of the queue pair
 *
 * Context: the receiver.
 */
void srn_delivery_done(struct srn_stream *s)
{
	struct srn_qp *qp = srn_qp_of_stream(s);
	struct srn_qp_rx *rx = &qp->rx;

	if (rx->notify_send) {
		rx->notify_send = complete_some(qp);
		if (unlikely(rx->notify_send))
			srn_rx_leave_more(s);
		/*
		 * An orderly close waits for the last Read: it sets SQD, then looks at sq.cons. So
		 * does the transmitter before a bad request ends the connection.
		 */
		smp_mb();
		if (READ_ONCE(qp->state) == IB_QPS_SQD || READ_ONCE(qp->tx.awaits_completion))
			srn_tx_kick_async(&qp->stream);
	}
	srn_receive_notify(qp);
}
