/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * States of a queue pair.
 */
#ifndef SRN_STATE_H
#define SRN_STATE_H

#include "qp.h"

extern const struct srn_term_code srn_state_local_error;

bool srn_state_set(struct srn_qp *qp, enum ib_qp_state to);
bool srn_state_fail(struct srn_qp *qp, enum ib_event_type event, const struct srn_term_code *term,
		    const char *reason);
bool srn_state_has_ended(struct srn_qp *qp);
void srn_state_event(struct srn_qp *qp, enum ib_event_type type);
void srn_state_open_sends(struct srn_qp *qp);

#endif /* SRN_STATE_H */
