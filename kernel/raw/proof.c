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
 * srn_raw_proof_check - does an end know the secret that the link has now?
 * @dev: link
 * @who: which end
 * @proven: what the proof has to be about
 * @proof: what it has sent, %SRN_BRING_UP_PROOF bytes
 *
 * Context: process.
 *
 * Return: 0; -EACCES if it does not; or as srn_secret_mac().
 */
int srn_raw_proof_check(struct srn_device *dev, enum srn_raw_prover who,
			const struct srn_raw_proven *proven, const u8 *proof)
{
	u8 expected[SRN_BRING_UP_PROOF];
	int ret = srn_raw_proof_make(dev, who, proven, expected);

	if (ret)
		return ret;
	/* How long it takes tells nothing of where they differ. */
	return crypto_memneq(proof, expected, sizeof(expected)) ? -EACCES : 0;
}
