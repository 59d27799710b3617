/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Piggybacking: an answer of placed.h should leave in the packet of this end's next message. So it
 * waits for one as long as that usually comes in time, and leaves at once if it does not.
 */
#ifndef SRN_PIGGYBACK_H
#define SRN_PIGGYBACK_H

#include "qp.h"

bool srn_piggyback_wait(struct srn_qp *qp);
void srn_piggyback_answered(struct srn_qp *qp);
void srn_piggyback_followed(struct srn_qp *qp);
void srn_piggyback_exit(struct srn_qp *qp);

#endif /* SRN_PIGGYBACK_H */
