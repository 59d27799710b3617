/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The port at which peers connect to queue pairs that are brought up by hand.
 */
#ifndef SRN_RAW_LISTENER_H
#define SRN_RAW_LISTENER_H

#include "../device/device.h"
#include "../stream/address.h"
#include "../stream/handshake.h"

struct srn_raw_listener;

/* What has become of a connection that made its request. */
enum srn_raw_answer {
	SRN_RAW_TAKEN,		/* its socket is a queue pair's */
	SRN_RAW_REFUSED,	/* nothing was sent */
	SRN_RAW_BROKEN,		/* it got a reply, but the queue pair has ended meanwhile */
};

/*
 * Offers a connected socket without callbacks, which has made its request, to the queue pair that
 * is meant. If it is refused @reason says why, or is NULL if the queue pair is not there yet.
 * Process context; sleeps.
 */
typedef enum srn_raw_answer (*srn_raw_offer)(struct srn_device *dev, struct socket *sock,
					     const struct srn_handshake *request,
					     const char **reason);

struct srn_raw_listener *srn_raw_listener_get(struct srn_device *dev,
					      const union srn_address *address,
					      srn_raw_offer offer);
void srn_raw_listener_put(struct srn_raw_listener *l);

#endif /* SRN_RAW_LISTENER_H */
