/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Workers that all links share.
 */
#ifndef SRN_WORKQUEUES_H
#define SRN_WORKQUEUES_H

#include <linux/workqueue.h>

/* Ends connections. */
extern struct workqueue_struct *srn_wq;
/* Accepts connections; it is separate, so that ending ones do not hold it up. */
extern struct workqueue_struct *srn_accept_wq;
/* Transmits and receives what has to wait, or what has to be done where one may sleep. */
extern struct workqueue_struct *srn_tx_wq;

int srn_workqueues_init(void);
void srn_workqueues_exit(void);

#endif /* SRN_WORKQUEUES_H */
