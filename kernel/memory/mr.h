/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory region verbs.
 */
#ifndef SRN_MR_H
#define SRN_MR_H

#include <rdma/ib_verbs.h>

struct ib_mr *srn_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *srn_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			      struct ib_udata *udata);
struct ib_mr *srn_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);
int srn_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		  unsigned int *sg_offset);
int srn_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif /* SRN_MR_H */
