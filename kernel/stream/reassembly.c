// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reassembly: payload of an FPDU that arrives in pieces is kept until the FPDU's CRC is known
 * (RFC 5044 section 6).
 *
 * If a long FPDU lies in one packet, or a short one in one piece, its CRC is checked in place.
 * Otherwise neither its header nor a byte of its payload may be trusted before the last piece has
 * arrived. Leaving the payload in the socket would need a window that the longest FPDU fits into:
 * without window scaling there is none, and with a small receive buffer, or when memory is short,
 * TCP offers less. So the payload is copied into chunks of memory, which are kept only until the
 * rest has arrived. They are allocated as the payload arrives: a peer makes us keep what it has
 * sent, and no more. Pages may be as large as all of an FPDU.
 */
#include <linux/sizes.h>
#include <linux/slab.h>

#include "reassembly.h"
#include "stream.h"

#define CHUNK		SZ_4K
/* Enough for the largest value of the length field. */
#define MAX_CHUNKS	DIV_ROUND_UP(U16_MAX, CHUNK)

/**
 * struct srn_reassembly - payload of an FPDU
 * @num_chunks: entries of @chunks
 * @chunks: memory for as much of the payload as has arrived
 */
struct srn_reassembly {
	u32 num_chunks;
	void *chunks[MAX_CHUNKS];
};

static size_t room(const struct srn_reassembly *r)
{
	return r ? r->num_chunks * CHUNK : 0;
}

/* Return: how far into the payload the parser will be after @len more bytes of input. */
static u32 end_of(const struct srn_fpdu_parser *p, u32 len)
{
	return p->payload_done + min(len, p->payload_len - p->payload_done);
}

/**
 * srn_reassembly_ready - is there room for what the parser is about to be given?
 * @s: stream
 * @len: bytes of input that are at hand
 *
 * Context: the receiver.
 *
 * Return: true if there is.
 */
bool srn_reassembly_ready(const struct srn_stream *s, u32 len)
{
	const struct srn_fpdu_parser *p = &s->parser;

	return !srn_fpdu_in_doubt(p) || p->stage != SRN_STAGE_PAYLOAD ||
	       end_of(p, len) <= room(s->reassembly);
}

/**
 * srn_reassembly_grow - get room
 * @s: stream for which srn_reassembly_ready() says no
 * @len: bytes of input that are at hand
 * @gfp: how memory may be allocated
 *
 * Context: the receiver; may sleep as @gfp does.
 *
 * Return: 0 or -ENOMEM.
 */
int srn_reassembly_grow(struct srn_stream *s, u32 len, gfp_t gfp)
{
	u32 end = end_of(&s->parser, len);
	void *chunk;

	if (!s->reassembly)
		s->reassembly = kzalloc(sizeof(*s->reassembly), gfp);
	if (!s->reassembly)
		return -ENOMEM;
	while (room(s->reassembly) < end) {
		chunk = kmalloc(CHUNK, gfp);
		if (!chunk)
			return -ENOMEM;
		s->reassembly->chunks[s->reassembly->num_chunks++] = chunk;
	}
	return 0;
}

/**
 * srn_reassembly_add - keep the next bytes of the payload
 * @s: stream that is ready for them
 * @ev: PAYLOAD event of its parser
 *
 * Context: the receiver.
 */
void srn_reassembly_add(struct srn_stream *s, const struct srn_fpdu_event *ev)
{
	u32 done = 0, at, n;

	for (; done < ev->len; done += n) {
		at = ev->offset + done;
		n = min_t(u32, ev->len - done, CHUNK - at % CHUNK);
		memcpy(s->reassembly->chunks[at / CHUNK] + at % CHUNK, ev->data + done, n);
	}
}

/**
 * srn_reassembly_deliver - the FPDU is good: hand out its payload
 * @s: stream
 * @term: reason, on failure
 *
 * Context: the receiver.
 *
 * Return: 0 or -EPROTO.
 */
int srn_reassembly_deliver(struct srn_stream *s, struct srn_term_code *term)
{
	u32 len = s->parser.payload_len, done = 0, n;
	int ret = 0;

	if (!s->reassembly)
		return 0;
	for (; !ret && done < len; done += n) {
		n = min_t(u32, len - done, CHUNK);
		ret = s->ops->rx_place(s, s->reassembly->chunks[done / CHUNK], n, term);
	}
	srn_reassembly_end(s);
	return ret;
}

/**
 * srn_reassembly_end - free the payload that is kept
 * @s: stream
 *
 * Context: the receiver, or any process once nobody receives any more.
 */
void srn_reassembly_end(struct srn_stream *s)
{
	struct srn_reassembly *r = s->reassembly;

	s->reassembly = NULL;
	while (r && r->num_chunks)
		kfree(r->chunks[--r->num_chunks]);
	kfree(r);
}
