/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Whether what a kernel consumer posts is worth collecting.
 */
#ifndef SRN_COALESCE_H
#define SRN_COALESCE_H

#include <linux/types.h>

struct srn_qp;

/**
 * struct srn_coalesce - of a kernel consumer's send queue, under sq.lock
 * @posts: that the next run of a worker has collected so far
 * @singles: runs in a row that had collected one
 * @at_once: posts that are still transmitted at once
 * @pause: how many these were in the beginning
 */
struct srn_coalesce {
	u32 posts;
	u16 singles;
	u16 at_once;
	u16 pause;
};

bool srn_coalesce(struct srn_qp *qp);

#endif /* SRN_COALESCE_H */
