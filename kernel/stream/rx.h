/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The receive engine, for the layer above.
 */
#ifndef SRN_RX_H
#define SRN_RX_H

#include "stream.h"

bool srn_rx_step(struct srn_stream *s, u32 bytes);
void srn_rx_leave_more(struct srn_stream *s);
void srn_rx_violation(struct srn_stream *s, struct srn_term_code term, const u8 *header, u32 len);

#endif /* SRN_RX_H */
