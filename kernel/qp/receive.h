/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Receives of a queue pair: taken for messages, completed, flushed, posted.
 */
#ifndef SRN_RECEIVE_H
#define SRN_RECEIVE_H

#include "qp.h"

bool srn_receive_posted(const struct srn_qp *qp);
int srn_receive_take(struct srn_qp *qp, struct srn_term_code *term);
void srn_receive_complete(struct srn_qp *qp, u8 opcode, u8 status, u32 length, u16 flags, u32 ex);
void srn_receive_fail(struct srn_qp *qp, u8 status);
void srn_receive_notify(struct srn_qp *qp);
void srn_receive_flush_taken(struct srn_qp *qp);
void srn_receive_flush(struct srn_qp *qp);
int srn_receive_post(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad_wr);

#endif /* SRN_RECEIVE_H */
