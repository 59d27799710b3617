/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The transmit engine's way to a peer in this kernel.
 */
#ifndef SRN_DIRECT_TX_H
#define SRN_DIRECT_TX_H

#include "stream.h"

int srn_direct_tx(struct srn_stream *s, enum srn_tx_verdict *verdict);

#endif /* SRN_DIRECT_TX_H */
