// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Private data by which queue pairs that are brought up by hand find each other.
 */
#include "bring_up.h"

#define MAGIC		0x73726e51	/* "srnQ" */
#define VERSION		1
#define FLAG_SQ_PSN	0x01
#define FLAG_ANSWERS	0x02
#define FLAG_NONCE	0x04

struct wire_bring_up {
	__be32 magic;
	u8 version;
	u8 flags;
	__be16 reserved;
	u8 source_gid[SRN_GID_LEN];
	u8 dest_gid[SRN_GID_LEN];
	__be32 source_qpn;
	__be32 dest_qpn;
	__be32 sq_psn;
	__be32 rq_psn;
} __packed;

static_assert(sizeof(struct wire_bring_up) == SRN_BRING_UP_LEN);

/**
 * srn_bring_up_get - decode private data
 * @bytes: data
 * @len: its length; a later version may append to it
 * @b: result
 *
 * Context: any.
 *
 * Return: 0, or -EPROTO if the sender has not brought up a queue pair by hand.
 */
int srn_bring_up_get(const u8 *bytes, u32 len, struct srn_bring_up *b)
{
	struct wire_bring_up w;

	if (len < sizeof(w))
		return -EPROTO;
	memcpy(&w, bytes, sizeof(w));
	if (be32_to_cpu(w.magic) != MAGIC || w.version < VERSION)
		return -EPROTO;
	b->has_sq_psn = w.flags & FLAG_SQ_PSN;
	b->answers = w.flags & FLAG_ANSWERS;
	memcpy(b->source_gid, w.source_gid, SRN_GID_LEN);
	memcpy(b->dest_gid, w.dest_gid, SRN_GID_LEN);
	b->source_qpn = be32_to_cpu(w.source_qpn);
	b->dest_qpn = be32_to_cpu(w.dest_qpn);
	b->sq_psn = be32_to_cpu(w.sq_psn);
	b->rq_psn = be32_to_cpu(w.rq_psn);
	b->has_nonce = w.flags & FLAG_NONCE;
	if (!b->has_nonce)
		return 0;
	if (len < SRN_BRING_UP_PROVEN)
		return -EPROTO;
	memcpy(b->nonce, bytes + sizeof(w), SRN_BRING_UP_NONCE);
	return 0;
}

/**
 * srn_bring_up_get_proof - find the proof behind private data with a nonce
 * @bytes: data that srn_bring_up_get() has decoded
 * @len: its length
 *
 * Context: any.
 *
 * Return: %SRN_BRING_UP_PROOF bytes, or NULL if there are not so many.
 */
const u8 *srn_bring_up_get_proof(const u8 *bytes, u32 len)
{
	return len < SRN_BRING_UP_PROVEN + SRN_BRING_UP_PROOF ? NULL : bytes + SRN_BRING_UP_PROVEN;
}

/**
 * srn_bring_up_put - encode private data
 * @out: %SRN_BRING_UP_LEN bytes, or %SRN_BRING_UP_PROVEN with a nonce
 * @b: values
 *
 * Context: any.
 *
 * Return: bytes written.
 */
u32 srn_bring_up_put(u8 *out, const struct srn_bring_up *b)
{
	struct wire_bring_up w = {
		.magic = cpu_to_be32(MAGIC),
		.version = VERSION,
		.flags = (b->has_sq_psn ? FLAG_SQ_PSN : 0) | (b->answers ? FLAG_ANSWERS : 0) |
			 (b->has_nonce ? FLAG_NONCE : 0),
		.source_qpn = cpu_to_be32(b->source_qpn),
		.dest_qpn = cpu_to_be32(b->dest_qpn),
		.sq_psn = cpu_to_be32(b->has_sq_psn ? b->sq_psn : 0),
		.rq_psn = cpu_to_be32(b->rq_psn),
	};

	memcpy(w.source_gid, b->source_gid, SRN_GID_LEN);
	memcpy(w.dest_gid, b->dest_gid, SRN_GID_LEN);
	memcpy(out, &w, sizeof(w));
	if (!b->has_nonce)
		return sizeof(w);
	memcpy(out + sizeof(w), b->nonce, SRN_BRING_UP_NONCE);
	return SRN_BRING_UP_PROVEN;
}
