// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Payload of an FPDU that comes in pieces: kept until its CRC is known (RFC 5044 section 6).
 *
 * Where an FPDU lies in one piece of the input, its CRC is checked where it lies. Else
 * neither its header nor a byte of its payload may be believed before the last piece is
 * there. To leave it in the socket would need a receive buffer that takes the longest
 * FPDU; so it is copied, into pages that stay no longer than the rest takes to come.
 */
#include <linux/skbuff.h>

#include "stream.h"
#include "withhold.h"

/**
 * srn_withhold_ready - is there room for the payload of the FPDU in hand?
 * @s: stream whose parser has a header that it cannot vouch for yet
 *
 * Context: the receiver.
 */
bool srn_withhold_ready(const struct srn_stream *s)
{
	return s->withheld || !s->parser.payload_len;
}

/**
 * srn_withhold_begin - get room for the payload of the FPDU in hand
 * @s: stream whose parser has a header that it cannot vouch for yet
 * @gfp: how memory may be looked for
 *
 * At most 64 KiB, for as long as the peer takes to send the rest.
 *
 * Context: the receiver, where srn_withhold_ready() says no; may sleep as @gfp does.
 *
 * Return: 0 or -ENOMEM.
 */
int srn_withhold_begin(struct srn_stream *s, gfp_t gfp)
{
	u32 len = s->parser.payload_len;
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(0, len, 0, &err, gfp);
	if (!skb)
		return -ENOMEM;
	skb->data_len = len;
	skb->len = len;
	s->withheld = skb;
	return 0;
}

/**
 * srn_withhold - keep the next bytes of the payload
 * @s: stream
 * @ev: PAYLOAD event of its parser
 *
 * Context: the receiver, after srn_withhold_begin().
 */
void srn_withhold(struct srn_stream *s, const struct srn_fpdu_event *ev)
{
	skb_store_bits(s->withheld, ev->offset, ev->data, ev->len);
}

/**
 * srn_withhold_deliver - the FPDU is good: hand out what it holds
 * @s: stream
 * @term: reason, on failure
 *
 * Context: the receiver.
 *
 * Return: 0 or -EPROTO.
 */
int srn_withhold_deliver(struct srn_stream *s, struct srn_term_code *term)
{
	struct skb_seq_state walk;
	unsigned int done = 0, n;
	const u8 *data;
	int ret = 0;

	if (!s->withheld)
		return 0;
	skb_prepare_seq_read(s->withheld, 0, s->withheld->len, &walk);
	while (!ret && (n = skb_seq_read(done, &data, &walk))) {
		ret = s->ops->rx_place(s, data, n, term);
		done += n;
	}
	skb_abort_seq_read(&walk);
	srn_withhold_end(s);
	return ret;
}

/**
 * srn_withhold_end - let go of what is kept
 * @s: stream
 *
 * Context: the receiver, or nobody receives any more.
 */
void srn_withhold_end(struct srn_stream *s)
{
	consume_skb(s->withheld);
	s->withheld = NULL;
}
