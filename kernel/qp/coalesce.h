/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Whether what a kernel consumer posts is worth collecting.
 */
#ifndef SRN_COALESCE_H
#define SRN_COALESCE_H

#include <linux/types.h>

struct srn_qp;

/**
 * struct srn_coalesce - state for a kernel consumer's send queue, protected by sq.lock
 * @posts: number of posts that the next run of a worker has to transmit so far; 2: or more
 * @singles: number of runs in a row that had one post to transmit
 * @at_once: number of posts that are still to be transmitted at once
 * @pause: value with which @at_once began
 */
struct srn_coalesce {
	u8 posts;
	u8 singles;
	u16 at_once;
	u16 pause;
};

bool srn_coalesce(struct srn_qp *qp);

#endif /* SRN_COALESCE_H */
