/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Protection domains. A region, a window or a queue pair points to the one that it was made in.
 */
#ifndef SRN_PD_H
#define SRN_PD_H

#include <rdma/ib_verbs.h>

struct srn_pd {
	struct ib_pd ibpd;
};

int srn_pd_alloc(struct ib_pd *ibpd, struct ib_udata *udata);
int srn_pd_dealloc(struct ib_pd *ibpd, struct ib_udata *udata);

#endif /* SRN_PD_H */
