/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Workers that all links share.
 */
#ifndef SRN_WORKQUEUES_H
#define SRN_WORKQUEUES_H

#include <linux/workqueue.h>

/* It ends connections and closes their sockets, and keeps GIDs up to date. */
extern struct workqueue_struct *srn_wq;
/*
 * It accepts connections, and opens and closes the ports for queue pairs that are brought up by
 * hand. It is separate because the work above may wait for a peer, and this never does.
 */
extern struct workqueue_struct *srn_accept_wq;
/* It transmits and receives what has to wait, or what has to be done where one may sleep. */
extern struct workqueue_struct *srn_tx_wq;

int srn_workqueues_init(void);
void srn_workqueues_exit(void);

#endif /* SRN_WORKQUEUES_H */
