/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Listeners.
 */
#ifndef SRN_LISTEN_H
#define SRN_LISTEN_H

#include <rdma/iw_cm.h>

int srn_listen_create(struct iw_cm_id *cm_id, int backlog);
int srn_listen_destroy(struct iw_cm_id *cm_id);

#endif /* SRN_LISTEN_H */
