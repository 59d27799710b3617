// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The peer's Reads and atomics: taken, executed, answered in order.
 */
#include <linux/slab.h>

#include "../stream/tx.h"
#include "message.h"
#include "responder.h"

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

/**
 * srn_responder_memory - get room for the peer's Reads and atomics, before its first one
 * @qp: queue pair
 * @gfp: allocation flags
 *
 * Most peers never send any, and room for as many as a peer may have outstanding takes a page.
 *
 * Context: the receiver; sleeps if @gfp allows it.
 *
 * Return: 0 or -ENOMEM.
 */
int srn_responder_memory(struct srn_qp *qp, gfp_t gfp)
{
	struct srn_inbound_queue *queue = &qp->inbound;

	queue->slots = kcalloc(queue->depth, sizeof(*queue->slots), gfp);
	return queue->slots ? 0 : -ENOMEM;
}

/* Room for an inbound request, or NULL if the peer has more outstanding than it may. */
static struct srn_inbound *inbound_slot(struct srn_inbound_queue *queue, struct srn_term_code *term)
{
	/* Acquire: the transmitter is done with the slot. */
	if (queue->prod - smp_load_acquire(&queue->cons) >= queue->ird) {
		*term = SRN_TERM(SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_NO_BUFFER);
		return NULL;
	}
	return &queue->slots[queue->prod & (queue->depth - 1)];
}

static void inbound_ready(struct srn_qp *qp)
{
	/* The slot is written before the index. */
	smp_store_release(&qp->inbound.prod, qp->inbound.prod + 1);
	srn_tx_kick_async(&qp->stream);
}

/* Execute an atomic in a region that grants it. */
static enum srn_mem_fault execute_atomic(struct srn_qp *qp, const struct srn_atomic *a,
					 u64 *original, bool *aligned)
{
	struct srn_sge sge = { .addr = a->to, .length = SRN_ATOMIC_SIZE, .lkey = a->stag };
	enum srn_mem_fault fault;
	struct srn_cursor c;
	void *at;
	u64 old;
	u32 len;

	*aligned = true;
	if (!(READ_ONCE(qp->access) & IB_ACCESS_REMOTE_ATOMIC))
		return SRN_MEM_NO_ACCESS;
	c = srn_qp_cursor(qp, &sge, 1, false, IB_ACCESS_REMOTE_ATOMIC);
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

/**
 * srn_responder_atomic - an Atomic Request has come: execute it now, answer it when its turn comes
 * @qp: queue pair, with the request in its control buffer
 * @term: reason, on failure
 *
 * RFC 7306 section 8.2.
 *
 * Context: the receiver.
 *
 * Return: 0 or -EPROTO.
 */
int srn_responder_atomic(struct srn_qp *qp, struct srn_term_code *term)
{
	struct srn_inbound *r = inbound_slot(&qp->inbound, term);
	enum srn_mem_fault fault;
	struct srn_atomic a;
	bool aligned;

	if (!r)
		return -EPROTO;
	srn_atomic_get(qp->rx.control, &a);
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

/**
 * srn_responder_read - a Read Request has come: check its source now, answer it when its turn comes
 * @qp: queue pair, with the request in its control buffer
 * @term: reason, on failure
 *
 * Context: the receiver.
 *
 * Return: 0 or -EPROTO.
 */
int srn_responder_read(struct srn_qp *qp, struct srn_term_code *term)
{
	struct srn_inbound *r = inbound_slot(&qp->inbound, term);
	struct srn_wire_read_request w;
	enum srn_mem_fault fault;

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
	else if (srn_mem_wraps(r->sink_to, r->src.length))
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

static void tx_atomic_response(struct srn_qp *qp, struct srn_tx_msg *msg,
			       const struct srn_inbound *r)
{
	struct srn_wire_atomic_response *w = &qp->tx.control.response;

	w->id = cpu_to_be32(r->sink_stag);
	w->original = cpu_to_be64(r->sink_to);
	msg->opcode = SRN_OP_ATOMIC_RESPONSE;
	msg->inv_stag = 0;
	msg->msn = ++qp->tx.atomic_msn;
	srn_message_bytes(qp, msg, w, sizeof(*w));
}

/**
 * srn_responder_next - transmit the answer to the oldest request of the peer
 * @qp: queue pair for which srn_responder_waits() is true
 * @msg: the message
 *
 * Context: the active transmitter.
 *
 * Return: SRN_TX_MESSAGE.
 */
enum srn_tx_verdict srn_responder_next(struct srn_qp *qp, struct srn_tx_msg *msg)
{
	struct srn_inbound *r = &qp->inbound.slots[qp->inbound.cons & (qp->inbound.depth - 1)];

	qp->tx.response_open = true;
	if (r->atomic) {
		tx_atomic_response(qp, msg, r);
		return SRN_TX_MESSAGE;
	}
	msg->opcode = SRN_OP_READ_RESPONSE;
	msg->stag = r->sink_stag;
	msg->to = r->sink_to;
	msg->length = r->src.length;
	msg->source = srn_qp_cursor(qp, &r->src, 1, false, IB_ACCESS_REMOTE_READ);
	return SRN_TX_MESSAGE;
}

/**
 * srn_responder_waits - does a request of the peer wait for its answer?
 * @qp: queue pair
 *
 * Context: the active transmitter.
 *
 * Return: true if one does.
 */
bool srn_responder_waits(const struct srn_qp *qp)
{
	/* Acquire: the slots up to there are written. */
	return qp->inbound.cons != smp_load_acquire(&qp->inbound.prod);
}

/**
 * srn_responder_sent - the answer in hand is completely in FPDUs
 * @qp: queue pair
 *
 * The request leaves its queue before the last byte of the answer leaves for the peer, which may
 * answer that byte with another Read Request.
 *
 * Context: the active transmitter.
 */
void srn_responder_sent(struct srn_qp *qp)
{
	/* The slot has been read before it is given back. */
	smp_store_release(&qp->inbound.cons, qp->inbound.cons + 1);
	qp->tx.response_open = false;
}
