/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * DDP and RDMAP headers: layout, opcode properties, validity checks and the
 * Terminate message (RFC 5040, RFC 5041). Pure functions on bytes.
 */
#ifndef SRN_WIRE_RDMAP_H
#define SRN_WIRE_RDMAP_H

#include "platform.h"

enum srn_rdmap_opcode {
	SRN_OP_WRITE		= 0x0,
	SRN_OP_READ_REQUEST	= 0x1,
	SRN_OP_READ_RESPONSE	= 0x2,
	SRN_OP_SEND		= 0x3,
	SRN_OP_SEND_INV		= 0x4,
	SRN_OP_SEND_SE		= 0x5,
	SRN_OP_SEND_SE_INV	= 0x6,
	SRN_OP_TERMINATE	= 0x7,
	SRN_OP_IMM		= 0x8,
	SRN_OP_IMM_SE		= 0x9,
	SRN_OP_ATOMIC_REQUEST	= 0xa,
	SRN_OP_ATOMIC_RESPONSE	= 0xb,
	/* Our own: the RFCs have no Send that carries immediate data. */
	SRN_OP_SEND_IMM		= 0xc,
	SRN_OP_SEND_SE_IMM	= 0xd,
	SRN_OP_COUNT
};

/* Untagged queues, RFC 5040 section 3.1 and RFC 7306 section 10.2. */
#define SRN_QN_SEND		0
#define SRN_QN_READ_REQUEST	1
#define SRN_QN_TERMINATE	2
#define SRN_QN_ATOMIC_RESPONSE	3
#define SRN_QN_COUNT		4

/* MPA length + DDP/RDMAP header, in bytes. */
#define SRN_TAGGED_HEADER	16
#define SRN_UNTAGGED_HEADER	20
#define SRN_MAX_HEADER		SRN_UNTAGGED_HEADER
#define SRN_MPA_LENGTH		2

#define SRN_DDP_TAGGED		0x80
#define SRN_DDP_LAST		0x40
#define SRN_DDP_VERSION_MASK	0x03
#define SRN_DDP_VERSION		0x01
#define SRN_RDMAP_VERSION_MASK	0xc0
#define SRN_RDMAP_VERSION	0x40
#define SRN_RDMAP_OPCODE_MASK	0x0f

struct srn_wire_tagged {
	__be16 mpa_len;
	u8 ddp_ctrl;
	u8 rdmap_ctrl;
	__be32 stag;
	__be64 to;
} __packed;

struct srn_wire_untagged {
	__be16 mpa_len;
	u8 ddp_ctrl;
	u8 rdmap_ctrl;
	__be32 inv_stag;	/* STag to invalidate or immediate data, else reserved */
	__be32 qn;
	__be32 msn;
	__be32 mo;
} __packed;

/* Payload of a Read Request, RFC 5040 section 4.4. */
struct srn_wire_read_request {
	__be32 sink_stag;
	__be64 sink_to;
	__be32 size;
	__be32 src_stag;
	__be64 src_to;
} __packed;

/* A decoded DDP/RDMAP header, all in host order. */
struct srn_rdmap_header {
	u8 ddp_ctrl;
	u8 rdmap_ctrl;
	u8 opcode;
	bool tagged;
	bool last;
	u32 stag;		/* tagged: data sink; untagged: STag to invalidate, immediate */
	u32 qn;			/* untagged */
	u64 to;			/* tagged */
	u32 msn;		/* untagged */
	u32 mo;			/* untagged */
};

/* Why a stream ends: IANA rddp registry, RFC 5040 section 4.8. */
enum srn_term_layer {
	SRN_LAYER_RDMAP	= 0,
	SRN_LAYER_DDP	= 1,
	SRN_LAYER_LLP	= 2,
};

enum srn_term_etype {
	SRN_RDMAP_CATASTROPHIC		= 0,
	SRN_RDMAP_REMOTE_PROTECTION	= 1,
	SRN_RDMAP_REMOTE_OPERATION	= 2,
	SRN_DDP_CATASTROPHIC		= 0,
	SRN_DDP_TAGGED_BUFFER		= 1,
	SRN_DDP_UNTAGGED_BUFFER		= 2,
	SRN_LLP_MPA			= 0,
};

enum srn_term_ecode {
	/* RDMAP, remote protection */
	SRN_PROT_INVALID_STAG		= 0x00,
	SRN_PROT_BOUNDS			= 0x01,
	SRN_PROT_ACCESS			= 0x02,
	SRN_PROT_NOT_ASSOCIATED		= 0x03,
	SRN_PROT_WRAP			= 0x04,
	SRN_PROT_CANNOT_INVALIDATE	= 0x09,
	SRN_PROT_UNSPECIFIED		= 0xff,
	/* RDMAP, remote operation */
	SRN_OPER_VERSION		= 0x05,
	SRN_OPER_OPCODE			= 0x06,
	SRN_OPER_STREAM			= 0x07,
	SRN_OPER_GLOBAL			= 0x08,
	SRN_OPER_UNSPECIFIED		= 0xff,
	/* DDP, tagged buffer */
	SRN_TAGGED_INVALID_STAG		= 0x00,
	SRN_TAGGED_BOUNDS		= 0x01,
	SRN_TAGGED_NOT_ASSOCIATED	= 0x02,
	SRN_TAGGED_WRAP			= 0x03,
	SRN_TAGGED_VERSION		= 0x04,
	/* DDP, untagged buffer */
	SRN_UNTAGGED_QN			= 0x01,
	SRN_UNTAGGED_NO_BUFFER		= 0x02,
	SRN_UNTAGGED_MSN_RANGE		= 0x03,
	SRN_UNTAGGED_MO			= 0x04,
	SRN_UNTAGGED_TOO_LONG		= 0x05,
	SRN_UNTAGGED_VERSION		= 0x06,
	/* LLP, MPA */
	SRN_MPA_CLOSED			= 0x01,
	SRN_MPA_CRC			= 0x02,
	SRN_MPA_LENGTH_MARKER		= 0x03,
	SRN_MPA_REQUEST_REPLY		= 0x04,
	SRN_MPA_LOCAL_CATASTROPHIC	= 0x05,
	SRN_MPA_INSUFFICIENT_IRD	= 0x06,
	SRN_MPA_NO_MATCHING_RTR		= 0x07,
};

struct srn_term_code {
	u8 layer;
	u8 etype;
	u8 ecode;
};

#define SRN_TERM(l, t, e)	((struct srn_term_code){ (l), (t), (e) })

/* Has a peer named memory that it may not use? */
static inline bool srn_rdmap_is_access_fault(struct srn_term_code term)
{
	return (term.layer == SRN_LAYER_RDMAP && term.etype == SRN_RDMAP_REMOTE_PROTECTION) ||
	       (term.layer == SRN_LAYER_DDP && term.etype == SRN_DDP_TAGGED_BUFFER);
}

/* Static properties of an opcode, used by both directions. */
struct srn_opcode_info {
	const char *name;
	bool known;		/* this implementation supports it */
	bool tagged;
	u8 qn;			/* untagged */
	u8 ctl_len;		/* exact payload length, 0: any */
	bool solicited;
	bool invalidates;
	bool immediate;
};

extern const struct srn_opcode_info srn_opcodes[16];

/* Next expected message of an untagged queue. */
struct srn_untagged_queue {
	u32 msn;
	u32 mo;
};

/* Bytes at the end of a Write that a program may poll to see that all of it has come. */
#define SRN_POLLED_BYTES	48u

/* Largest Terminate payload: control word, length, DDP header, Read Request. */
#define SRN_TERM_MAX		(4 + 2 + 18 + 28)

#define SRN_TERM_HAS_LENGTH	0x80
#define SRN_TERM_HAS_DDP	0x40
#define SRN_TERM_HAS_RDMAP	0x20

struct srn_terminate {
	struct srn_term_code code;
	bool has_header;		/* @header is the DDP header at fault */
	struct srn_rdmap_header header;
	bool has_read;			/* @sink_stag is that of the Read Request at fault */
	u32 sink_stag;
};

void srn_rdmap_put_tagged(struct srn_wire_tagged *w, enum srn_rdmap_opcode op, u32 stag, u64 to,
			  u32 payload, bool last);
void srn_rdmap_put_untagged(struct srn_wire_untagged *w, enum srn_rdmap_opcode op, u32 inv_stag,
			    u32 msn, u32 mo, u32 payload, bool last);
void srn_rdmap_get_header(const u8 *bytes, struct srn_rdmap_header *h);
int srn_rdmap_check_header(const struct srn_rdmap_header *h, struct srn_term_code *term);
int srn_rdmap_check_untagged(const struct srn_untagged_queue *q, const struct srn_rdmap_header *h,
			     u32 payload, struct srn_term_code *term);
void srn_rdmap_advance_untagged(struct srn_untagged_queue *q, u32 payload, bool last);
u32 srn_rdmap_put_terminate(u8 *out, struct srn_term_code code, const u8 *offender,
			    u32 offender_len, const struct srn_wire_read_request *rreq);
int srn_rdmap_get_terminate(const u8 *bytes, u32 len, struct srn_terminate *t);

#endif /* SRN_WIRE_RDMAP_H */
