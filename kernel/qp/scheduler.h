/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What is transmitted next: operations of a stream.
 */
#ifndef SRN_SCHEDULER_H
#define SRN_SCHEDULER_H

#include "qp.h"

enum srn_tx_verdict srn_scheduler_next(struct srn_stream *s, struct srn_tx_msg *msg, bool flushed);
void srn_scheduler_built(struct srn_stream *s);
void srn_scheduler_pushed(struct srn_stream *s);
enum srn_tx_verdict srn_scheduler_idle(struct srn_stream *s, bool may_sleep);
void srn_scheduler_deferred(struct srn_stream *s);

#endif /* SRN_SCHEDULER_H */
