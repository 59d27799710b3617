/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How long a message may wait for its receive.
 *
 * With InfiniBand the responder says how long the requester waits before it tries again, and the
 * requester knows how often it tries (min_rnr_timer, rnr_retry). Here the requester tells how often
 * that would be, if there is a limit, and the responder lets a message wait for as long as all that
 * would take, see rnr.h.
 */
#ifndef SRN_RNR_LIMIT_H
#define SRN_RNR_LIMIT_H

#include "qp.h"

void srn_rnr_limit_set_timer(struct srn_qp *qp, u8 timer);
void srn_rnr_limit_tries(struct srn_qp *qp, u8 tries);
void srn_rnr_limit_told(struct srn_qp *qp, u8 tries);
unsigned long srn_rnr_limit_wait(const struct srn_qp *qp);

#endif /* SRN_RNR_LIMIT_H */
