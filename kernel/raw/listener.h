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

/*
 * Offers a connected socket without callbacks, which has made its request, to the queue pair that
 * is meant. Process context; sleeps. Return: 0, the socket is the queue pair's now; -EAGAIN,
 * nothing has happened, because a process uses the queue pair right now; -ECONNREFUSED, the socket
 * is to be reset; @reason says why, or is NULL if the queue pair is not there yet, or has just
 * ended.
 */
typedef int (*srn_raw_offer)(struct srn_device *dev, struct socket *sock,
			     const struct srn_handshake *request, const char **reason);

struct srn_raw_listener *srn_raw_listener_get(struct srn_device *dev,
					      const union srn_address *address,
					      srn_raw_offer offer);
void srn_raw_listener_put(struct srn_raw_listener *l);

#endif /* SRN_RAW_LISTENER_H */
