/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Changes of a queue pair by hand: states, access flags, rate.
 */
#ifndef SRN_MODIFY_H
#define SRN_MODIFY_H

#include "qp.h"

int srn_modify(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask);

#endif /* SRN_MODIFY_H */
