/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The end of a bring-up by hand that connects, or connects to itself: one attempt after the other.
 */
#ifndef SRN_RAW_ATTEMPT_H
#define SRN_RAW_ATTEMPT_H

#include "raw.h"

void srn_raw_attempt_begin(struct srn_raw *raw);
void srn_raw_attempt_go_on(struct srn_raw *raw);
void srn_raw_attempt_give_up(struct srn_raw *raw);

#endif /* SRN_RAW_ATTEMPT_H */
