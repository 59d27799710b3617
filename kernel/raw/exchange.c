// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the two ends of a bring-up by hand tell each other.
 */
#include "exchange.h"

/**
 * srn_raw_exchange_send - send our frame
 * @raw: bring-up
 * @sock: connected socket, on which nothing was sent before
 * @reply: it is the reply, not the request
 * @crc: what it says of CRC
 *
 * Context: process, raw->lock held.
 *
 * Return: 0 or a negative errno.
 */
int srn_raw_exchange_send(const struct srn_raw *raw, struct socket *sock, bool reply, bool crc)
{
	const struct srn_mpa_frame frame = {
		.reply = reply, .crc = crc, .revision = 2, .enhanced = true,
		.markers = raw->markers, .peer_to_peer = true, .rtr_write = true,
		.ird = raw->attr.max_dest_rd_atomic, .ord = SRN_MAX_READ_DEPTH,
	};
	struct srn_bring_up b = {
		.has_sq_psn = raw->rts,
		.answers = raw->answers,
		.source_qpn = raw->qp->ibqp.qp_num,
		.dest_qpn = raw->attr.dest_qp_num,
		.sq_psn = raw->attr.sq_psn,
		.rq_psn = raw->attr.rq_psn,
	};
	u8 data[SRN_BRING_UP_LEN];

	memcpy(b.source_gid, raw->sgid.raw, SRN_GID_LEN);
	memcpy(b.dest_gid, raw->attr.ah_attr.grh.dgid.raw, SRN_GID_LEN);
	srn_bring_up_put(data, &b);
	return srn_handshake_send(sock, &frame, data, sizeof(data));
}

/**
 * srn_raw_exchange_get - look at the peer's frame
 * @peer: complete frame
 * @b: result: what it says of the two queue pairs
 *
 * Context: process.
 *
 * Return: true if the peer is a queue pair that is brought up by hand.
 */
bool srn_raw_exchange_get(const struct srn_handshake *peer, struct srn_bring_up *b)
{
	const struct srn_mpa_frame *f = &peer->frame;
	u32 len;
	const u8 *data = srn_handshake_private(peer, &len);

	return f->enhanced && f->peer_to_peer && f->rtr_write && data &&
	       !srn_bring_up_get(data, len, b);
}

/**
 * srn_raw_exchange_same_pair - does the peer mean the same two queue pairs?
 * @raw: bring-up
 * @b: what the peer says
 *
 * Each end tells the sequence number that it expects, and the one with which it begins if it is in
 * RTS. One of the two at least has to be known, and to be right: programs that do not choose them
 * at random all use the same ones.
 *
 * Context: raw->lock held.
 *
 * Return: true if it does.
 */
bool srn_raw_exchange_same_pair(const struct srn_raw *raw, const struct srn_bring_up *b)
{
	lockdep_assert_held(&raw->lock.mutex);
	if (b->source_qpn != raw->attr.dest_qp_num || b->dest_qpn != raw->qp->ibqp.qp_num ||
	    memcmp(b->dest_gid, raw->sgid.raw, SRN_GID_LEN) ||
	    memcmp(b->source_gid, raw->attr.ah_attr.grh.dgid.raw, SRN_GID_LEN))
		return false;
	if (b->has_sq_psn && b->sq_psn != raw->attr.rq_psn)
		return false;
	if (raw->rts && b->rq_psn != raw->attr.sq_psn)
		return false;
	return b->has_sq_psn || raw->rts;
}

/**
 * srn_raw_exchange_params - what both ends have agreed on
 * @raw: bring-up
 * @peer: the peer's frame
 * @answers: the peer tells what it has placed
 *
 * Context: raw->lock held.
 *
 * Return: parameters; the caller adds what depends on which end it is.
 */
struct srn_conn_params srn_raw_exchange_params(const struct srn_raw *raw,
					       const struct srn_mpa_frame *peer, bool answers)
{
	struct srn_conn_params conn = {
		.crc = raw->crc || peer->crc,
		.tx_markers = peer->markers,
		.rx_markers = raw->markers,
		.peer_answers = raw->answers && answers,
		.ird = raw->attr.max_dest_rd_atomic,
		.ord = min_t(u32, peer->ird, SRN_MAX_READ_DEPTH),
		.rnr_timer = raw->attr.min_rnr_timer,
	};

	if (raw->rts) {
		conn.ord = min_t(u32, conn.ord, raw->attr.max_rd_atomic);
		conn.rnr_tries = srn_raw_rnr_tries(raw);
	}
	return conn;
}
