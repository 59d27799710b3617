/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory windows: an STag for part of a region, bound and taken back by work requests.
 *
 * A window has an STag index of its own for all its life. While it is bound it is like a
 * region that borrows the blocks of another one, which cannot be deregistered meanwhile.
 * Its fields change under mem->lock, and only while it is not valid and no access to it
 * is open.
 */
#ifndef SRN_WINDOW_H
#define SRN_WINDOW_H

#include "mem.h"

int srn_window_bind(const struct ib_qp *ibqp, const struct srn_send_wqe *wqe);
void srn_window_unbind(struct srn_mem *window);
int srn_window_invalidate(struct srn_mem *window, u32 stag, u32 qpn, bool remote);
bool srn_window_refuse(struct srn_mem *region);
void srn_window_unbind_all(struct srn_mem *region);

#endif /* SRN_WINDOW_H */
