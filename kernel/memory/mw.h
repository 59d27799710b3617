/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory window verbs.
 */
#ifndef SRN_MW_H
#define SRN_MW_H

#include <rdma/ib_verbs.h>

struct srn_mem;

struct srn_mw {
	struct ib_mw ibmw;
	struct srn_mem *mem;
};

static inline struct srn_mw *to_srn_mw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct srn_mw, ibmw);
}

int srn_mw_alloc(struct ib_mw *ibmw, struct ib_udata *udata);
int srn_mw_dealloc(struct ib_mw *ibmw);

#endif /* SRN_MW_H */
