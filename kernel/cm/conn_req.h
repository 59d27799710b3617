/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the core and a listener's consumer are told of connection requests.
 */
#ifndef SRN_CONN_REQ_H
#define SRN_CONN_REQ_H

#include "ep.h"

int srn_conn_req_report(struct srn_ep *ep);
int srn_conn_req_take(struct iw_cm_id *cm_id);
bool srn_conn_req_in_vain(struct srn_ep *ep);
void srn_conn_req_tell(struct srn_ep *ep);
void srn_conn_req_listener_gone(struct srn_ep *listener);

#endif /* SRN_CONN_REQ_H */
