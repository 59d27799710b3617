/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A responder sends nothing before the initiator's first FPDU has come, or a time has passed.
 */
#ifndef SRN_HOLD_H
#define SRN_HOLD_H

#include "stream.h"

void srn_hold_init(struct srn_stream *s);
void srn_hold_begin(struct srn_stream *s);
void srn_hold_end(struct srn_stream *s);
void srn_hold_stop(struct srn_stream *s);

#endif /* SRN_HOLD_H */
