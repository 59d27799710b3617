// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the core's connection manager gets in place of a queue pair, see cm_handle.h.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "cm_handle.h"
#include "modify.h"
#include "qp.h"

/* The size of kmalloc() that fits is 50 % larger than a handle. */
static struct kmem_cache *handles;

/**
 * srn_cm_handle_init - prepare for handles
 *
 * Context: process, at the module's start. srn_cm_handle_exit() undoes it.
 *
 * Return: 0 or -ENOMEM.
 */
int srn_cm_handle_init(void)
{
	handles = KMEM_CACHE(srn_cm_handle, SLAB_ACCOUNT);
	return handles ? 0 : -ENOMEM;
}

/**
 * srn_cm_handle_create - make the handle of a new queue pair
 * @qp: queue pair whose number is set already
 *
 * Context: process, sleeps.
 *
 * Return: 0 or -ENOMEM.
 */
int srn_cm_handle_create(struct srn_qp *qp)
{
	struct srn_cm_handle *handle = kmem_cache_zalloc(handles, GFP_KERNEL);

	if (!handle)
		return -ENOMEM;
	handle->ibqp.device = qp->ibqp.device;
	handle->ibqp.real_qp = &handle->ibqp;
	handle->ibqp.qp_num = qp->ibqp.qp_num;
	handle->ibqp.qp_type = SRN_CM_HANDLE_TYPE;
	handle->qp = qp;
	spin_lock_init(&handle->lock);
	qp->cm_handle = handle;
	return 0;
}

/**
 * srn_cm_handle_close - keep those who have only the handle from reaching the queue pair
 * @handle: handle of a queue pair that is being destroyed
 *
 * References that have been taken already remain.
 *
 * Context: process.
 */
void srn_cm_handle_close(struct srn_cm_handle *handle)
{
	spin_lock(&handle->lock);
	handle->gone = true;
	spin_unlock(&handle->lock);
}

static void free_handle(struct rcu_head *rcu)
{
	kmem_cache_free(handles, container_of(rcu, struct srn_cm_handle, rcu));
}

/**
 * srn_cm_handle_free - the queue pair is gone
 * @handle: closed handle that the core has no reference to
 *
 * A task that took the handle from the core's id before does not sleep until it calls
 * srn_cm_handle_modify(), but it may be preempted, so an ordinary grace period proves nothing.
 *
 * Context: any.
 */
void srn_cm_handle_free(struct srn_cm_handle *handle)
{
	call_rcu_tasks(&handle->rcu, free_handle);
}

/**
 * srn_cm_handle_add_ref - the core keeps the queue pair from being destroyed
 * @ibqp: handle that srn_claim_get_qp() has just returned, or that has a reference
 *
 * srn_claim_rem_ref() undoes this. Context: any.
 */
void srn_cm_handle_add_ref(struct ib_qp *ibqp)
{
	srn_qp_get(to_srn_cm_handle(ibqp)->qp);
}

/**
 * srn_cm_handle_modify - the core ends a connection
 * @ibqp: handle, perhaps without a reference, see srn_cm_handle_free()
 * @attr: state
 * @mask: IB_QP_STATE
 *
 * Context: process, sleeps.
 *
 * Return: as srn_modify_apply(), or -EINVAL if the queue pair is being destroyed, which also ends
 * its connection.
 */
int srn_cm_handle_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask)
{
	struct srn_cm_handle *handle = to_srn_cm_handle(ibqp);
	struct srn_qp *qp = NULL;
	int ret;

	spin_lock(&handle->lock);
	if (!handle->gone) {
		qp = handle->qp;
		srn_qp_get(qp);
	}
	spin_unlock(&handle->lock);
	if (!qp)
		return -EINVAL;
	ret = srn_modify_apply(qp, attr, mask);
	srn_qp_put(qp);
	return ret;
}

/**
 * srn_cm_handle_exit - wait until all handles have been freed, and undo srn_cm_handle_init()
 *
 * Context: process, at the module's end or when its start fails.
 */
void srn_cm_handle_exit(void)
{
	/* Where tasks are not preempted in the kernel, call_rcu_tasks() is call_rcu(). */
	if (IS_ENABLED(CONFIG_TASKS_RCU))
		rcu_barrier_tasks();
	else
		rcu_barrier();
	kmem_cache_destroy(handles);
}
