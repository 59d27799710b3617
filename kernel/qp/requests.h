/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Reads and atomics that the peer has to answer, in order.
 */
#ifndef SRN_REQUESTS_H
#define SRN_REQUESTS_H

#include "qp.h"

void srn_requests_begin(struct srn_sq *sq);
bool srn_requests_wait(struct srn_qp *qp, u32 limit);
enum srn_tx_verdict srn_requests_settle(struct srn_qp *qp, bool flushed);
struct srn_send *srn_requests_oldest(struct srn_qp *qp, u32 *index);
void srn_requests_done(struct srn_qp *qp);
void srn_requests_rtr_done(struct srn_qp *qp);

#endif /* SRN_REQUESTS_H */
