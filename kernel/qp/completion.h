/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Completions of the send queue, in order.
 */
#ifndef SRN_COMPLETION_H
#define SRN_COMPLETION_H

#include "qp.h"

bool srn_completion_run(struct srn_qp *qp, u32 left);
void srn_completion_flush(struct srn_qp *qp);
void srn_completion_flush_first_as(struct srn_qp *qp, enum ib_wc_status status);

#endif /* SRN_COMPLETION_H */
