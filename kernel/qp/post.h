/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Posting sends, and doorbells.
 */
#ifndef SRN_POST_H
#define SRN_POST_H

#include "qp.h"

int srn_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr);

#endif /* SRN_POST_H */
