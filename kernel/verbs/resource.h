/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What "rdma resource show -dd" tells of objects beside what the core knows.
 */
#ifndef SRN_RESOURCE_H
#define SRN_RESOURCE_H

#include <rdma/ib_verbs.h>

int srn_resource_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int srn_resource_mr(struct sk_buff *msg, struct ib_mr *ibmr);
int srn_resource_qp(struct sk_buff *msg, struct ib_qp *ibqp);
int srn_resource_srq(struct sk_buff *msg, struct ib_srq *ibsrq);

#endif /* SRN_RESOURCE_H */
