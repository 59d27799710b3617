// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP and RDMAP headers: encode, decode, check.
 */
#include "atomic.h"
#include "rdmap.h"

static_assert(sizeof(struct srn_wire_tagged) == SRN_TAGGED_HEADER);
static_assert(sizeof(struct srn_wire_untagged) == SRN_UNTAGGED_HEADER);
static_assert(sizeof(struct srn_wire_read_request) == 28);

const struct srn_opcode_info srn_opcodes[16] = {
	[SRN_OP_WRITE] = { .name = "RDMA Write", .known = true, .tagged = true },
	[SRN_OP_READ_REQUEST] = {
		.name = "RDMA Read Request", .known = true, .qn = SRN_QN_READ_REQUEST,
		.ctl_len = sizeof(struct srn_wire_read_request),
	},
	[SRN_OP_READ_RESPONSE] = { .name = "RDMA Read Response", .known = true, .tagged = true },
	[SRN_OP_SEND] = { .name = "Send", .known = true },
	[SRN_OP_SEND_INV] = { .name = "Send with Invalidate", .known = true, .invalidates = true },
	[SRN_OP_SEND_SE] = { .name = "Send with SE", .known = true, .solicited = true },
	[SRN_OP_SEND_SE_INV] = {
		.name = "Send with SE and Invalidate", .known = true,
		.solicited = true, .invalidates = true,
	},
	[SRN_OP_TERMINATE] = { .name = "Terminate", .known = true, .qn = SRN_QN_TERMINATE },
	[SRN_OP_IMM] = {
		.name = "Immediate Data", .known = true, .immediate = true,
		.ctl_len = sizeof(struct srn_wire_immediate),
	},
	[SRN_OP_IMM_SE] = {
		.name = "Immediate Data with SE", .known = true, .immediate = true,
		.solicited = true, .ctl_len = sizeof(struct srn_wire_immediate),
	},
	[SRN_OP_ATOMIC_REQUEST] = {
		.name = "Atomic Request", .known = true, .qn = SRN_QN_READ_REQUEST,
		.ctl_len = sizeof(struct srn_wire_atomic_request),
	},
	[SRN_OP_ATOMIC_RESPONSE] = {
		.name = "Atomic Response", .known = true, .qn = SRN_QN_ATOMIC_RESPONSE,
		.ctl_len = sizeof(struct srn_wire_atomic_response),
	},
	[SRN_OP_SEND_IMM] = { .name = "Send with Immediate", .known = true, .immediate = true },
	[SRN_OP_SEND_SE_IMM] = {
		.name = "Send with SE and Immediate", .known = true,
		.solicited = true, .immediate = true,
	},
	[0xe] = { .name = "reserved" },
	[0xf] = { .name = "reserved" },
};

/**
 * srn_rdmap_put_tagged - write MPA length and header of a tagged segment
 * @w: where to, %SRN_TAGGED_HEADER bytes
 * @op: RDMAP opcode
 * @stag: STag of the data sink
 * @to: tagged offset of the segment's first byte
 * @payload: payload bytes of this segment
 * @last: this segment ends the message
 *
 * RFC 5041 section 4.2, RFC 5044 section 4.1.
 *
 * Context: any.
 */
void srn_rdmap_put_tagged(struct srn_wire_tagged *w, enum srn_rdmap_opcode op, u32 stag, u64 to,
			  u32 payload, bool last)
{
	w->mpa_len = cpu_to_be16(SRN_TAGGED_HEADER - SRN_MPA_LENGTH + payload);
	w->ddp_ctrl = SRN_DDP_TAGGED | SRN_DDP_VERSION | (last ? SRN_DDP_LAST : 0);
	w->rdmap_ctrl = SRN_RDMAP_VERSION | op;
	w->stag = cpu_to_be32(stag);
	w->to = cpu_to_be64(to);
}

/**
 * srn_rdmap_put_untagged - write MPA length and header of an untagged segment
 * @w: where to, %SRN_UNTAGGED_HEADER bytes
 * @op: RDMAP opcode; the queue number follows from it
 * @inv_stag: STag to invalidate, or immediate data; 0 where the opcode has neither
 * @msn: message sequence number
 * @mo: message offset of the segment's first byte
 * @payload: payload bytes of this segment
 * @last: this segment ends the message
 *
 * RFC 5041 section 4.3, RFC 5044 section 4.1.
 *
 * Context: any.
 */
void srn_rdmap_put_untagged(struct srn_wire_untagged *w, enum srn_rdmap_opcode op, u32 inv_stag,
			    u32 msn, u32 mo, u32 payload, bool last)
{
	w->mpa_len = cpu_to_be16(SRN_UNTAGGED_HEADER - SRN_MPA_LENGTH + payload);
	w->ddp_ctrl = SRN_DDP_VERSION | (last ? SRN_DDP_LAST : 0);
	w->rdmap_ctrl = SRN_RDMAP_VERSION | op;
	w->inv_stag = cpu_to_be32(inv_stag);
	w->qn = cpu_to_be32(srn_opcodes[op].qn);
	w->msn = cpu_to_be32(msn);
	w->mo = cpu_to_be32(mo);
}

/**
 * srn_rdmap_get_header - decode a complete DDP/RDMAP header
 * @bytes: MPA length and header: %SRN_TAGGED_HEADER bytes if its T bit is set,
 *	else %SRN_UNTAGGED_HEADER
 * @h: result, in host order; nothing in it has been checked
 *
 * Context: any.
 */
void srn_rdmap_get_header(const u8 *bytes, struct srn_rdmap_header *h)
{
	struct srn_wire_untagged u;
	struct srn_wire_tagged t;

	memset(h, 0, sizeof(*h));
	memcpy(&t, bytes, sizeof(t));
	h->ddp_ctrl = t.ddp_ctrl;
	h->rdmap_ctrl = t.rdmap_ctrl;
	h->opcode = t.rdmap_ctrl & SRN_RDMAP_OPCODE_MASK;
	h->tagged = t.ddp_ctrl & SRN_DDP_TAGGED;
	h->last = t.ddp_ctrl & SRN_DDP_LAST;
	if (h->tagged) {
		h->stag = be32_to_cpu(t.stag);
		h->to = be64_to_cpu(t.to);
		return;
	}
	memcpy(&u, bytes, sizeof(u));
	h->stag = be32_to_cpu(u.inv_stag);
	h->qn = be32_to_cpu(u.qn);
	h->msn = be32_to_cpu(u.msn);
	h->mo = be32_to_cpu(u.mo);
}

/**
 * srn_rdmap_check_header - check what a header alone can tell
 * @h: decoded header
 * @term: reason, set on failure
 *
 * This checks versions and opcode, and that the header has the opcode's buffer model (tagged or
 * untagged) and queue (RFC 5041 section 7, RFC 5040 section 7).
 *
 * Context: any.
 *
 * Return: 0, or -EPROTO.
 */
int srn_rdmap_check_header(const struct srn_rdmap_header *h, struct srn_term_code *term)
{
	const struct srn_opcode_info *info = &srn_opcodes[h->opcode];

	if ((h->ddp_ctrl & SRN_DDP_VERSION_MASK) != SRN_DDP_VERSION) {
		*term = h->tagged ?
			SRN_TERM(SRN_LAYER_DDP, SRN_DDP_TAGGED_BUFFER, SRN_TAGGED_VERSION) :
			SRN_TERM(SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_VERSION);
		return -EPROTO;
	}
	if (!h->tagged && h->qn >= SRN_QN_COUNT) {
		*term = SRN_TERM(SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_QN);
		return -EPROTO;
	}
	if ((h->rdmap_ctrl & SRN_RDMAP_VERSION_MASK) != SRN_RDMAP_VERSION) {
		*term = SRN_TERM(SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_OPERATION, SRN_OPER_VERSION);
		return -EPROTO;
	}
	if (!info->known || info->tagged != h->tagged || (!h->tagged && info->qn != h->qn)) {
		*term = SRN_TERM(SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_OPERATION, SRN_OPER_OPCODE);
		return -EPROTO;
	}
	return 0;
}

/**
 * srn_rdmap_check_untagged - is this the segment that the queue expects?
 * @q: the header's queue, with the message that it expects next
 * @h: checked header
 * @payload: payload bytes of the segment
 * @term: reason, set on failure
 *
 * TCP delivers in order, so a message sequence number or offset other than the
 * next one is a violation (RFC 5041 section 5.3). Control messages have an
 * exact length and are never segmented.
 *
 * Context: any.
 *
 * Return: 0, or -EPROTO.
 */
int srn_rdmap_check_untagged(const struct srn_untagged_queue *q, const struct srn_rdmap_header *h,
			     u32 payload, struct srn_term_code *term)
{
	u32 ctl_len = srn_opcodes[h->opcode].ctl_len;

	if (h->msn != q->msn) {
		*term = SRN_TERM(SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_MSN_RANGE);
		return -EPROTO;
	}
	/* Immediate Data shares its queue with Sends, of which one may be unfinished. */
	if (h->mo != q->mo || (ctl_len && h->mo)) {
		*term = SRN_TERM(SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_MO);
		return -EPROTO;
	}
	if (payload > ~0u - h->mo || (ctl_len && payload > ctl_len)) {
		*term = SRN_TERM(SRN_LAYER_DDP, SRN_DDP_UNTAGGED_BUFFER, SRN_UNTAGGED_TOO_LONG);
		return -EPROTO;
	}
	if (ctl_len && (payload != ctl_len || !h->last)) {
		*term = SRN_TERM(SRN_LAYER_RDMAP, SRN_RDMAP_REMOTE_OPERATION,
				 SRN_OPER_UNSPECIFIED);
		return -EPROTO;
	}
	return 0;
}

/**
 * srn_rdmap_advance_untagged - account for a segment that has been placed
 * @q: queue of the segment
 * @payload: its payload bytes
 * @last: it ended its message
 *
 * Context: any.
 */
void srn_rdmap_advance_untagged(struct srn_untagged_queue *q, u32 payload, bool last)
{
	if (last) {
		q->msn++;
		q->mo = 0;
	} else {
		q->mo += payload;
	}
}

static bool term_includes_ddp(struct srn_term_code code)
{
	return code.layer == SRN_LAYER_DDP ? code.etype != SRN_DDP_CATASTROPHIC :
	       code.layer == SRN_LAYER_RDMAP && code.etype != SRN_RDMAP_CATASTROPHIC;
}

/**
 * srn_rdmap_put_terminate - write the payload of a Terminate message
 * @out: where to, %SRN_TERM_MAX bytes
 * @code: why
 * @offender: MPA length and DDP/RDMAP header of the segment at fault, or NULL
 * @offender_len: bytes at @offender
 * @rreq: Read Request header at fault, or NULL
 *
 * Which headers are included follows from the error (RFC 5040 section 4.8,
 * figure 10).
 *
 * Context: any.
 *
 * Return: payload length in bytes.
 */
u32 srn_rdmap_put_terminate(u8 *out, struct srn_term_code code, const u8 *offender,
			    u32 offender_len, const struct srn_wire_read_request *rreq)
{
	u32 len = 4;

	memset(out, 0, SRN_TERM_MAX);
	out[0] = code.layer << 4 | code.etype;
	out[1] = code.ecode;
	if (!offender || offender_len < SRN_TAGGED_HEADER || !term_includes_ddp(code))
		return len;
	out[2] = SRN_TERM_HAS_LENGTH | SRN_TERM_HAS_DDP;
	/* The DDP segment length is the ULPDU length in front of the header. */
	memcpy(out + len, offender, offender_len);
	len += offender_len;
	if (rreq && code.layer == SRN_LAYER_RDMAP && code.etype == SRN_RDMAP_REMOTE_PROTECTION) {
		out[2] |= SRN_TERM_HAS_RDMAP;
		memcpy(out + len, rreq, sizeof(*rreq));
		len += sizeof(*rreq);
	}
	return len;
}

/**
 * srn_rdmap_get_terminate - decode the payload of a received Terminate
 * @bytes: payload
 * @len: its length
 * @t: result
 *
 * Context: any.
 *
 * Return: 0, or -EPROTO if it is too short for what it claims to hold.
 */
int srn_rdmap_get_terminate(const u8 *bytes, u32 len, struct srn_terminate *t)
{
	struct srn_wire_read_request request;
	u8 header[SRN_MAX_HEADER] = {};
	u32 need = 4, header_len;

	memset(t, 0, sizeof(*t));
	if (len < need)
		return -EPROTO;
	t->code = SRN_TERM(bytes[0] >> 4, bytes[0] & 0xf, bytes[1]);
	if (!(bytes[2] & SRN_TERM_HAS_DDP))
		return 0;
	if (len < need + SRN_TAGGED_HEADER)
		return -EPROTO;
	header_len = bytes[need + SRN_MPA_LENGTH] & SRN_DDP_TAGGED ?
		     SRN_TAGGED_HEADER : SRN_UNTAGGED_HEADER;
	need += header_len;
	if (bytes[2] & SRN_TERM_HAS_RDMAP)
		need += sizeof(struct srn_wire_read_request);
	if (len < need)
		return -EPROTO;
	memcpy(header, bytes + 4, header_len);
	srn_rdmap_get_header(header, &t->header);
	t->has_header = true;
	t->has_read = bytes[2] & SRN_TERM_HAS_RDMAP && t->header.opcode == SRN_OP_READ_REQUEST;
	if (t->has_read) {
		memcpy(&request, bytes + 4 + header_len, sizeof(request));
		t->sink_stag = be32_to_cpu(request.sink_stag);
	}
	return 0;
}
