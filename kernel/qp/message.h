/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Messages that are made here, not by the consumer.
 */
#ifndef SRN_MESSAGE_H
#define SRN_MESSAGE_H

#include "qp.h"

void srn_message_bytes(struct srn_qp *qp, struct srn_tx_msg *msg, const void *data, u32 len);
void srn_message_empty_write(struct srn_qp *qp, struct srn_tx_msg *msg);

#endif /* SRN_MESSAGE_H */
