// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Cut messages into FPDUs, and add these to a batch.
 */
#include <linux/sizes.h>
#include <linux/tcp.h>

#include "batch.h"
#include "frame.h"
#include "stream_trace.h"

/* Payload of at most so many bytes is cheaper to copy than to refer to. */
#define COPY_BREAK	512

/* Pieces of an FPDU: header, trailer, and two for each entry, which may end in mid-page. */
#define FIXED_IOV	(2 * SRN_MAX_SGE + 4)

/* Kernel consumers register blocks of so many bytes, also where pages are larger. */
#define MIN_BLOCK	SZ_4K

/*
 * Must the next @len bytes of payload be copied, or may the batch refer to their memory? A kernel
 * consumer may free what it has registered for its peers once that is invalidated, and a memory
 * window does not keep its region, so the batch of a Read Response must not refer to either. A
 * process's region stays pinned. The type of a region is known once srn_cursor_peek() has opened
 * it, and the region stays open until the payload has been added.
 */
static bool must_copy(const struct srn_framer *f, struct srn_tx_msg *msg, u32 len)
{
	struct srn_cursor *source = &msg->source;
	void *data;

	if (srn_framer_copies(f) || len <= COPY_BREAK)
		return true;
	if (msg->opcode != SRN_OP_READ_RESPONSE)
		return false;
	return srn_cursor_peek(source, len, &data, &len) != SRN_MEM_OK ||
	       (source->held && source->held->type != SRN_MEM_USER);
}

/* The CRC of an FPDU that is being built; without CRC nothing of it is used. */
struct running_crc {
	u32 crc;
	u8 *from;	/* the first byte that it does not cover yet */
};

/* The CRC covers the bytes that are sent, not memory that may change. */
static void cover(struct running_crc *c, u8 *to)
{
	c->crc = crc32c(c->crc, c->from, to - c->from);
	c->from = to;
}

/* Add @len bytes of the message to the FPDU. */
static int add_payload(struct srn_stream *s, struct srn_tx_msg *msg, u32 len, bool copy,
		       struct running_crc *crc)
{
	struct srn_tx_batch *b = s->batch;
	void *data;
	u8 *to;
	u32 n;

	while (len) {
		if (srn_cursor_peek(&msg->source, len, &data, &n) != SRN_MEM_OK)
			return -EFAULT;
		if (copy) {
			to = srn_batch_reserve(b, n);
			memcpy(to, data, n);
			/* Now it is in the cache; the header lies in front of the first piece. */
			if (s->framer.with_crc)
				cover(crc, to + n);
		} else {
			srn_batch_refer(b, msg->source.held);
			srn_batch_append_of(b, msg->source.held, data, n);
		}
		msg->source.offset += n;
		len -= n;
	}
	return 0;
}

/* Return: bytes that the next FPDU may have: a TCP segment, or what is left of the batch. */
static u32 fpdu_size(const struct srn_stream *s, u32 limit)
{
	u32 mss = READ_ONCE(tcp_sk(s->sock->sk)->mss_cache);
	u32 room = limit - s->batch->bytes;

	if (!READ_ONCE(s->large_fpdus))
		return mss;
	/* A batch that exceeds one FPDU gets two, so that it still consists of whole segments. */
	if (room > SRN_MAX_FPDU)
		room -= min(room, mss);
	return max(room, mss);
}

/**
 * srn_frame_payload - how much of a message its next segment shall have
 * @msg: message
 * @len: bytes that it can have
 *
 * The end of a Write, which programs poll, lies in one segment.
 *
 * Context: any.
 *
 * Return: @len, or a little less.
 */
u32 srn_frame_payload(const struct srn_tx_msg *msg, u32 len)
{
	u32 behind = msg->length - msg->done - len;

	if (!behind || behind >= SRN_POLLED_BYTES || msg->opcode != SRN_OP_WRITE ||
	    len < SRN_POLLED_BYTES)
		return len;
	return len - (SRN_POLLED_BYTES - behind);
}

/*
 * Return: payload bytes of the next FPDU; 0 with *room false if the batch is full. The header is
 * written with its length before the payload is looked at, so there must be room for the worst
 * case: each SGE and each block of the payload in a piece of its own, or all of the payload copied.
 */
static u32 payload_size(struct srn_stream *s, struct srn_tx_msg *msg, u32 overhead,
			u32 limit, bool *copy, bool *room)
{
	const struct srn_framer *f = &s->framer;
	struct srn_tx_batch *b = s->batch;
	u32 mulpdu = srn_framer_mulpdu(fpdu_size(s, limit), f->markers);
	u32 len = min(msg->length - msg->done, mulpdu - overhead);
	u32 buf_left = SRN_BATCH_BUF - b->used;
	u32 fixed = overhead + SRN_MPA_LENGTH + SRN_MAX_TRAILER;

	/* Markers add one part in 127; a few bytes more do not matter. */
	if (f->markers)
		fixed += SRN_MAX_MARKERS(min(buf_left, mulpdu)) * SRN_MARKER_LEN;
	*copy = must_copy(f, msg, len);
	*room = b->num_iov + FIXED_IOV + len / MIN_BLOCK <= SRN_BATCH_IOV &&
		b->num_mems + SRN_MAX_SGE <= SRN_BATCH_MEMS && buf_left > fixed + COPY_BREAK;
	if (!*room)
		return 0;
	if (*copy)
		len = min(len, buf_left - fixed);
	return srn_frame_payload(msg, len);
}

/**
 * srn_frame_header - write the header of a message's next segment, with an FPDU's length field
 * @msg: message
 * @header: where to, at most %SRN_MAX_HEADER bytes
 * @len: payload of the segment
 * @last: it ends the message
 *
 * Context: any.
 */
void srn_frame_header(const struct srn_tx_msg *msg, u8 *header, u32 len, bool last)
{
	void *out = header;

	if (srn_opcodes[msg->opcode].tagged)
		srn_rdmap_put_tagged(out, msg->opcode, msg->stag, msg->to + msg->done, len, last);
	else
		srn_rdmap_put_untagged(out, msg->opcode, msg->inv_stag, msg->msn, msg->done, len,
				       last);
}

/* The common case: payload is copied or referred to. */
static int build_plain(struct srn_stream *s, struct srn_tx_msg *msg, u32 header_len, u32 len,
		       bool last, bool copy)
{
	struct srn_tx_batch *b = s->batch;
	u8 *header = srn_batch_reserve(b, header_len);
	struct running_crc crc = { .crc = SRN_CRC_SEED, .from = header };
	int ret;

	srn_frame_header(msg, header, len, last);
	if (!len && s->framer.with_crc)
		cover(&crc, header + header_len);
	ret = add_payload(s, msg, len, copy, &crc);
	if (ret)
		return ret;
	srn_batch_reserve(b, srn_framer_put_trailer(srn_batch_tail(b), header_len + len,
						    s->framer.with_crc, crc.crc));
	return 0;
}

/* The case with markers: all of the payload is copied. */
static int build_marked(struct srn_stream *s, struct srn_tx_msg *msg, u32 header_len, u32 len,
			bool last)
{
	struct srn_tx_batch *b = s->batch;
	struct srn_framer *f = &s->framer;
	u8 header[SRN_MAX_HEADER];
	void *data;
	u32 n;

	srn_frame_header(msg, header, len, last);
	srn_batch_reserve(b, srn_framer_begin(f, srn_batch_tail(b)));
	srn_batch_reserve(b, srn_framer_put(f, srn_batch_tail(b), header, header_len));
	while (len) {
		if (srn_cursor_peek(&msg->source, len, &data, &n) != SRN_MEM_OK)
			return -EFAULT;
		srn_batch_reserve(b, srn_framer_put(f, srn_batch_tail(b), data, n));
		msg->source.offset += n;
		len -= n;
	}
	srn_batch_reserve(b, srn_framer_end(f, srn_batch_tail(b)));
	return 0;
}

/* Header and trailer of an FPDU whose payload stays where it is, without CRC. */
struct envelope {
	u32 header_len;
	u32 len;		/* of the payload */
	u32 trailer_len;
};

/*
 * Return: how many FPDUs in the middle of the message fit in the batch, which may have @limit
 * bytes; perhaps none.
 */
static u32 count_continuations(const struct srn_stream *s, const struct srn_tx_msg *msg,
			       const struct envelope *e, u32 limit)
{
	const struct srn_tx_batch *b = s->batch;
	u32 left = msg->length - msg->done;
	u32 overhead = e->header_len + e->trailer_len;
	u32 iov = SRN_BATCH_IOV - b->num_iov - FIXED_IOV;
	u32 max;

	max = (left - 1) / e->len;
	/* The one before the last is a little shorter where the last would have too little. */
	if (max && srn_frame_payload(msg, max * e->len) < max * e->len)
		max--;
	max = min(max, (limit - b->bytes) / (overhead + e->len));
	max = min(max, (SRN_BATCH_BUF - b->used) / overhead);
	/* The payload between two headers is cut at the end of each block. */
	return min(max, iov / (u32)(2 + e->len / MIN_BLOCK + 1));
}

static void trace_built(const struct srn_stream *s, const struct srn_tx_msg *msg, u32 len,
			bool last)
{
	if (srn_opcodes[msg->opcode].tagged)
		trace_srn_fpdu_built(s, msg->opcode, msg->stag, 0, msg->to + msg->done, len, last);
	else
		trace_srn_fpdu_built(s, msg->opcode, msg->inv_stag, msg->msn, msg->done, len, last);
}

/**
 * srn_frame_done - the next segment of a message is complete
 * @s: stream
 * @msg: message; it moves on
 * @len: payload of the segment
 * @last: it ends the message
 *
 * Context: the active transmitter.
 */
void srn_frame_done(struct srn_stream *s, struct srn_tx_msg *msg, u32 len, bool last)
{
	if (trace_srn_fpdu_built_enabled())
		trace_built(s, msg, len, last);
	msg->done += len;
	msg->open = !last;
	srn_tally_fpdu(s->counters, SRN_TX, &s->tx_tally, msg->opcode, len, last);
}

/* Build FPDUs of one size in the middle of a message. What they have in common is done once. */
static int build_continuations(struct srn_stream *s, struct srn_tx_msg *msg,
			       const struct envelope *e, u32 count)
{
	struct srn_tx_batch *b = s->batch;
	u32 left = count * e->len;	/* payload that no piece has been found for yet */
	void *data = NULL;
	u32 piece = 0, need, n;

	for (; count; count--) {
		srn_frame_header(msg, srn_batch_reserve(b, e->header_len), e->len, false);
		for (need = e->len; need; need -= n) {
			if (!piece) {
				if (srn_cursor_peek(&msg->source, left, &data, &piece))
					return -EFAULT;
				srn_batch_refer(b, msg->source.held);
				left -= piece;
				msg->source.offset += piece;
			}
			n = min(piece, need);
			srn_batch_append_of(b, msg->source.held, data, n);
			data += n;
			piece -= n;
		}
		memset(srn_batch_reserve(b, e->trailer_len), 0, e->trailer_len);
		srn_frame_done(s, msg, e->len, false);
	}
	return 0;
}

/**
 * srn_frame_build - add the next FPDU of a message to the batch, or several
 * @s: stream with a batch
 * @msg: message
 * @limit: bytes that the batch may have, unless one FPDU alone has more
 *
 * Each FPDU fills the present effective MSS (RFC 5044 section 4.5), or the batch if the stream
 * makes large FPDUs. The one before the last of a Write may be a little shorter.
 *
 * Context: the active transmitter, bottom halves disabled, RCU read lock held.
 *
 * Return: 0, -ENOBUFS if the batch is full, -EFAULT if the source is not valid any more.
 */
int srn_frame_build(struct srn_stream *s, struct srn_tx_msg *msg, u32 limit)
{
	u32 header_len = srn_opcodes[msg->opcode].tagged ? SRN_TAGGED_HEADER : SRN_UNTAGGED_HEADER;
	struct srn_tx_batch *b = s->batch;
	bool copy, room, last;
	struct envelope e;
	u32 len, count;
	int ret;

	len = payload_size(s, msg, header_len - SRN_MPA_LENGTH, limit, &copy, &room);
	if (!room)
		return -ENOBUFS;
	last = msg->done + len == msg->length;
	e = (struct envelope) {
		.header_len = header_len, .len = len,
		.trailer_len = srn_fpdu_pad(header_len + len) + SRN_CRC_LEN,
	};
	if (b->bytes && b->bytes + header_len + len + e.trailer_len > limit)
		return -ENOBUFS;
	if (!copy && !last) {
		count = count_continuations(s, msg, &e, limit);
		if (count)
			return build_continuations(s, msg, &e, count);
	}
	if (s->framer.markers)
		ret = build_marked(s, msg, header_len, len, last);
	else
		ret = build_plain(s, msg, header_len, len, last, copy);
	if (ret)
		return ret;
	srn_frame_done(s, msg, len, last);
	return 0;
}

/* Write a whole FPDU. Return: bytes written. */
static u32 put_fpdu(struct srn_framer *f, u8 *out, const void *header, u32 header_len,
		    const u8 *payload, u32 len)
{
	u32 n = srn_framer_begin(f, out);

	n += srn_framer_put(f, out + n, header, header_len);
	n += srn_framer_put(f, out + n, payload, len);
	return n + srn_framer_end(f, out + n);
}

/**
 * srn_frame_terminate - write a Terminate message as an FPDU
 * @f: framer of the stream
 * @out: where to, %SRN_TERMINATE_FPDU bytes
 * @payload: Terminate payload
 * @len: its length, at most %SRN_TERM_MAX
 *
 * RFC 5040 section 4.8. Context: any, the caller is the only transmitter.
 *
 * Return: bytes written.
 */
u32 srn_frame_terminate(struct srn_framer *f, u8 *out, const u8 *payload, u32 len)
{
	struct srn_wire_untagged header;

	srn_rdmap_put_untagged(&header, SRN_OP_TERMINATE, 0, 1, 0, len, true);
	return put_fpdu(f, out, &header, sizeof(header), payload, len);
}

/**
 * srn_frame_empty_write - write a Write without payload as an FPDU
 * @f: framer of the stream
 * @out: where to, %SRN_EMPTY_WRITE_FPDU bytes
 * @stag: its STag
 * @to: its offset
 *
 * Context: any, the caller is the only transmitter.
 *
 * Return: bytes written.
 */
u32 srn_frame_empty_write(struct srn_framer *f, u8 *out, u32 stag, u64 to)
{
	struct srn_wire_tagged header;

	srn_rdmap_put_tagged(&header, SRN_OP_WRITE, stag, to, 0, true);
	return put_fpdu(f, out, &header, sizeof(header), NULL, 0);
}
