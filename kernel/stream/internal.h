/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The engines, for the rest of the stream. The layer above does not use any of this.
 */
#ifndef SRN_STREAM_INTERNAL_H
#define SRN_STREAM_INTERNAL_H

#include "stream.h"

void srn_tx_work(struct work_struct *work);
void srn_tx_softirq(struct tasklet_struct *t);
void srn_tx_unhold(struct srn_stream *s);
void srn_tx_give_role(struct srn_stream *s);
void srn_tx_take_role(struct srn_stream *s);
void srn_tx_drop_batch(struct srn_stream *s);
void srn_tx_last(struct srn_stream *s, const struct srn_tx_last *last);

void srn_rx_input(struct srn_stream *s, struct sock *sk);
void srn_rx_input_waiting(struct srn_stream *s, struct sock *sk);

#endif /* SRN_STREAM_INTERNAL_H */
