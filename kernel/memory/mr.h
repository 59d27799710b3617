/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory region verbs.
 */
#ifndef SRN_MR_H
#define SRN_MR_H

#include <rdma/ib_verbs.h>

struct srn_mem;

struct srn_mr {
	struct ib_mr ibmr;
	struct srn_mem *mem;
	u64 *next_blocks;	/* of a coming fast registration, in place of those of @mem */
	u32 num_next;
};

static inline struct srn_mr *to_srn_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct srn_mr, ibmr);
}

struct ib_mr *srn_mr_get_dma(struct ib_pd *pd, int access);
struct ib_mr *srn_mr_reg_user(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			      struct ib_udata *udata);
struct ib_mr *srn_mr_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				int access);
struct ib_mr *srn_mr_rereg_user(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				int access, struct ib_pd *pd, struct ib_udata *udata);
struct ib_mr *srn_mr_alloc(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);
int srn_mr_map_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		  unsigned int *sg_offset);
int srn_mr_dereg(struct ib_mr *ibmr, struct ib_udata *udata);

#endif /* SRN_MR_H */
