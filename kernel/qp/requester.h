/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The send queue: its next work request, as a message.
 */
#ifndef SRN_REQUESTER_H
#define SRN_REQUESTER_H

#include "qp.h"

enum srn_tx_verdict srn_requester_next(struct srn_qp *qp, struct srn_tx_msg *msg, bool flushed);
enum srn_tx_verdict srn_requester_rtr(struct srn_qp *qp, struct srn_tx_msg *msg);

#endif /* SRN_REQUESTER_H */
