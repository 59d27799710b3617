// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whose a queue pair is.
 */
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>

#include "owner.h"

/**
 * srn_owner_init - the queue pair is the caller's
 * @qp: new queue pair
 *
 * Context: process. srn_owner_exit() undoes it.
 */
void srn_owner_init(struct srn_qp *qp)
{
	qp->owner_uid = current_uid();
	qp->owner = get_pid(task_tgid(current));
}

/**
 * srn_owner_exit - undo srn_owner_init()
 * @qp: queue pair
 */
void srn_owner_exit(struct srn_qp *qp)
{
	put_pid(qp->owner);
}

/**
 * srn_owner_may_be_caller - may the queue pair be the caller's, as far as can be told?
 * @qp: queue pair
 *
 * That of a process is for itself, whatever user it has become, and for processes of the same user
 * in the same process namespace, such as a child of it. To be the same user is not enough, since
 * containers often have no users of their own.
 *
 * That of a kernel consumer is for threads of the kernel, and for the process for which it was
 * created: it mounts something, or adds a target. Others must not even have it for the moment until
 * srn_owner_is_caller() refuses them, since its consumer could not connect it meanwhile.
 *
 * Context: process, spinlocks may be held.
 */
bool srn_owner_may_be_caller(const struct srn_qp *qp)
{
	if (task_tgid(current) == qp->owner)
		return true;
	if (qp->kernel)
		return current->flags & PF_KTHREAD;
	return uid_eq(current_uid(), qp->owner_uid) &&
	       task_active_pid_ns(current) == ns_of_pid(qp->owner);
}

/**
 * srn_owner_is_caller - may who asks for a connection have it for this queue pair?
 * @qp: queue pair
 * @id: rdma_cm's identifier of the connection
 *
 * A kernel consumer's queue pair belongs to an id, or to a thread of the kernel.
 *
 * Context: process.
 */
bool srn_owner_is_caller(const struct srn_qp *qp, const struct rdma_cm_id *id)
{
	if (qp->kernel)
		return id->qp ? id->qp == &qp->ibqp : current->flags & PF_KTHREAD;
	return srn_owner_may_be_caller(qp);
}
