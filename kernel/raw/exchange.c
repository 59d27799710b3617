// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the two ends of a bring-up by hand tell each other.
 */
#include <linux/random.h>

#include "../device/secret.h"
#include "../stream/sock.h"
#include "exchange.h"

/* Encode our view of the two queue pairs. Return: bytes. */
static u32 put_pair(const struct srn_raw *raw, bool nonce, u8 *out)
{
	struct srn_bring_up b = {
		.has_sq_psn = raw->rts,
		.answers = raw->answers,
		.source_qpn = raw->qp->ibqp.qp_num,
		.dest_qpn = raw->attr.dest_qp_num,
		.sq_psn = raw->attr.sq_psn,
		.rq_psn = raw->attr.rq_psn,
		.has_nonce = nonce,
	};

	if (nonce)
		get_random_bytes(b.nonce, sizeof(b.nonce));
	memcpy(b.source_gid, raw->sgid.raw, SRN_GID_LEN);
	memcpy(b.dest_gid, raw->attr.ah_attr.grh.dgid.raw, SRN_GID_LEN);
	return srn_bring_up_put(out, &b);
}

static int send_frame(const struct srn_raw *raw, struct socket *sock, bool reply, bool crc,
		      const u8 *data, u32 len)
{
	const struct srn_mpa_frame frame = {
		.reply = reply, .crc = crc, .revision = 2, .enhanced = true,
		.markers = raw->markers, .peer_to_peer = true, .rtr_write = true,
		.ird = raw->attr.max_dest_rd_atomic, .ord = SRN_MAX_READ_DEPTH,
	};

	return srn_handshake_send(sock, &frame, data, len);
}

/**
 * srn_raw_exchange_request - send our request
 * @raw: bring-up with a connected socket
 *
 * It has a nonce if the link has a secret at this time.
 *
 * Context: process, raw->lock held.
 *
 * Return: 0 or a negative errno.
 */
int srn_raw_exchange_request(struct srn_raw *raw)
{
	u32 len;

	lockdep_assert_held(&raw->lock.mutex);
	raw->proof_due = srn_secret_is_set(raw->dev);
	len = put_pair(raw, raw->proof_due, raw->request);
	return send_frame(raw, raw->sock, false, raw->crc, raw->request, len);
}

/**
 * srn_raw_exchange_reply - send our reply
 * @raw: bring-up
 * @sock: socket that the request has come from
 * @crc: what it says of CRC
 *
 * Context: process, raw->lock held.
 *
 * Return: 0 or a negative errno.
 */
int srn_raw_exchange_reply(const struct srn_raw *raw, struct socket *sock, bool crc)
{
	u8 data[SRN_BRING_UP_LEN];

	return send_frame(raw, sock, true, crc, data, put_pair(raw, false, data));
}

static int get_ports(struct socket *sock, __be16 *local, __be16 *remote)
{
	union srn_address a = {}, b = {};
	int ret = srn_sock_ends(sock, &a, &b);

	*local = srn_address_port(&a);
	*remote = srn_address_port(&b);
	return ret;
}

/**
 * srn_raw_exchange_challenge - prove that we know the secret, and ask the initiator to do so, too
 * @raw: bring-up
 * @sock: socket that the request has come from
 * @request: complete request with a nonce
 * @proven: result: what the initiator's proof has to be about
 *
 * Context: process, raw->lock held.
 *
 * Return: 0; -ENOKEY if the link has no secret any more; or another negative errno.
 */
int srn_raw_exchange_challenge(const struct srn_raw *raw, struct socket *sock,
			       const struct srn_handshake *request,
			       struct srn_raw_proven *proven)
{
	u8 data[SRN_BRING_UP_PROVEN + SRN_BRING_UP_PROOF];
	u32 len;
	int ret;

	put_pair(raw, true, proven->challenge);
	memcpy(proven->request, srn_handshake_private(request, &len), sizeof(proven->request));
	memcpy(data, proven->challenge, sizeof(proven->challenge));
	ret = get_ports(sock, &proven->responder_port, &proven->initiator_port) ?:
	      srn_raw_proof_make(raw->dev, SRN_RAW_RESPONDER, proven, data + SRN_BRING_UP_PROVEN);
	return ret ?: send_frame(raw, sock, true, raw->crc, data, sizeof(data));
}

/**
 * srn_raw_exchange_prove - check the responder's proof, and send ours
 * @raw: bring-up whose request had a nonce, with a complete reply that srn_raw_exchange_get() has
 *	taken
 *
 * Context: process, raw->lock held.
 *
 * Return: 0; -EACCES if the peer does not know the link's secret; or another negative errno.
 */
int srn_raw_exchange_prove(struct srn_raw *raw)
{
	static const struct srn_mpa_frame frame = { .revision = 2 };
	u8 proof[SRN_BRING_UP_PROOF];
	struct srn_raw_proven proven;
	const u8 *reply, *theirs;
	u32 len;
	int ret;

	reply = srn_handshake_private(&raw->reply, &len);
	theirs = srn_bring_up_get_proof(reply, len);
	if (!theirs)
		return -EACCES;
	memcpy(proven.request, raw->request, sizeof(proven.request));
	memcpy(proven.challenge, reply, sizeof(proven.challenge));
	ret = get_ports(raw->sock, &proven.initiator_port, &proven.responder_port) ?:
	      srn_raw_proof_check(raw->dev, SRN_RAW_RESPONDER, &proven, theirs) ?:
	      srn_raw_proof_make(raw->dev, SRN_RAW_INITIATOR, &proven, proof);
	return ret ?: srn_handshake_send(raw->sock, &frame, proof, sizeof(proof));
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
