/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Fast registration: a kernel consumer's region that work requests make valid and invalid.
 */
#ifndef SRN_FASTREG_H
#define SRN_FASTREG_H

#include "mem.h"

int srn_fastreg_register(const struct ib_pd *pd, struct ib_mr *ibmr, u32 key, u32 access);
int srn_fastreg_invalidate(struct srn_mem *mem, u32 stag, bool remote);

#endif /* SRN_FASTREG_H */
