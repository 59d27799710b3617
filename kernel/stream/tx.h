/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The transmit engine, for the layer above.
 */
#ifndef SRN_TX_H
#define SRN_TX_H

#include "stream.h"

void srn_tx_kick(struct srn_stream *s);
void srn_tx_kick_async(struct srn_stream *s);
void srn_tx_take_over(struct srn_stream *s);
void srn_tx_stop(struct srn_stream *s);
bool srn_tx_refers(const struct srn_stream *s, const struct srn_mem *mem);

#endif /* SRN_TX_H */
