/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Whether the peer of a queue pair is a softrnic, and what is done differently then.
 */
#ifndef SRN_RECOGNITION_H
#define SRN_RECOGNITION_H

#include "qp.h"

void srn_recognition_itself(struct srn_qp *qp);
void srn_recognition_started(struct srn_qp *qp);
void srn_recognition_begin(struct srn_qp *qp, bool initiator, bool agreed);
void srn_recognition_received(struct srn_qp *qp);
enum srn_tx_verdict srn_recognition_next(struct srn_qp *qp, struct srn_tx_msg *msg);

#endif /* SRN_RECOGNITION_H */
