/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The transmit engine.
 */
#ifndef SRN_TX_H
#define SRN_TX_H

#include "stream.h"

void srn_tx_kick(struct srn_stream *s);
void srn_tx_kick_async(struct srn_stream *s);
void srn_tx_kick_later(struct srn_stream *s);
void srn_tx_take_over(struct srn_stream *s);
bool srn_tx_refers(const struct srn_stream *s, const struct srn_mem *mem);

/* For the rest of the stream, not for the layer above. */
void srn_tx_work(struct work_struct *work);
void srn_tx_softirq(struct tasklet_struct *t);
void srn_tx_unhold(struct srn_stream *s);
void srn_tx_give_role(struct srn_stream *s);
void srn_tx_stop(struct srn_stream *s);
void srn_tx_take_role(struct srn_stream *s);
void srn_tx_drop_batch(struct srn_stream *s);
void srn_tx_last(struct srn_stream *s, const struct srn_tx_last *last);

#endif /* SRN_TX_H */
