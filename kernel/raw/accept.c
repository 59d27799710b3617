// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The end of a bring-up by hand that waits: which queue pair takes a connection, and MPA's reply.
 */
#include "accept.h"
#include "conn.h"
#include "exchange.h"
#include "peer.h"

static bool reply_and_start(struct srn_raw *raw, struct socket *sock,
			    const struct srn_handshake *request, bool answers)
{
	struct srn_conn_params conn = srn_raw_exchange_params(raw, &request->frame, answers);

	conn.hold_tx = SRN_HOLD;
	return !srn_raw_exchange_send(raw, sock, true, conn.crc) &&
	       !srn_raw_start(raw, sock, &conn);
}

/**
 * srn_raw_accept - have the queue pair that a request is for take the connection
 * @dev: link
 * @sock: connected socket without callbacks
 * @request: complete request
 * @reason: result: why it is refused, or NULL
 *
 * Context: the link's raw_wq; sleeps, but does not wait for a process.
 *
 * Return: as srn_raw_offer, in listener.h.
 */
int srn_raw_accept(struct srn_device *dev, struct socket *sock,
		   const struct srn_handshake *request, const char **reason)
{
	struct srn_bring_up b;
	struct srn_raw *raw;
	int ret = -ECONNREFUSED;

	*reason = "it is not for a queue pair that is brought up by hand";
	if (request->frame.revision != 2 || !srn_raw_exchange_get(request, &b))
		return ret;
	*reason = NULL;
	raw = srn_raw_conn_find(dev, b.dest_qpn);
	if (!raw)
		return ret;
	/* The listener asks again by itself, so nobody has to queue the bring-up's own work. */
	if (!mutex_trylock(&raw->lock.mutex)) {
		ret = -EAGAIN;
		goto put;
	}
	if (raw->state == SRN_RAW_WAITING && !raw->active && !raw->self) {
		*reason = "the queue pair waits for another peer";
		if (!srn_raw_peer_is_at(raw, sock))
			goto out;
		*reason = NULL;
		if (srn_raw_exchange_same_pair(raw, &b) &&
		    reply_and_start(raw, sock, request, b.answers))
			ret = 0;
	}
out:
	srn_raw_unlock(raw);
put:
	srn_raw_put(raw);
	return ret;
}
