/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The responder of a connection.
 */
#ifndef SRN_PASSIVE_H
#define SRN_PASSIVE_H

#include <linux/net.h>
#include <rdma/iw_cm.h>

struct srn_ep;

int srn_passive_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int srn_passive_reject(struct iw_cm_id *cm_id, const void *data, u8 len);
void srn_passive_start(struct srn_ep *listener, struct socket *sock);

#endif /* SRN_PASSIVE_H */
