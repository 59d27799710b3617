/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How the two ends of a bring-up by hand prove to each other that they know their links' secret.
 *
 * If a link has a secret, the request has a nonce. The challenge, a first reply, has another one,
 * and a proof. The initiator sends its own proof in a second request. Only then a queue pair takes
 * the connection, and replies. A proof is about what both frames say of the queue pairs, about the
 * nonces, and about the ports of the connection: so nobody can hand it on to another connection,
 * not even a program with the address of one end. Each end has a proof of its own. What follows on
 * the connection is not protected.
 */
#ifndef SRN_RAW_PROOF_H
#define SRN_RAW_PROOF_H

#include "../device/device.h"
#include "../wire/bring_up.h"

enum srn_raw_prover {
	SRN_RAW_RESPONDER = 1,
	SRN_RAW_INITIATOR = 2,
};

/* What proofs are about. */
struct srn_raw_proven {
	u8 request[SRN_BRING_UP_PROVEN];	/* what the request says */
	u8 challenge[SRN_BRING_UP_PROVEN];	/* what the challenge says */
	__be16 initiator_port;
	__be16 responder_port;
};

int srn_raw_proof_make(struct srn_device *dev, enum srn_raw_prover who,
		       const struct srn_raw_proven *proven, u8 *proof);
int srn_raw_proof_check(struct srn_device *dev, enum srn_raw_prover who,
			const struct srn_raw_proven *proven, const u8 *proof);

#endif /* SRN_RAW_PROOF_H */
