/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How long sends wait for a peer that does not come, or is gone.
 */
#ifndef SRN_RAW_SEND_TIMEOUT_H
#define SRN_RAW_SEND_TIMEOUT_H

#include "raw.h"

unsigned long srn_raw_send_timeout(const struct srn_raw *raw);
bool srn_raw_sends_wait(struct srn_qp *qp);
bool srn_raw_send_timeout_check(struct srn_raw *raw);

#endif /* SRN_RAW_SEND_TIMEOUT_H */
