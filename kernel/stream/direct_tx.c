// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The transmit engine's way to a peer in this kernel: one copy, from region to region.
 */
#include "direct.h"
#include "direct_tx.h"
#include "engines.h"
#include "frame.h"
#include "rx.h"

/*
 * Interrupted by no softirq, so much is delivered, or as many messages are looked at, or the same
 * in scatter entries; less if that takes longer than the turn of the peer's receiver.
 */
#define MAX_BYTES	(64 * 1024)
#define MAX_MESSAGES	64

/* Payload of a segment: the length field of an FPDU could say so much. */
#define MAX_SEGMENT	(32 * 1024)

/*
 * Context: as srn_direct_tx(), the peer's end locked. Return: 0; -ENOMEM if the peer has no memory
 * just now, and nothing was done; or -EFAULT.
 */
static int deliver_segment(struct srn_stream *s, struct srn_stream *peer, u32 *bytes)
{
	struct srn_tx_msg *msg = &s->msg;
	u32 len = srn_frame_payload(msg, min_t(u32, msg->length - msg->done, MAX_SEGMENT));
	bool last = msg->done + len == msg->length;
	u8 header[SRN_MAX_HEADER] = {};
	int ret;

	/* As by TCP: what comes behind the end is dropped, and the sender is told later. */
	if (!peer->rx_stopped) {
		srn_frame_header(msg, header, len, last);
		ret = srn_rx_segment(peer, header, &msg->source, len);
		if (ret)
			return ret;
	}
	*bytes += len;
	srn_frame_done(s, msg, len, last);
	/* Before the peer acts upon the segment: its answer may come by another CPU at once. */
	srn_cursor_release(&msg->source);
	if (last)
		s->ops->tx_built(s);
	srn_rx_segment_end(peer);
	return 0;
}

/* Context and return: as deliver_segment(). */
static int deliver(struct srn_stream *s, struct srn_stream *peer, enum srn_tx_verdict *verdict)
{
	u32 bytes = 0, asked = 0;
	bool delivered = false;
	int ret;

	while (bytes < MAX_BYTES && asked < MAX_MESSAGES && srn_rx_step(peer, 0)) {
		if (!s->msg.open) {
			/* A work request may change memory that the peer's receiver has open. */
			peer->ops->rx_pause(peer);
			asked++;
			*verdict = s->ops->tx_next(s, &s->msg, !delivered);
			if (*verdict == SRN_TX_AGAIN)
				continue;
			if (*verdict != SRN_TX_MESSAGE)
				return 0;
			s->msg.done = 0;
			s->msg.open = true;
			asked += s->msg.source.num / SRN_ENTRIES_AS_ONE;
		}
		ret = deliver_segment(s, peer, &bytes);
		if (ret)
			return ret;
		delivered |= !s->msg.open;
	}
	*verdict = SRN_TX_MESSAGE;
	return 0;
}

/* As deliver(), as one pass of the peer's receiver. */
static int deliver_all(struct srn_stream *s, struct srn_stream *peer, enum srn_tx_verdict *verdict)
{
	int ret;

	srn_rx_segments_begin(peer);
	ret = deliver(s, peer, verdict);
	srn_cursor_release(&s->msg.source);
	srn_rx_segments_end(peer);
	return ret;
}

/**
 * srn_direct_tx - deliver some messages to a peer in this kernel
 * @s: stream whose transmitter has moved, see srn_direct_move()
 * @verdict: why it stopped, if it returns 0; SRN_TX_MESSAGE: there may be more
 *
 * What has been delivered is complete: the caller says so to the layer above.
 *
 * Context: the active transmitter, in process context or in softirq, no locks held.
 *
 * Return: 0; -EAGAIN if the peer does not receive just now: the transmitter will be kicked; -EPIPE
 * if the peer has left; -EFAULT if the source is not valid any more.
 */
int srn_direct_tx(struct srn_stream *s, enum srn_tx_verdict *verdict)
{
	struct srn_direct_end *to = srn_direct_peer_end(s);
	struct srn_stream *peer;
	int ret = -EPIPE;

	local_bh_disable();
	rcu_read_lock();
	spin_lock(&to->lock);
	peer = to->stream;
	if (peer && to->open)
		ret = deliver_all(s, peer, verdict);
	else if (peer)
		ret = -EAGAIN;
	if (ret == -ENOMEM) {
		/* The peer gets the memory, and opens its end again. */
		to->open = false;
		srn_rx_segment_starves(peer);
		ret = -EAGAIN;
	}
	spin_unlock(&to->lock);
	rcu_read_unlock();
	local_bh_enable();
	srn_tally_flush(s->counters, SRN_TX, &s->tx_tally);
	return ret;
}
