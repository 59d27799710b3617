/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Private data of MPA's set-up frames by which two queue pairs that are brought up by hand find
 * each other; Documentation/wire.md has its format. Pure functions on bytes.
 */
#ifndef SRN_WIRE_BRING_UP_H
#define SRN_WIRE_BRING_UP_H

#include "platform.h"

#define SRN_BRING_UP_LEN	56
#define SRN_BRING_UP_NONCE	16
/* With a nonce: the bytes of each end that a proof is about. */
#define SRN_BRING_UP_PROVEN	(SRN_BRING_UP_LEN + SRN_BRING_UP_NONCE)
#define SRN_BRING_UP_PROOF	32
#define SRN_GID_LEN		16

/* One end's view. Sequence numbers have no use but to tell one pair of queue pairs from another. */
struct srn_bring_up {
	bool has_sq_psn;	/* the sender knows its @sq_psn: it is in RTS */
	bool answers;		/* the sender tells what it has placed, see wire/greeting.h */
	u8 source_gid[SRN_GID_LEN];	/* of who sends this */
	u8 dest_gid[SRN_GID_LEN];
	u32 source_qpn;
	u32 dest_qpn;
	u32 sq_psn;
	u32 rq_psn;
	bool has_nonce;		/* the sender's link has a secret */
	u8 nonce[SRN_BRING_UP_NONCE];
};

int srn_bring_up_get(const u8 *bytes, u32 len, struct srn_bring_up *b);
const u8 *srn_bring_up_get_proof(const u8 *bytes, u32 len);
u32 srn_bring_up_put(u8 *out, const struct srn_bring_up *b);

#endif /* SRN_WIRE_BRING_UP_H */
