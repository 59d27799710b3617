// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Who owns a queue pair.
 */
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>

#include "owner.h"

/**
 * srn_owner_init - make the caller own a queue pair
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
 *
 * Context: process.
 */
void srn_owner_exit(struct srn_qp *qp)
{
	put_pid(qp->owner);
}

/**
 * srn_owner_is_current - does the process that made a queue pair run here?
 * @qp: queue pair
 *
 * Context: process.
 *
 * Return: true if it does.
 */
bool srn_owner_is_current(const struct srn_qp *qp)
{
	return task_tgid(current) == qp->owner;
}

/**
 * srn_owner_may_be_caller - could the queue pair be the caller's, as far as can be told?
 * @qp: queue pair
 *
 * A process's queue pair is for that process, whatever user it has become, and for processes of the
 * same user in the same process namespace, such as its children. To be the same user is not enough,
 * since containers often have no users of their own.
 *
 * A kernel consumer's queue pair is for kernel threads, and for the process for which it was
 * created, which mounts something or adds a target. Others must not have it even for the moment
 * until srn_owner_is_caller() refuses them, since its consumer could not connect it meanwhile.
 *
 * Context: process, spinlocks may be held.
 *
 * Return: true if it could be.
 */
bool srn_owner_may_be_caller(const struct srn_qp *qp)
{
	if (srn_owner_is_current(qp))
		return true;
	if (qp->kernel)
		return current->flags & PF_KTHREAD;
	return uid_eq(current_uid(), qp->owner_uid) &&
	       task_active_pid_ns(current) == ns_of_pid(qp->owner);
}

/**
 * srn_owner_is_caller - may the caller have a connection for this queue pair?
 * @qp: queue pair
 * @id: rdma_cm's identifier of the connection
 *
 * A kernel consumer's queue pair belongs to an id, or to a thread of the kernel.
 *
 * Context: process.
 *
 * Return: true if it may.
 */
bool srn_owner_is_caller(const struct srn_qp *qp, const struct rdma_cm_id *id)
{
	if (qp->kernel)
		return id->qp ? id->qp == &qp->ibqp : current->flags & PF_KTHREAD;
	return srn_owner_may_be_caller(qp);
}
