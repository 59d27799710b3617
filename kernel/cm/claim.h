/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The core's reference to a queue pair.
 *
 * While a consumer is told of its connection, nobody may destroy its id. The core drops its
 * reference to the queue pair before an id is gone, so srn_claim_rem_ref() delays that. That
 * function is not told to which id a reference belonged. So srn_claim_get_qp() gives one reference,
 * the claim, and a second one only when the connection of the first has ended.
 */
#ifndef SRN_CLAIM_H
#define SRN_CLAIM_H

#include "ep.h"

struct ib_qp *srn_claim_get_qp(struct ib_device *ibdev, int qpn);
void srn_claim_rem_ref(struct ib_qp *ibqp);
int srn_claim_take_qp(struct srn_ep *ep, u32 qpn);
bool srn_claim_begin(struct srn_ep *ep);
void srn_claim_end(struct srn_ep *ep);
void srn_claim_note_end(const struct srn_ep *ep);

#endif /* SRN_CLAIM_H */
