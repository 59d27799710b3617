/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The engines, for the rest of the stream. The layer above does not use any of this.
 */
#ifndef SRN_STREAM_ENGINES_H
#define SRN_STREAM_ENGINES_H

#include "stream.h"

/* So many scatter entries take about as long as a message. */
#define SRN_ENTRIES_AS_ONE	2

/* Return: true if the role was free and is now the caller's; else its owner looks once more. */
static inline bool srn_tx_take_if_free(struct srn_stream *s)
{
	return atomic_xchg(&s->tx_role, SRN_TX_KICKED) == SRN_TX_FREE;
}

void srn_tx_work(struct work_struct *work);
void srn_tx_softirq(struct tasklet_struct *t);
void srn_tx_give_role(struct srn_stream *s);
void srn_tx_take_role(struct srn_stream *s);
void srn_tx_drop_batch(struct srn_stream *s);
void srn_tx_last(struct srn_stream *s, const struct srn_tx_last *last);

/* What a receive pass leaves to do. */
enum srn_rx_left {
	SRN_RX_NOTHING,
	SRN_RX_MORE,		/* another pass */
	SRN_RX_NO_MEMORY,	/* the same when there is memory; a worker tries that, too */
};

enum srn_rx_left srn_rx_input(struct srn_stream *s, struct sock *sk);
void srn_rx_segments_begin(struct srn_stream *s);
int srn_rx_segment(struct srn_stream *s, const u8 *header, struct srn_cursor *source, u32 len);
void srn_rx_segment_end(struct srn_stream *s);
void srn_rx_segment_starves(struct srn_stream *s);
void srn_rx_segments_end(struct srn_stream *s);
void srn_rx_input_waiting(struct srn_stream *s, struct sock *sk);

#endif /* SRN_STREAM_ENGINES_H */
