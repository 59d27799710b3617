// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Proofs that an end of a bring-up by hand knows its link's secret.
 */
#include <crypto/algapi.h>

#include "../device/secret.h"
#include "proof.h"

static_assert(SRN_BRING_UP_PROOF == SRN_SECRET_MAC);
/* All of it is on the wire, and nothing between it. */
static_assert(sizeof(struct srn_raw_proven) == 2 * SRN_BRING_UP_PROVEN + 4);

/**
 * srn_raw_proof_make - prove that one end knows the secret
 * @dev: link with the secret
 * @who: which end
 * @proven: what the proof is about
 * @proof: result, %SRN_BRING_UP_PROOF bytes
 *
 * Context: process.
 *
 * Return: as srn_secret_mac().
 */
int srn_raw_proof_make(struct srn_device *dev, enum srn_raw_prover who,
		       const struct srn_raw_proven *proven, u8 *proof)
{
	u8 about[1 + sizeof(*proven)] = { who };

	memcpy(about + 1, proven, sizeof(*proven));
	return srn_secret_mac(dev, about, sizeof(about), proof);
}

/**
 * srn_raw_proof_is_same - compare proofs in a time that tells nothing of them
 * @proof: what the peer has sent
 * @expected: what it should be
 *
 * Context: any.
 *
 * Return: true if they are the same.
 */
bool srn_raw_proof_is_same(const u8 *proof, const u8 *expected)
{
	return !crypto_memneq(proof, expected, SRN_BRING_UP_PROOF);
}
