// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The order in which the segments of a stream have to come.
 */
#include "sequence.h"

/**
 * srn_sequence_init - prepare for the first segment of a stream
 * @q: sequence
 * @rtr_read: our ready message is an empty Read, which is no request of the layer above, and will
 *	be answered
 * @rtr_send_may_come: an empty Send as the first message is the peer's ready message
 *
 * Context: any.
 */
void srn_sequence_init(struct srn_sequence *q, bool rtr_read, bool rtr_send_may_come)
{
	u32 i;

	memset(q, 0, sizeof(*q));
	for (i = 0; i < SRN_QN_COUNT; i++)
		q->queue[i].msn = 1;
	q->rtr_read = rtr_read;
	q->rtr_send_may_come = rtr_send_may_come;
}

/* Does the segment continue the response to the oldest Read, with no more than was asked for? */
static int check_read_response(struct srn_sequence *q, const struct srn_rdmap_header *h,
			       u32 payload, const struct srn_request *oldest,
			       struct srn_term_code *term)
{
	u32 left;

	if (oldest->kind != SRN_REQUEST_READ || h->stag != oldest->sink_stag) {
		*term = SRN_TERM(SRN_LAYER_DDP, SRN_DDP_TAGGED_BUFFER, SRN_TAGGED_INVALID_STAG);
		return -EPROTO;
	}
	q->read_length = oldest->length;
	left = q->read_length - q->read_done;
	if (h->to != q->read_done || payload > left || (h->last && payload != left)) {
		*term = SRN_TERM(SRN_LAYER_DDP, SRN_DDP_TAGGED_BUFFER, SRN_TAGGED_BOUNDS);
		return -EPROTO;
	}
	return 0;
}

/**
 * srn_sequence_check - may this segment come now?
 * @q: sequence; from here on it knows whether the segment is a ready message
 * @h: header, valid in itself (srn_rdmap_check_header())
 * @payload: bytes that follow
 * @oldest: request that a response would have to answer
 * @term: reason, set on failure
 *
 * Writes may come at any time.
 *
 * Context: any.
 *
 * Return: 0, or -EPROTO.
 */
int srn_sequence_check(struct srn_sequence *q, const struct srn_rdmap_header *h, u32 payload,
		       const struct srn_request *oldest, struct srn_term_code *term)
{
	bool empty = !payload && h->last;

	/* A ready message has a place in the sequence, but is not delivered as a message. */
	q->rtr = empty && ((h->opcode == SRN_OP_SEND && q->rtr_send_may_come) ||
			   (h->opcode == SRN_OP_READ_RESPONSE && q->rtr_read && !q->read_open));
	q->rtr_send_may_come = false;
	if (h->opcode == SRN_OP_WRITE)
		return 0;
	if (h->opcode == SRN_OP_READ_RESPONSE)
		return q->rtr ? 0 : check_read_response(q, h, payload, oldest, term);
	if (srn_rdmap_check_untagged(&q->queue[h->qn], h, payload, term))
		return -EPROTO;
	if (h->opcode == SRN_OP_ATOMIC_RESPONSE && oldest->kind != SRN_REQUEST_ATOMIC) {
		*term = SRN_TERM(SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_NO_BUFFER);
		return -EPROTO;
	}
	if (h->opcode == SRN_OP_TERMINATE && payload > SRN_TERM_MAX) {
		*term = SRN_TERM(SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_TOO_LONG);
		return -EPROTO;
	}
	/* The longest Terminate fits in any segment. */
	if (h->opcode == SRN_OP_TERMINATE && !h->last) {
		*term = SRN_TERM(SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_OPERATION,
				 SRN_OPER_UNSPECIFIED);
		return -EPROTO;
	}
	return 0;
}

/**
 * srn_sequence_continue - take a segment that continues a message without ending it
 * @q: sequence
 * @before: header of the previous segment, which was allowed, is complete and not the last one of
 *	its message; the header of this segment differs only in its offset
 * @offset: TO or MO of this segment
 * @payload: payload bytes of this segment
 *
 * Context: any.
 *
 * Return: false if something is wrong with the segment; nothing has changed then, and
 * srn_sequence_check() says what is wrong.
 */
bool srn_sequence_continue(struct srn_sequence *q, const struct srn_rdmap_header *before,
			   u64 offset, u32 payload)
{
	u32 *done;

	if (before->opcode == SRN_OP_WRITE)
		return true;
	done = before->tagged ? &q->read_done : &q->queue[before->qn].mo;
	if (offset != *done || payload > (before->tagged ? q->read_length : ~0u) - *done)
		return false;
	*done += payload;
	return true;
}

/**
 * srn_sequence_advance - account for a segment that was allowed and is complete
 * @q: sequence
 * @h: its header
 * @payload: its payload bytes
 *
 * Context: any.
 *
 * Return: true if there is a message to be delivered.
 */
bool srn_sequence_advance(struct srn_sequence *q, const struct srn_rdmap_header *h, u32 payload)
{
	if (!h->tagged) {
		srn_rdmap_advance_untagged(&q->queue[h->qn], payload, h->last);
	} else if (h->opcode == SRN_OP_READ_RESPONSE && q->rtr) {
		q->rtr_read = false;
	} else if (h->opcode == SRN_OP_READ_RESPONSE) {
		q->read_open = !h->last;
		q->read_done = h->last ? 0 : q->read_done + payload;
	}
	return h->last && !q->rtr;
}
