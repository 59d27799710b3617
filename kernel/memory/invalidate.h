/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Invalidation of an STag, whatever it names.
 */
#ifndef SRN_INVALIDATE_H
#define SRN_INVALIDATE_H

#include <rdma/ib_verbs.h>

int srn_invalidate(const struct ib_qp *ibqp, u32 stag, bool remote);

#endif /* SRN_INVALIDATE_H */
