// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Where the bytes of each segment go. RFC 5040 section 5, RFC 5041 sections 5 and 7.
 */
#include "placement.h"
#include "receive.h"
#include "requests.h"
#include "responder.h"
#include "rnr.h"
#include "state.h"

/* Whoever polls the end of a Write looks at no more bytes than these. */

/* How the peer is told of a fault of memory that it writes to. */
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

/* Start again with other entries. */
static void cursor_start(struct srn_qp *qp, struct srn_cursor *c, const struct srn_sge *sge,
			 u32 num, bool kernel, u32 access)
{
	srn_cursor_release(c);
	*c = srn_qp_cursor(qp, sge, num, kernel, access);
}

static int begin_write(struct srn_qp *qp, const struct srn_rdmap_header *h, u32 payload,
		       struct srn_term_code *term)
{
	struct srn_qp_rx *rx = &qp->rx;
	struct srn_cursor *c = &rx->write;
	enum srn_mem_fault fault;
	void *data;
	u32 len;

	rx->target = c;
	rx->write_len = payload + (rx->write_open ? rx->write_len : 0);
	rx->write_open = !h->last;
	/* STag and offset of an empty Write mean nothing, RFC 5041 section 5.2. */
	if (!payload)
		return 0;
	if (!(READ_ONCE(qp->access) & IB_ACCESS_REMOTE_WRITE)) {
		*term = write_fault(SRN_MEM_NO_ACCESS);
		return -EPROTO;
	}
	/* The region is open already, as it is for the next segment of the same message. */
	if (c->held && READ_ONCE(c->held->stag) == h->stag) {
		fault = srn_mem_check(c->held, c->pd, h->to, payload, c->access);
		rx->write_sge.addr = h->to;
		rx->write_sge.length = payload;
		c->index = 0;
		c->offset = 0;
		c->usable = payload;
	} else {
		rx->write_sge = (struct srn_sge) {
			.addr = h->to, .length = payload, .lkey = h->stag
		};
		cursor_start(qp, c, &rx->write_sge, 1, false, IB_ACCESS_REMOTE_WRITE);
		/* The payload may come in pieces, and none is placed unless all of it may be. */
		fault = srn_cursor_peek(c, payload, &data, &len);
	}
	if (fault == SRN_MEM_OK)
		return 0;
	*term = write_fault(fault);
	return -EPROTO;
}

static bool is_response(const struct srn_rdmap_header *h)
{
	return h->opcode == SRN_OP_READ_RESPONSE || h->opcode == SRN_OP_ATOMIC_RESPONSE;
}

/*
 * If the segment is a response, describe the request that it has to be for. Return: that request,
 * or NULL.
 */
static struct srn_send *oldest_request(struct srn_qp *qp, const struct srn_rdmap_header *h,
				       struct srn_request *oldest)
{
	struct srn_send *send = NULL;
	u32 index;

	oldest->kind = SRN_REQUEST_NONE;
	if (is_response(h))
		send = srn_requests_oldest(qp, &index);
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

static int begin_send(struct srn_qp *qp, const struct srn_rdmap_header *h, u32 payload,
		      struct srn_term_code *term)
{
	struct srn_qp_rx *rx = &qp->rx;
	int ret;

	rx->target = &rx->recv;
	if (!rx->wr_taken) {
		ret = srn_receive_take(qp, term);
		if (ret)
			return ret;
	}
	if (srn_opcodes[h->opcode].ctl_len) {
		/* Immediate Data takes a receive, but none of its memory. */
		rx->target = NULL;
		return 0;
	}
	if ((u64)h->mo + payload > qp->recv->length) {
		srn_receive_fail(qp, IB_WC_LOC_LEN_ERR);
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
 * srn_placement_start - begin with a segment that does not wait, or has waited long enough
 * @qp: queue pair
 * @h: header, valid in itself
 * @payload: bytes that follow
 * @term: reason, on failure
 *
 * Decides where the payload goes. Context: the receiver.
 *
 * Return: 0, -EPROTO, or -ENOENT if there is no receive and it may wait for one.
 */
int srn_placement_start(struct srn_qp *qp, const struct srn_rdmap_header *h, u32 payload,
			struct srn_term_code *term)
{
	struct srn_qp_rx *rx = &qp->rx;
	struct srn_request oldest;
	struct srn_send *send;

	rx->header = *h;
	rx->payload = payload;
	send = oldest_request(qp, h, &oldest);
	if (srn_sequence_check(&rx->sequence, h, payload, &oldest, term))
		return -EPROTO;
	/* The default serves control messages, and an RTR, which is no message of the consumer. */
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

static bool is_request(const struct srn_rdmap_header *h)
{
	return h->opcode == SRN_OP_READ_REQUEST || h->opcode == SRN_OP_ATOMIC_REQUEST;
}

/**
 * srn_placement_begin - a segment's header is complete
 * @s: stream of the queue pair
 * @h: header, valid in itself
 * @payload: bytes that follow
 * @term: reason, on failure
 *
 * Decides where the payload goes. Context: the receiver.
 *
 * Return: 0, -EPROTO, or -ENOMEM if the caller has to call srn_placement_memory() and then this
 * again.
 */
int srn_placement_begin(struct srn_stream *s, const struct srn_rdmap_header *h, u32 payload,
			struct srn_term_code *term)
{
	struct srn_qp *qp = srn_qp_of_stream(s);
	int ret = -ENOENT;

	if (unlikely(!qp->inbound.slots) && is_request(h))
		return -ENOMEM;
	if (likely(!qp->rx.waits) || !srn_rnr_waits_behind(h))
		ret = srn_placement_start(qp, h, payload, term);
	if (unlikely(ret == -ENOENT))
		ret = srn_rnr_begin(qp, h, payload);
	if (ret != -ENOMEM)
		count_segment(&qp->rx, h);
	return ret;
}

/*
 * Can the segment in hand begin after all? Whoever posts a receive does not ring as long as nothing
 * is kept, so one may have come meanwhile.
 */
static bool needs_no_other_receive(struct srn_qp *qp)
{
	return qp->rx.wr_taken || qp->stream.parser.rdmap.qn != SRN_QN_SEND ||
	       srn_receive_posted(qp);
}

/**
 * srn_placement_memory - get the memory that srn_placement_begin() had none of
 * @s: stream of the queue pair
 * @gfp: allocation flags
 *
 * Context: the receiver; sleeps if @gfp allows it.
 *
 * Return: 0, also if none is needed any more; or -ENOMEM.
 */
int srn_placement_memory(struct srn_stream *s, gfp_t gfp)
{
	struct srn_qp *qp = srn_qp_of_stream(s);

	if (!qp->inbound.slots && is_request(&s->parser.rdmap))
		return srn_responder_memory(qp, gfp);
	if (!qp->rx.waits && needs_no_other_receive(qp))
		return 0;
	return srn_rnr_memory(qp, gfp);
}

/*
 * Place bytes of a Write's last segment. Programs poll the end of a Write, or a few words there, to
 * see that all of it has come. No specification promises them that it works, and adapters let it
 * work. So the end waits in @control until all of it is there, if it comes in pieces.
 */
static enum srn_mem_fault place_last(struct srn_qp_rx *rx, const u8 *data, u32 len)
{
	/* A short Write is not worth dividing. */
	u32 end = rx->payload <= 2 * SRN_POLLED_BYTES && len == rx->payload ?
		  len : min(rx->payload, SRN_POLLED_BYTES);
	u32 n = min(len, rx->payload - end - rx->write.offset);
	enum srn_mem_fault fault;

	if (n) {
		fault = srn_cursor_write(&rx->write, data, n);
		if (fault != SRN_MEM_OK || n == len)
			return fault;
	}
	if (likely(len - n == end))
		return srn_cursor_write_in_order(&rx->write, data + n, end);
	memcpy(rx->control + rx->control_len, data + n, len - n);
	rx->control_len += len - n;
	if (rx->control_len < end)
		return SRN_MEM_OK;
	return srn_cursor_write_in_order(&rx->write, rx->control, end);
}

/**
 * srn_placement_place - put payload where it belongs
 * @s: stream of the queue pair
 * @data: bytes
 * @len: how many
 * @term: reason, on failure
 *
 * Context: the receiver.
 *
 * Return: 0 or -EPROTO.
 */
int srn_placement_place(struct srn_stream *s, const u8 *data, u32 len, struct srn_term_code *term)
{
	struct srn_qp *qp = srn_qp_of_stream(s);
	struct srn_qp_rx *rx = &qp->rx;
	enum srn_mem_fault fault;
	struct srn_send *send;
	u32 index;

	if (!rx->target) {
		if (srn_rnr_open(qp)) {
			srn_rnr_place(qp, data, len);
			return 0;
		}
		memcpy(rx->control + rx->control_len, data, len);
		rx->control_len += len;
		return 0;
	}
	if (rx->target == &rx->write && rx->header.last)
		fault = place_last(rx, data, len);
	else
		fault = srn_cursor_write(rx->target, data, len);
	if (fault == SRN_MEM_OK)
		return 0;
	if (rx->target == &rx->write) {
		*term = write_fault(fault);
		return -EPROTO;
	}
	*term = srn_state_local_error;
	if (rx->target == &rx->recv) {
		srn_receive_fail(qp, IB_WC_LOC_PROT_ERR);
	} else {
		send = srn_requests_oldest(qp, &index);
		if (send)
			send->status = IB_WC_LOC_PROT_ERR;
	}
	return -EPROTO;
}

/**
 * srn_placement_continue - a whole segment in the middle of the message in hand
 * @s: stream of the queue pair
 * @m: the segment; its header differs from that of the segment before only in the offset
 *
 * If the region or entry that the message is being placed in is open and has room, this does what
 * srn_placement_begin(), srn_placement_place() and srn_delivery_end() would do.
 *
 * Context: the receiver.
 *
 * Return: false if nothing was done, and those have to be called.
 */
bool srn_placement_continue(struct srn_stream *s, const struct srn_fpdu_continuation *m)
{
	struct srn_qp *qp = srn_qp_of_stream(s);
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

		if (m->len > c->usable - c->offset ||
		    !srn_sequence_continue(&rx->sequence, &rx->header, m->offset, m->len))
			return false;
		to = sge->addr + c->offset;
		c->offset += m->len;
	}
	count_segment(rx, &rx->header);
	srn_mem_write(c->held, to, m->payload, m->len);
	return true;
}

/**
 * srn_placement_pause - close all accesses to memory
 * @s: stream of the queue pair
 *
 * Context: the receiver.
 */
void srn_placement_pause(struct srn_stream *s)
{
	struct srn_qp *qp = srn_qp_of_stream(s);

	srn_cursor_release(&qp->rx.write);
	srn_cursor_release(&qp->rx.recv);
	srn_cursor_release(&qp->rx.read);
}
