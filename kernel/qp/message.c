// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages that are made here, not by the consumer.
 */
#include "message.h"

/**
 * srn_message_bytes - take a message's payload from kernel memory of our own
 * @qp: queue pair
 * @msg: message, whose source and length are set
 * @data: payload, which must stay until the message is in FPDUs
 * @len: bytes
 *
 * Context: the active transmitter.
 */
void srn_message_bytes(struct srn_qp *qp, struct srn_tx_msg *msg, const void *data, u32 len)
{
	qp->tx.sge = (struct srn_sge) {
		.addr = (uintptr_t)data, .length = len, .lkey = SRN_LOCAL_DMA_LKEY,
	};
	msg->source = srn_qp_cursor(qp, &qp->tx.sge, 1, true, 0);
	msg->length = len;
}

/**
 * srn_message_empty_write - make a Write without payload
 * @qp: queue pair
 * @msg: message; the caller sets its STag and offset
 *
 * Context: the active transmitter.
 */
void srn_message_empty_write(struct srn_qp *qp, struct srn_tx_msg *msg)
{
	msg->opcode = SRN_OP_WRITE;
	srn_message_bytes(qp, msg, NULL, 0);
}
