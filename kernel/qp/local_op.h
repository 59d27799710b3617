/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Work requests that change memory regions and windows, and need no message.
 */
#ifndef SRN_LOCAL_OP_H
#define SRN_LOCAL_OP_H

#include "qp.h"

enum srn_tx_verdict srn_local_op_execute(struct srn_qp *qp, struct srn_send *send, bool flushed);

#endif /* SRN_LOCAL_OP_H */
