/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the core's connection manager gets in place of a queue pair.
 *
 * iw_cm_disconnect() takes the queue pair of an id, lets go of its lock, and then changes the state
 * of the queue pair, without a reference of its own. Meanwhile the connection may end, the core
 * drop its reference, and a process destroy the queue pair; the core then frees it. So the core
 * gets a handle, which outlives the queue pair for as long as somebody may be in between.
 */
#ifndef SRN_CM_HANDLE_H
#define SRN_CM_HANDLE_H

#include <rdma/ib_verbs.h>

struct srn_qp;

/* Nobody can create a queue pair of this type. */
#define SRN_CM_HANDLE_TYPE	IB_QPT_DRIVER

struct srn_cm_handle {
	struct ib_qp ibqp;		/* what the core sees */
	struct srn_qp *qp;		/* exists until @gone, and while it is referenced */
	spinlock_t lock;
	bool gone;			/* @qp is being destroyed; @lock protects it */
	struct rcu_head rcu;
};

static inline struct srn_cm_handle *to_srn_cm_handle(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct srn_cm_handle, ibqp);
}

int srn_cm_handle_init(void);
int srn_cm_handle_create(struct srn_qp *qp);
void srn_cm_handle_close(struct srn_cm_handle *handle);
void srn_cm_handle_free(struct srn_cm_handle *handle);
void srn_cm_handle_add_ref(struct ib_qp *ibqp);
int srn_cm_handle_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask);
void srn_cm_handle_exit(void);

#endif /* SRN_CM_HANDLE_H */
