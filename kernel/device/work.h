/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Workers that all links share.
 */
#ifndef SRN_WORK_H
#define SRN_WORK_H

#include <linux/workqueue.h>

/* Connections end. */
extern struct workqueue_struct *srn_wq;
/* Connections are accepted, which ends do not hold up. */
extern struct workqueue_struct *srn_accept_wq;
/* What is transmitted or received later, or where one may sleep. */
extern struct workqueue_struct *srn_tx_wq;

int srn_work_init(void);
void srn_work_exit(void);

#endif /* SRN_WORK_H */
