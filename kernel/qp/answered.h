/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Which work requests the peer's answers are about: it tells an index of the send queue, or how
 * many messages it has placed, or which one it refuses. See placed.h.
 */
#ifndef SRN_ANSWERED_H
#define SRN_ANSWERED_H

#include "qp.h"

void srn_answered_up_to(struct srn_qp *qp, u16 index);
void srn_answered_final_report(struct srn_qp *qp, u32 messages);
void srn_answered_refused(struct srn_qp *qp, bool has_header, u8 status);
void srn_answered_finish(struct srn_qp *qp);

#endif /* SRN_ANSWERED_H */
