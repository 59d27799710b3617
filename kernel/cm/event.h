/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Events of the core, as they are made and queued.
 */
#ifndef SRN_EVENT_H
#define SRN_EVENT_H

#include "ep.h"

/* The core keeps the length of private data in a u8. */
#define SRN_EVENT_MAX_PRIVATE	U8_MAX

void *srn_event_private(const struct srn_ep *ep, u8 *len);
void srn_event_init(const struct srn_ep *ep, const struct iw_cm_id *cm_id,
		    struct iw_cm_event *event, enum iw_cm_event_type type);
int srn_event_send(struct srn_ep *ep, struct iw_cm_id *cm_id, struct iw_cm_event *event);

#endif /* SRN_EVENT_H */
