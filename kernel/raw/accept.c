// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The end of a bring-up by hand that waits: which queue pair takes a connection, and MPA's reply.
 */
#include "../device/secret.h"
#include "accept.h"
#include "conn.h"
#include "exchange.h"
#include "peer.h"
#include "start.h"

/* The queue pair waits as before. Whoever proves first that it is the peer gets it. */
static int challenge(struct srn_raw *raw, struct srn_raw_initiator *i)
{
	if (srn_handshake_init(&i->proof, GFP_KERNEL) ||
	    srn_raw_exchange_challenge(raw, i->sock, &i->request, &i->proven))
		return -ECONNREFUSED;
	return -EINPROGRESS;
}

static int reply_and_start(struct srn_raw *raw, struct srn_raw_initiator *i, bool answers)
{
	struct srn_conn_params conn = srn_raw_exchange_params(raw, &i->request.frame, answers);

	conn.hold_tx = SRN_HOLD;
	if (srn_raw_exchange_reply(raw, i->sock, conn.crc) || srn_raw_start(raw, i->sock, &conn))
		return -ECONNREFUSED;
	return 0;
}

static int take(struct srn_raw *raw, struct srn_raw_initiator *i, const struct srn_bring_up *b,
		const char **reason)
{
	if (raw->state != SRN_RAW_WAITING || raw->active || raw->self)
		return -ECONNREFUSED;
	*reason = "the queue pair waits for another peer";
	if (!srn_raw_peer_is_at(raw, i->sock))
		return -ECONNREFUSED;
	*reason = NULL;
	if (!srn_raw_exchange_same_pair(raw, b))
		return -ECONNREFUSED;
	if (b->has_nonce && !i->proof.in)
		return challenge(raw, i);
	return reply_and_start(raw, i, b->answers);
}

/* Return: why an initiator is refused because of the link's secret, or NULL. */
static const char *not_trusted(struct srn_device *dev, const struct srn_raw_initiator *i,
			       const struct srn_bring_up *b)
{
	const u8 *proof;
	u32 len;

	if (!i->proof.in && b->has_nonce == srn_secret_is_set(dev))
		return NULL;
	if (!i->proof.in)
		return b->has_nonce ? "it has a secret, and the link has none" :
				      "it does not know of the link's secret";
	proof = srn_handshake_private(&i->proof, &len);
	if (proof && len == SRN_BRING_UP_PROOF &&
	    !srn_raw_proof_check(dev, SRN_RAW_INITIATOR, &i->proven, proof))
		return NULL;
	return "it does not know the link's secret";
}

/**
 * srn_raw_accept - have the queue pair that a request is for take the connection
 * @dev: link
 * @i: initiator with a complete request, and with its proof, if it was asked for that
 * @reason: result: why it is refused, or NULL
 *
 * Context: the link's raw_wq; sleeps, but does not wait for a process.
 *
 * Return: as srn_raw_offer, in listener.h.
 */
int srn_raw_accept(struct srn_device *dev, struct srn_raw_initiator *i, const char **reason)
{
	int ret = -ECONNREFUSED;
	struct srn_bring_up b;
	struct srn_raw *raw;

	*reason = "it is not for a queue pair that is brought up by hand";
	if (i->request.frame.revision != 2 || !srn_raw_exchange_get(&i->request, &b))
		return ret;
	*reason = not_trusted(dev, i, &b);
	if (*reason)
		return ret;
	raw = srn_raw_conn_find(dev, b.dest_qpn);
	if (!raw)
		return ret;
	/* The listener asks again by itself, so nobody has to queue the bring-up's own work. */
	if (mutex_trylock(&raw->lock.mutex)) {
		ret = take(raw, i, &b, reason);
		srn_raw_unlock(raw);
	} else {
		ret = -EAGAIN;
	}
	srn_raw_put(raw);
	return ret;
}
