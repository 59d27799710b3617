/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Who owns a queue pair.
 */
#ifndef SRN_OWNER_H
#define SRN_OWNER_H

#include "qp.h"

void srn_owner_init(struct srn_qp *qp);
void srn_owner_exit(struct srn_qp *qp);
bool srn_owner_is_current(const struct srn_qp *qp);
bool srn_owner_may_be_caller(const struct srn_qp *qp);
bool srn_owner_is_caller(const struct srn_qp *qp, const struct rdma_cm_id *id);

#endif /* SRN_OWNER_H */
