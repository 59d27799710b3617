/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A queue pair and the connection that it has, or is to get. Whoever sets up connections (cm/,
 * raw/) binds one to a queue pair, and is told by it what becomes of the connection.
 */
#ifndef SRN_BINDING_H
#define SRN_BINDING_H

#include <rdma/ib_verbs.h>

struct srn_qp;

/*
 * The connection of a queue pair, as seen by whoever sets it up: the connection manager or another.
 * While the two are bound the queue pair holds a reference, which it takes with @get and drops with
 * @put (any context). It calls @ended once it has let go of the connection (process context). Its
 * queues have been flushed by then, unless its process is destroying it.
 */
struct srn_conn;

struct srn_conn_ops {
	void (*get)(struct srn_conn *conn);
	void (*put)(struct srn_conn *conn);
	void (*ended)(struct srn_conn *conn);
	/*
	 * These are only for a queue pair that is brought up by hand: its program goes to RTS, or
	 * asks for its attributes (process context, sleeps); the peer has closed the connection,
	 * or it is broken (any context, state_lock held).
	 */
	int (*to_rts)(struct srn_conn *conn, const struct ib_qp_attr *attr, int mask);
	void (*query)(struct srn_conn *conn, struct ib_qp_attr *attr);
	void (*peer_gone)(struct srn_conn *conn);
};

struct srn_conn {
	const struct srn_conn_ops *ops;
};

/* The reference to a queue pair that the RDMA core holds for a connection, see cm/claim.h. */
struct srn_claim {
	const struct srn_conn *conn;	/* connection whose consumer may be told of it */
	bool held;			/* the core holds the reference */
	bool busy;			/* the consumer is being told something */
	bool ended;			/* the connection has ended */
	/*
	 * Task that has claimed the queue pair for its next connection before the core has dropped
	 * the reference for this one; only compared.
	 */
	const struct task_struct *next;
};

/* Who connects a queue pair. */
enum srn_binding_kind {
	SRN_BOUND_TO_NOBODY,
	SRN_BOUND_BY_RDMA_CM,
	SRN_BOUND_BY_HAND,
};

int srn_binding_make(struct srn_qp *qp, struct srn_conn *conn);
void srn_binding_end(struct srn_qp *qp, struct srn_conn *conn);
struct srn_conn *srn_binding_by_hand(struct srn_qp *qp);
enum srn_binding_kind srn_binding_kind(struct srn_qp *qp);
void srn_binding_tell_no_more(struct srn_qp *qp);
bool srn_binding_peer_gone(struct srn_qp *qp);

#endif /* SRN_BINDING_H */
