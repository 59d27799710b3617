/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What is transmitted next: operations of the stream.
 */
#ifndef SRN_REQUESTER_H
#define SRN_REQUESTER_H

#include "qp.h"

enum srn_tx_verdict srn_requester_next(struct srn_stream *s, struct srn_tx_msg *msg, bool flushed);
void srn_requester_built(struct srn_stream *s);
void srn_requester_pushed(struct srn_stream *s);
enum srn_tx_verdict srn_requester_idle(struct srn_stream *s, bool may_sleep);
void srn_requester_deferred(struct srn_stream *s);

#endif /* SRN_REQUESTER_H */
