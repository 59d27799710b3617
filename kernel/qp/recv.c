// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The receive side of a queue pair: where the bytes of each segment go, and what a
 * complete message means. RFC 5040 sections 5 and 8, RFC 5041 sections 5 and 7.
 */
#include "../memory/invalidate.h"
#include "../stream/tx.h"
#include "qp.h"
#include "qp_trace.h"

static struct srn_qp *stream_qp(struct srn_stream *s)
{
	return container_of(s, struct srn_qp, stream);
}

/* Faults of memory that a peer writes to, or reads from. */
static struct srn_term_code write_fault(enum srn_mem_fault fault)
{
	switch (fault) {
	case SRN_MEM_NO_ACCESS:
		return SRN_TERM(SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_PROTECTION, SRN_PROT_ACCESS);
	case SRN_MEM_WRONG_PD:
		return SRN_TERM(SRN_LAYER_DDP, SRN_DDP_TAGGED_BUFFER, SRN_TAGGED_NOT_ASSOCIATED);
	case SRN_MEM_WRAP:
		return SRN_TERM(SRN_LAYER_DDP, SRN_DDP_TAGGED_BUFFER, SRN_TAGGED_WRAP);
	case SRN_MEM_BOUNDS:
		return SRN_TERM(SRN_LAYER_DDP, SRN_DDP_TAGGED_BUFFER, SRN_TAGGED_BOUNDS);
	default:
		return SRN_TERM(SRN_LAYER_DDP, SRN_DDP_TAGGED_BUFFER, SRN_TAGGED_INVALID_STAG);
	}
}

static struct srn_term_code read_fault(enum srn_mem_fault fault)
{
	static const u8 ecode[] = {
		[SRN_MEM_NO_STAG] = SRN_PROT_INVALID_STAG,
		[SRN_MEM_WRONG_PD] = SRN_PROT_NOT_ASSOCIATED,
		[SRN_MEM_NO_ACCESS] = SRN_PROT_ACCESS,
		[SRN_MEM_WRAP] = SRN_PROT_WRAP,
		[SRN_MEM_BOUNDS] = SRN_PROT_BOUNDS,
	};

	return SRN_TERM(SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_PROTECTION, ecode[fault]);
}

static void cursor_start(struct srn_qp *qp, struct srn_cursor *c, const struct srn_sge *sge,
			 u32 num, bool kernel, u32 access)
{
	srn_cursor_release(c);
	*c = (struct srn_cursor) {
		.dev = qp->dev, .pd = qp->ibqp.pd, .qpn = qp->ibqp.qp_num, .access = access,
		.kernel = kernel, .sge = sge, .num = num,
	};
}

/* Complete the receive in hand. */
static void recv_complete_as(struct srn_qp *qp, u8 opcode, u8 status, u32 length, u16 flags,
			     u32 ex)
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
		srn_qp_fail(qp, IB_EVENT_QP_FATAL, NULL, "receive CQ overflowed");
}

static void recv_complete(struct srn_qp *qp, u8 status, u32 length, u16 flags, u32 ex)
{
	recv_complete_as(qp, IB_WC_RECV, status, length, flags, ex);
}

static int begin_write(struct srn_qp *qp, const struct srn_rdmap_header *h, u32 payload,
		       struct srn_term_code *term)
{
	struct srn_qp_rx *rx = &qp->rx;
	struct srn_cursor *c = &rx->write;
	enum srn_mem_fault fault;

	rx->target = c;
	rx->write_len = payload + (rx->write_open ? rx->write_len : 0);
	rx->write_open = !h->last;
	/* STag and offset of an empty Write mean nothing, RFC 5041 section 5.1. */
	if (!payload)
		return 0;
	if (!(READ_ONCE(qp->access) & IB_ACCESS_REMOTE_WRITE)) {
		*term = write_fault(SRN_MEM_NO_ACCESS);
		return -EPROTO;
	}
	/* The next segment of the same message: the region in hand serves again. */
	if (c->held && READ_ONCE(c->held->stag) == h->stag) {
		fault = srn_mem_check(c->held, c->pd, h->to, payload, c->access);
		if (fault != SRN_MEM_OK) {
			*term = write_fault(fault);
			return -EPROTO;
		}
		rx->write_sge.addr = h->to;
		rx->write_sge.length = payload;
		c->index = 0;
		c->offset = 0;
		return 0;
	}
	rx->write_sge = (struct srn_sge) { .addr = h->to, .length = payload, .lkey = h->stag };
	cursor_start(qp, c, &rx->write_sge, 1, false, IB_ACCESS_REMOTE_WRITE);
	return 0;
}

static bool is_response(const struct srn_rdmap_header *h)
{
	return h->opcode == SRN_OP_READ_RESPONSE || h->opcode == SRN_OP_ATOMIC_RESPONSE;
}

/* What the peer has to answer next, where the segment is an answer. Return: the request. */
static struct srn_send *oldest_request(struct srn_qp *qp, const struct srn_rdmap_header *h,
				       struct srn_request *oldest)
{
	struct srn_send *send = NULL;
	u32 index;

	oldest->kind = SRN_REQUEST_NONE;
	if (is_response(h))
		send = srn_sq_oldest_request(qp, &index);
	if (!send)
		return NULL;
	oldest->kind = srn_is_atomic(send) ? SRN_REQUEST_ATOMIC : SRN_REQUEST_READ;
	oldest->sink_stag = srn_sink_stag(index);
	oldest->length = send->length;
	return send;
}

static void begin_read_response(struct srn_qp *qp, const struct srn_send *send)
{
	struct srn_qp_rx *rx = &qp->rx;

	rx->target = &rx->read;
	if (rx->sequence.read_open)
		return;
	cursor_start(qp, &rx->read, send->wqe.sge, send->wqe.num_sge, qp->kernel,
		     IB_ACCESS_LOCAL_WRITE);
}

/* A message for the receive queue begins: find it a receive. */
static int take_receive(struct srn_qp *qp, struct srn_term_code *term)
{
	struct srn_qp_rx *rx = &qp->rx;
	int ret;

	ret = qp->srq ? srn_srq_take(qp->srq, qp->recv) : srn_rq_take(&qp->rq, qp->recv);
	if (ret == -ENOENT) {
		srn_count(qp->dev->counters, SRN_COUNT_NO_RECEIVE);
		*term = SRN_TERM(SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_NO_BUFFER);
		return -EPROTO;
	}
	if (ret) {
		srn_qp_notice(qp, "receive ring %s\n",
			      ret == -EINVAL ? "holds a bad work request" : "overrun");
		if (ret == -EINVAL)
			recv_complete(qp, IB_WC_LOC_QP_OP_ERR, 0, 0, 0);
		*term = srn_term_local;
		return -EPROTO;
	}
	rx->wr_taken = true;
	cursor_start(qp, &rx->recv, qp->recv->sge, qp->recv->num_sge, qp->kernel,
		     IB_ACCESS_LOCAL_WRITE);
	if (qp->srq)
		rx->recv.pd = qp->srq->ibsrq.pd;
	return 0;
}

static int begin_send(struct srn_qp *qp, const struct srn_rdmap_header *h, u32 payload,
		      struct srn_term_code *term)
{
	struct srn_qp_rx *rx = &qp->rx;

	rx->target = &rx->recv;
	if (!rx->wr_taken && take_receive(qp, term))
		return -EPROTO;
	if (srn_opcodes[h->opcode].ctl_len) {
		/* Immediate Data takes a receive, but none of its memory. */
		rx->target = NULL;
		return 0;
	}
	if ((u64)h->mo + payload > qp->recv->length) {
		recv_complete(qp, IB_WC_LOC_LEN_ERR, 0, 0, 0);
		*term = SRN_TERM(SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_TOO_LONG);
		return -EPROTO;
	}
	return 0;
}

static void count_segment(struct srn_qp_rx *rx, const struct srn_rdmap_header *h)
{
	WRITE_ONCE(rx->segments, rx->segments + 1);
	if (is_response(h))
		WRITE_ONCE(rx->responses, rx->responses + 1);
}

/**
 * srn_qp_rx_begin - a segment's header is complete
 * @s: stream of the queue pair
 * @h: header, valid in itself
 * @payload: bytes that follow
 * @term: reason, on failure
 *
 * Decides where the payload goes. Context: the receiver.
 *
 * Return: 0 or -EPROTO; or -ENOMEM, to be called again after srn_qp_rx_memory().
 */
int srn_qp_rx_begin(struct srn_stream *s, const struct srn_rdmap_header *h, u32 payload,
		    struct srn_term_code *term)
{
	struct srn_qp *qp = stream_qp(s);
	struct srn_qp_rx *rx = &qp->rx;
	struct srn_request oldest;
	struct srn_send *send;

	if (unlikely(!qp->irq.slots) &&
	    (h->opcode == SRN_OP_READ_REQUEST || h->opcode == SRN_OP_ATOMIC_REQUEST))
		return -ENOMEM;
	count_segment(rx, h);
	rx->header = *h;
	rx->payload = payload;
	send = oldest_request(qp, h, &oldest);
	if (srn_sequence_check(&rx->sequence, h, payload, &oldest, term))
		return -EPROTO;
	/* Where nothing else is said: a control message, or one that is none. */
	rx->target = NULL;
	rx->control_len = 0;
	if (rx->sequence.rtr)
		return 0;
	if (h->opcode == SRN_OP_WRITE)
		return begin_write(qp, h, payload, term);
	if (h->qn == SRN_QN_SEND && !h->tagged)
		return begin_send(qp, h, payload, term);
	if (h->opcode == SRN_OP_READ_RESPONSE)
		begin_read_response(qp, send);
	return 0;
}

/**
 * srn_qp_rx_memory - get room for the peer's Reads and atomics, before its first one
 * @s: stream of the queue pair
 * @gfp: how memory may be looked for
 *
 * Most peers send none, and for as many as they may have on their way it is a page.
 *
 * Context: the receiver; may sleep as @gfp does.
 *
 * Return: 0 or -ENOMEM.
 */
int srn_qp_rx_memory(struct srn_stream *s, gfp_t gfp)
{
	struct srn_irq *irq = &stream_qp(s)->irq;

	irq->slots = kcalloc(irq->depth, sizeof(*irq->slots), gfp);
	return irq->slots ? 0 : -ENOMEM;
}

/**
 * srn_qp_rx_place - put payload where it belongs
 * @s: stream of the queue pair
 * @data: bytes
 * @len: how many
 * @term: reason, on failure
 *
 * Context: the receiver.
 *
 * Return: 0 or -EPROTO.
 */
int srn_qp_rx_place(struct srn_stream *s, const u8 *data, u32 len, struct srn_term_code *term)
{
	struct srn_qp *qp = stream_qp(s);
	struct srn_qp_rx *rx = &qp->rx;
	enum srn_mem_fault fault;
	struct srn_send *send;
	u32 index;

	if (!rx->target) {
		memcpy(rx->control + rx->control_len, data, len);
		rx->control_len += len;
		return 0;
	}
	fault = srn_cursor_write(rx->target, data, len);
	if (fault == SRN_MEM_OK)
		return 0;
	if (rx->target == &rx->write) {
		*term = write_fault(fault);
		return -EPROTO;
	}
	*term = srn_term_local;
	if (rx->target == &rx->recv) {
		recv_complete(qp, IB_WC_LOC_PROT_ERR, 0, 0, 0);
	} else {
		send = srn_sq_oldest_request(qp, &index);
		if (send)
			send->status = IB_WC_LOC_PROT_ERR;
	}
	return -EPROTO;
}

static int end_read_response(struct srn_qp *qp)
{
	struct srn_qp_rx *rx = &qp->rx;
	struct srn_send *send;
	u32 index;

	srn_cursor_release(&rx->read);
	rx->notify_send = true;
	send = srn_sq_oldest_request(qp, &index);
	if (send && send->wqe.opcode == SRN_WR_READ_WITH_INV && send->wqe.ex) {
		srn_qp_rx_pause(&qp->stream);
		if (srn_invalidate(&qp->ibqp, send->wqe.ex, false)) {
			send->status = IB_WC_LOC_ACCESS_ERR;
			srn_qp_fail(qp, IB_EVENT_QP_ACCESS_ERR, NULL,
				    "cannot invalidate after a Read");
		}
	}
	srn_sq_request_done(qp);
	return 0;
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
		srn_qp_rx_pause(&qp->stream);
		ret = srn_invalidate(&qp->ibqp, rx->header.stag, true);
		if (ret) {
			*term = SRN_TERM(SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_PROTECTION,
					 ret == -ENOENT ? SRN_PROT_INVALID_STAG :
					 SRN_PROT_CANNOT_INVALIDATE);
			recv_complete(qp, IB_WC_REM_INV_REQ_ERR, 0, 0, 0);
			return -EPROTO;
		}
		flags |= SRN_CQE_WITH_INV;
	}
	if (info->immediate) {
		flags |= SRN_CQE_WITH_IMM;
		ex = (__force u32)cpu_to_be32(ex);
	}
	recv_complete(qp, IB_WC_SUCCESS, length, flags, ex);
	return 0;
}

/* Immediate Data: what verbs call a Write with Immediate ends with it. */
static int end_immediate(struct srn_qp *qp)
{
	const struct srn_opcode_info *info = &srn_opcodes[qp->rx.header.opcode];
	struct srn_qp_rx *rx = &qp->rx;
	struct srn_wire_immediate w;

	memcpy(&w, rx->control, sizeof(w));
	srn_cursor_release(&rx->recv);
	recv_complete_as(qp, IB_WC_RECV_RDMA_WITH_IMM, IB_WC_SUCCESS, rx->write_len,
			 SRN_CQE_WITH_IMM | (info->solicited ? SRN_CQE_SOLICITED : 0),
			 (__force u32)w.data);
	rx->write_len = 0;
	return 0;
}

/* Room for an inbound request, or NULL if the peer has more than it may. */
static struct srn_inbound *inbound_slot(struct srn_irq *irq, struct srn_term_code *term)
{
	/* Acquire: the transmitter is done with the slot. */
	if (irq->prod - smp_load_acquire(&irq->cons) >= irq->ird) {
		*term = SRN_TERM(SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_NO_BUFFER);
		return NULL;
	}
	return &irq->slots[irq->prod & (irq->depth - 1)];
}

static void inbound_ready(struct srn_qp *qp)
{
	/* The slot before the index. */
	smp_store_release(&qp->irq.prod, qp->irq.prod + 1);
	srn_tx_kick_async(&qp->stream);
}

/* Execute an atomic in a region that grants it. */
static enum srn_mem_fault execute_atomic(struct srn_qp *qp, const struct srn_atomic *a,
					 u64 *original, bool *aligned)
{
	struct srn_sge sge = { .addr = a->to, .length = SRN_ATOMIC_SIZE, .lkey = a->stag };
	struct srn_cursor c = {};
	enum srn_mem_fault fault;
	void *at;
	u64 old;
	u32 len;

	*aligned = true;
	if (!(READ_ONCE(qp->access) & IB_ACCESS_REMOTE_ATOMIC))
		return SRN_MEM_NO_ACCESS;
	cursor_start(qp, &c, &sge, 1, false, IB_ACCESS_REMOTE_ATOMIC);
	fault = srn_cursor_peek(&c, SRN_ATOMIC_SIZE, &at, &len);
	if (fault != SRN_MEM_OK)
		return fault;
	*aligned = IS_ALIGNED((uintptr_t)at, SRN_ATOMIC_SIZE);
	if (*aligned) {
		old = READ_ONCE(*(u64 *)at);
		while (!try_cmpxchg64((u64 *)at, &old, srn_atomic_result(a, old)))
			;
		*original = old;
	}
	srn_cursor_release(&c);
	return SRN_MEM_OK;
}

/* An Atomic Request: execute it now, answer it when its turn comes. RFC 7306 section 8.2. */
static int end_atomic_request(struct srn_qp *qp, struct srn_term_code *term)
{
	struct srn_inbound *r = inbound_slot(&qp->irq, term);
	enum srn_mem_fault fault;
	struct srn_atomic a;
	bool aligned;

	if (!r)
		return -EPROTO;
	srn_get_atomic(qp->rx.control, &a);
	if (!srn_atomic_known(&a)) {
		*term = SRN_TERM(SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_OPERATION, SRN_OPER_OPCODE);
		return -EPROTO;
	}
	fault = execute_atomic(qp, &a, &r->sink_to, &aligned);
	if (fault != SRN_MEM_OK) {
		*term = read_fault(fault);
		return -EPROTO;
	}
	if (!aligned) {
		*term = SRN_TERM(SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_OPERATION, SRN_OPER_STREAM);
		return -EPROTO;
	}
	r->atomic = true;
	r->sink_stag = a.id;
	inbound_ready(qp);
	return 0;
}

static int end_atomic_response(struct srn_qp *qp, struct srn_term_code *term)
{
	struct srn_wire_atomic_response w;
	struct srn_cursor c = {};
	enum srn_mem_fault fault;
	struct srn_send *send;
	u32 index;
	u64 value;

	memcpy(&w, qp->rx.control, sizeof(w));
	value = be64_to_cpu(w.original);
	/* It was there when the message began, and nobody else removes it. */
	send = srn_sq_oldest_request(qp, &index);
	if (be32_to_cpu(w.id) != index) {
		*term = SRN_TERM(SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_OPERATION,
				 SRN_OPER_UNSPECIFIED);
		return -EPROTO;
	}
	cursor_start(qp, &c, send->wqe.sge, send->wqe.num_sge, qp->kernel, IB_ACCESS_LOCAL_WRITE);
	fault = srn_cursor_write(&c, (const u8 *)&value, sizeof(value));
	srn_cursor_release(&c);
	if (fault != SRN_MEM_OK) {
		send->status = IB_WC_LOC_PROT_ERR;
		*term = srn_term_local;
		return -EPROTO;
	}
	qp->rx.notify_send = true;
	srn_sq_request_done(qp);
	return 0;
}

/* A Read Request: check its source now, answer it when its turn comes. */
static int end_read_request(struct srn_qp *qp, struct srn_term_code *term)
{
	struct srn_inbound *r = inbound_slot(&qp->irq, term);
	enum srn_mem_fault fault = SRN_MEM_OK;
	struct srn_wire_read_request w;

	if (!r)
		return -EPROTO;
	memcpy(&w, qp->rx.control, sizeof(w));
	r->atomic = false;
	r->sink_stag = be32_to_cpu(w.sink_stag);
	r->sink_to = be64_to_cpu(w.sink_to);
	r->src.lkey = be32_to_cpu(w.src_stag);
	r->src.addr = be64_to_cpu(w.src_to);
	r->src.length = be32_to_cpu(w.size);
	if (r->src.length && !(READ_ONCE(qp->access) & IB_ACCESS_REMOTE_READ))
		fault = SRN_MEM_NO_ACCESS;
	else if (r->sink_to + r->src.length < r->sink_to)
		fault = SRN_MEM_WRAP;
	else
		fault = srn_mem_check_sges(&qp->ibqp, false, &r->src, 1, IB_ACCESS_REMOTE_READ);
	if (fault != SRN_MEM_OK) {
		*term = read_fault(fault);
		return -EPROTO;
	}
	inbound_ready(qp);
	return 0;
}

/* What a Read or atomic completes with that the peer has refused. */
static u8 request_status(struct srn_term_code code)
{
	if (code.layer != SRN_LAYER_RDMAP)
		return IB_WC_REM_OP_ERR;
	if (code.etype == SRN_RDMAP_REMOTE_PROTECTION)
		return IB_WC_REM_ACCESS_ERR;
	/* It does not speak RFC 7306, or not to an address that is not aligned. */
	if (code.etype == SRN_RDMAP_REMOTE_OPERATION &&
	    (code.ecode == SRN_OPER_OPCODE || code.ecode == SRN_OPER_STREAM))
		return IB_WC_REM_INV_REQ_ERR;
	return IB_WC_REM_OP_ERR;
}

/* The peer ends the stream because of something that we did. */
static void end_terminate(struct srn_qp *qp)
{
	struct srn_terminate t;
	struct srn_send *send;
	bool about_request;
	u32 index;

	qp->stream.rx_stopped = true;
	if (srn_get_terminate(qp->rx.control, qp->rx.control_len, &t)) {
		srn_qp_fail(qp, IB_EVENT_QP_FATAL, NULL, "peer sent a malformed Terminate");
		return;
	}
	trace_srn_terminate_received(qp, &t.code);
	srn_qp_notice(qp, "peer sent Terminate: layer %u, type %u, code 0x%02x%s%s\n", t.code.layer,
		      t.code.etype, t.code.ecode, t.has_header ? ", about " : "",
		      t.has_header ? srn_opcodes[t.header.opcode].name : "");
	about_request = t.has_header ? !t.header.tagged && t.header.qn == SRN_QN_READ_REQUEST :
			t.code.layer == SRN_LAYER_RDMAP &&
			t.code.etype == SRN_RDMAP_REMOTE_PROTECTION;
	send = srn_sq_oldest_request(qp, &index);
	if (about_request && send)
		send->status = request_status(t.code);
	srn_qp_fail(qp, IB_EVENT_QP_FATAL, NULL, NULL);
}

/**
 * srn_qp_rx_end - a segment is complete and its CRC is good
 * @s: stream of the queue pair
 * @term: reason, on failure
 *
 * Delivers the message if it was the last one of it. Context: the receiver.
 *
 * Return: 0 or -EPROTO.
 */
int srn_qp_rx_end(struct srn_stream *s, struct srn_term_code *term)
{
	struct srn_qp *qp = stream_qp(s);
	struct srn_qp_rx *rx = &qp->rx;

	if (!srn_sequence_advance(&rx->sequence, &rx->header, rx->payload)) {
		if (rx->sequence.rtr && rx->header.opcode == SRN_OP_READ_RESPONSE)
			srn_sq_rtr_done(qp);
		return 0;
	}
	switch (rx->header.opcode) {
	case SRN_OP_WRITE:
		return 0;
	case SRN_OP_READ_RESPONSE:
		return end_read_response(qp);
	case SRN_OP_READ_REQUEST:
		return end_read_request(qp, term);
	case SRN_OP_ATOMIC_REQUEST:
		return end_atomic_request(qp, term);
	case SRN_OP_ATOMIC_RESPONSE:
		return end_atomic_response(qp, term);
	case SRN_OP_IMM:
	case SRN_OP_IMM_SE:
		return end_immediate(qp);
	case SRN_OP_TERMINATE:
		end_terminate(qp);
		return 0;
	default:
		return end_send(qp, term);
	}
}

/**
 * srn_qp_rx_middle - a whole segment in the middle of the message in hand
 * @s: stream of the queue pair
 * @m: what it holds; its header is that of the segment before, but for the offset
 *
 * Where the region or entry that the message is being placed in is open and has room, this
 * does what srn_qp_rx_begin(), srn_qp_rx_place() and srn_qp_rx_end() would.
 *
 * Context: the receiver.
 *
 * Return: false if nothing was done, and those have to be asked.
 */
bool srn_qp_rx_middle(struct srn_stream *s, const struct srn_fpdu_middle *m)
{
	struct srn_qp *qp = stream_qp(s);
	struct srn_qp_rx *rx = &qp->rx;
	struct srn_cursor *c = rx->target;
	u64 to = m->offset;

	if (!c || !c->held)
		return false;
	if (c == &rx->write) {
		if (READ_ONCE(c->held->stag) != rx->header.stag ||
		    !(READ_ONCE(qp->access) & IB_ACCESS_REMOTE_WRITE) ||
		    srn_mem_check(c->held, c->pd, to, m->len, c->access) != SRN_MEM_OK)
			return false;
		rx->write_len += m->len;
	} else {
		const struct srn_sge *sge = &c->sge[c->index];

		if (m->len > sge->length - c->offset ||
		    !srn_sequence_middle(&rx->sequence, &rx->header, m->offset, m->len))
			return false;
		to = sge->addr + c->offset;
		c->offset += m->len;
	}
	count_segment(rx, &rx->header);
	srn_mem_write(c->held, to, m->payload, m->len);
	return true;
}

/**
 * srn_qp_rx_pause - close all accesses to memory
 * @s: stream of the queue pair
 *
 * Context: the receiver.
 */
void srn_qp_rx_pause(struct srn_stream *s)
{
	struct srn_qp *qp = stream_qp(s);

	srn_cursor_release(&qp->rx.write);
	srn_cursor_release(&qp->rx.recv);
	srn_cursor_release(&qp->rx.read);
}

/**
 * srn_qp_rx_done - a receive pass is over: report what it completed
 * @s: stream of the queue pair
 *
 * Context: the receiver.
 */
void srn_qp_rx_done(struct srn_stream *s)
{
	struct srn_qp *qp = stream_qp(s);
	struct srn_qp_rx *rx = &qp->rx;
	bool solicited = rx->solicited_recv;

	if (rx->notify_send) {
		rx->notify_send = false;
		srn_sq_complete(qp);
		/* An orderly close waits for the last Read: it sets SQD, then looks at sq.cons. */
		smp_mb();
		if (READ_ONCE(qp->state) == IB_QPS_SQD)
			srn_tx_kick_async(&qp->stream);
	}
	if (rx->notify_recv) {
		rx->notify_recv = false;
		rx->solicited_recv = false;
		srn_cq_notify(qp->rcq, solicited);
	}
}

/**
 * srn_recv_flush - complete the receive that a message was being placed in
 * @qp: queue pair whose stream has been stopped
 *
 * Context: any.
 */
void srn_recv_flush(struct srn_qp *qp)
{
	if (!qp->rx.wr_taken)
		return;
	recv_complete(qp, IB_WC_WR_FLUSH_ERR, 0, 0, 0);
	srn_qp_rx_done(&qp->stream);
}

/* Flush a few. Return: how many; fewer than allowed if no other can be. */
static u32 flush_receives(struct srn_qp *qp, u32 most)
{
	struct srn_cqe cqe = {
		.qp_num = qp->ibqp.qp_num, .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV,
	};
	u32 done;
	int ret;

	lockdep_assert_held(&qp->sq.lock);
	/* It may have been reset while the caller came here. */
	if (!READ_ONCE(qp->ended))
		return 0;
	for (done = 0; done < most && !READ_ONCE(qp->rcq->overflow); done++) {
		/* No message is being placed any more. */
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
 * srn_rq_flush - complete all receives of a queue pair as flushed
 * @qp: queue pair in ERR whose stream has been stopped
 *
 * Receives of an SRQ belong to it and stay. A process that goes on posting meanwhile
 * rings for what comes after one ring's worth.
 *
 * Context: any, sq.lock not held: it keeps the completions in order. Notifies.
 */
void srn_rq_flush(struct srn_qp *qp)
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
 * srn_post_recv - post receives of a kernel consumer, or a process's doorbell
 * @ibqp: queue pair
 * @wr: work requests; NULL for a doorbell
 * @bad_wr: first one that was not posted
 *
 * A process rings only when the QP is in ERR, to have its receives flushed.
 *
 * Context: any.
 */
int srn_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr)
{
	struct srn_qp *qp = to_srn_qp(ibqp);
	unsigned long flags;
	int ret = 0;
	bool ended;

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
	spin_lock_irqsave(&qp->state_lock, flags);
	ended = qp->ended;
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (ended)
		srn_rq_flush(qp);
	return ret;
}
