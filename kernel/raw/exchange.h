/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the two ends of a bring-up by hand tell each other in MPA's set-up frames, and what follows
 * from that.
 */
#ifndef SRN_RAW_EXCHANGE_H
#define SRN_RAW_EXCHANGE_H

#include "../wire/bring_up.h"
#include "proof.h"
#include "raw.h"

int srn_raw_exchange_request(struct srn_raw *raw);
int srn_raw_exchange_reply(const struct srn_raw *raw, struct socket *sock, bool crc);
int srn_raw_exchange_challenge(const struct srn_raw *raw, struct socket *sock,
			       const struct srn_handshake *request,
			       struct srn_raw_proven *proven);
int srn_raw_exchange_prove(struct srn_raw *raw);
bool srn_raw_exchange_get(const struct srn_handshake *peer, struct srn_bring_up *b);
bool srn_raw_exchange_same_pair(const struct srn_raw *raw, const struct srn_bring_up *b);
struct srn_conn_params srn_raw_exchange_params(const struct srn_raw *raw,
					       const struct srn_mpa_frame *peer, bool answers);

#endif /* SRN_RAW_EXCHANGE_H */
