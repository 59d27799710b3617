/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Posting of sends, by a kernel consumer or by the doorbell of a process.
 */
#ifndef SRN_POST_H
#define SRN_POST_H

#include <rdma/ib_verbs.h>

int srn_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr);

#endif /* SRN_POST_H */
