/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA's set-up frames on a socket.
 */
#ifndef SRN_HANDSHAKE_H
#define SRN_HANDSHAKE_H

#include <linux/gfp_types.h>
#include <linux/net.h>

#include "../wire/mpa.h"

/* The peer's frame. */
struct srn_handshake {
	struct srn_mpa_frame frame;	/* decoded, once it has come */
	u32 have;			/* bytes at @in */
	u8 *in;				/* the frame as it comes */
};

int srn_handshake_init(struct srn_handshake *h, gfp_t gfp);
void srn_handshake_exit(struct srn_handshake *h);
int srn_handshake_read(struct srn_handshake *h, struct socket *sock, bool reply);
const char *srn_handshake_no_request(int ret);
int srn_handshake_send(struct socket *sock, const struct srn_mpa_frame *frame, const void *data,
		       u32 len);
u8 *srn_handshake_private(const struct srn_handshake *h, u32 *len);

#endif /* SRN_HANDSHAKE_H */
