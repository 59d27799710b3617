/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Modification of a queue pair, for the verb and for iw_cm.
 */
#ifndef SRN_MODIFY_H
#define SRN_MODIFY_H

#include "qp.h"

int srn_modify_apply(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask);
void srn_modify_flags(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask);

#endif /* SRN_MODIFY_H */
