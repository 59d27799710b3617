/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Send work requests on their way into the kernel's send queue.
 */
#ifndef SRN_FETCH_H
#define SRN_FETCH_H

#include "qp.h"

void srn_fetch_prepare(struct srn_qp *qp);
bool srn_fetch_next(struct srn_qp *qp, bool flushing);
int srn_fetch_post(struct srn_qp *qp, const struct ib_send_wr *wr);
int srn_fetch_check(struct srn_qp *qp, struct srn_send *send);

#endif /* SRN_FETCH_H */
