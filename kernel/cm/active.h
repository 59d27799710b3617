/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The initiator of a connection.
 */
#ifndef SRN_ACTIVE_H
#define SRN_ACTIVE_H

#include <rdma/iw_cm.h>

int srn_active_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);

#endif /* SRN_ACTIVE_H */
