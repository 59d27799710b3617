/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the core and its consumer are told of a connection.
 */
#ifndef SRN_REPORT_H
#define SRN_REPORT_H

#include "ep.h"

void srn_report_init(struct srn_ep *ep);
int srn_report_connecting(struct srn_ep *ep);
void srn_report_accepted(struct srn_ep *ep);
void srn_report_connected(struct srn_ep *ep);
void srn_report_ended(struct srn_ep *ep, int status, bool polite);
int srn_report_settle(struct srn_ep *ep, int ret);
void srn_report_tell(struct srn_ep *ep);

#endif /* SRN_REPORT_H */
