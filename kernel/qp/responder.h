/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The peer's Reads and atomics: taken, executed, answered in order.
 */
#ifndef SRN_RESPONDER_H
#define SRN_RESPONDER_H

#include "qp.h"

int srn_responder_memory(struct srn_qp *qp, gfp_t gfp);
int srn_responder_read(struct srn_qp *qp, struct srn_term_code *term);
int srn_responder_atomic(struct srn_qp *qp, struct srn_term_code *term);
bool srn_responder_waits(const struct srn_qp *qp);
enum srn_tx_verdict srn_responder_next(struct srn_qp *qp, struct srn_tx_msg *msg);
void srn_responder_sent(struct srn_qp *qp);

#endif /* SRN_RESPONDER_H */
