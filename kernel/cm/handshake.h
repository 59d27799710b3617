/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA's set-up frames on the socket of an endpoint.
 */
#ifndef SRN_HANDSHAKE_H
#define SRN_HANDSHAKE_H

#include "ep.h"

int srn_handshake_read(struct srn_ep *ep, bool reply);
int srn_handshake_send(struct srn_ep *ep, const struct srn_mpa_frame *frame, const void *data,
		       u32 len);

#endif /* SRN_HANDSHAKE_H */
