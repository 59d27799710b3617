/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port at which peers connect to queue pairs that are brought up by hand.
 */
#ifndef SRN_RAW_LISTENER_H
#define SRN_RAW_LISTENER_H

#include "../device/device.h"
#include "../stream/address.h"
#include "../stream/handshake.h"
#include "proof.h"

struct srn_raw_listener;

/* Who has connected, and whom no queue pair has taken yet. */
struct srn_raw_initiator {
	struct socket *sock;
	struct srn_handshake request;
	struct srn_handshake proof;	/* has room once it was asked for, see proof.h */
	struct srn_raw_proven proven;	/* what @proof has to be about */
};

/*
 * Offers an initiator, which has made its request, to the queue pair that is meant. Its socket has
 * no callbacks meanwhile. Process context; sleeps. Return: 0, the socket is the queue pair's now;
 * -EAGAIN, nothing has happened, because a process uses the queue pair right now; -EINPROGRESS, the
 * initiator was asked for its proof, and is to be offered again when that has come; -ECONNREFUSED,
 * the socket is to be reset; @reason says why, or is NULL if the queue pair is not there yet, or
 * has just ended.
 */
typedef int (*srn_raw_offer)(struct srn_device *dev, struct srn_raw_initiator *initiator,
			     const char **reason);

struct srn_raw_listener *srn_raw_listener_get(struct srn_device *dev,
					      const union srn_address *address,
					      srn_raw_offer offer);
void srn_raw_listener_put(struct srn_raw_listener *l);

#endif /* SRN_RAW_LISTENER_H */
