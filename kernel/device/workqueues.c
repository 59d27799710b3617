// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Workers that all links share.
 */
#include "../compat/compat.h"
#include "workqueues.h"

struct workqueue_struct *srn_wq;
struct workqueue_struct *srn_accept_wq;
struct workqueue_struct *srn_tx_wq;

/**
 * srn_workqueues_init - get the workers
 *
 * Context: process, at load of the module.
 *
 * Return: 0 or -ENOMEM.
 */
int srn_workqueues_init(void)
{
	srn_wq = alloc_workqueue("softrnic", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	srn_tx_wq = alloc_workqueue("softrnic_tx", WQ_MEM_RECLAIM | SRN_WQ_PERCPU, 0);
	srn_accept_wq = alloc_workqueue("softrnic_accept", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (srn_wq && srn_tx_wq && srn_accept_wq)
		return 0;
	srn_workqueues_exit();
	return -ENOMEM;
}

/**
 * srn_workqueues_exit - undo srn_workqueues_init()
 *
 * Context: process, at removal of the module, when there are no links.
 */
void srn_workqueues_exit(void)
{
	if (srn_accept_wq)
		destroy_workqueue(srn_accept_wq);
	if (srn_tx_wq)
		destroy_workqueue(srn_tx_wq);
	if (srn_wq)
		destroy_workqueue(srn_wq);
}
