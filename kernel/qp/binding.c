// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A queue pair and the connection that it has, or is to get.
 */
#include "binding.h"
#include "qp.h"

/**
 * srn_binding_make - a connection is about to be set up for a queue pair
 * @qp: queue pair
 * @conn: the connection; a reference is taken
 *
 * Context: any.
 *
 * Return: 0, -EINVAL if the QP is not in INIT or RTR, -EISCONN if it has a connection.
 */
int srn_binding_make(struct srn_qp *qp, struct srn_conn *conn)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&qp->state_lock, flags);
	if (qp->state != IB_QPS_INIT && qp->state != IB_QPS_RTR)
		ret = -EINVAL;
	else if (qp->conn)
		ret = -EISCONN;
	if (!ret) {
		conn->ops->get(conn);
		qp->conn = conn;
	}
	spin_unlock_irqrestore(&qp->state_lock, flags);
	return ret;
}

/**
 * srn_binding_end - undo srn_binding_make(), if the two are still bound
 * @qp: queue pair
 * @conn: the connection that was bound
 *
 * Context: any.
 */
void srn_binding_end(struct srn_qp *qp, struct srn_conn *conn)
{
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&qp->state_lock, flags);
	mine = qp->conn == conn;
	if (mine)
		qp->conn = NULL;
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (mine)
		conn->ops->put(conn);
}

/* Only what was brought up by hand goes to RTS by hand. */
static bool is_by_hand(const struct srn_conn *conn)
{
	return conn->ops->to_rts;
}

/**
 * srn_binding_by_hand - the connection of a queue pair that is brought up by hand
 * @qp: queue pair
 *
 * Context: process.
 *
 * Return: connection, with a reference, or NULL if it has none, or one of another kind.
 */
struct srn_conn *srn_binding_by_hand(struct srn_qp *qp)
{
	struct srn_conn *conn;

	spin_lock_irq(&qp->state_lock);
	conn = qp->conn && is_by_hand(qp->conn) ? qp->conn : NULL;
	if (conn)
		conn->ops->get(conn);
	spin_unlock_irq(&qp->state_lock);
	return conn;
}

/**
 * srn_binding_kind - who connects a queue pair
 * @qp: queue pair
 *
 * Context: any.
 *
 * Return: who does at this moment.
 */
enum srn_binding_kind srn_binding_kind(struct srn_qp *qp)
{
	enum srn_binding_kind kind = SRN_BOUND_TO_NOBODY;
	unsigned long flags;

	spin_lock_irqsave(&qp->state_lock, flags);
	if (qp->conn)
		kind = is_by_hand(qp->conn) ? SRN_BOUND_BY_HAND : SRN_BOUND_BY_RDMA_CM;
	spin_unlock_irqrestore(&qp->state_lock, flags);
	return kind;
}

/**
 * srn_binding_peer_gone - the peer has closed the connection, or it is broken
 * @qp: queue pair
 *
 * InfiniBand tells nobody of that, and programs that bring up queue pairs by hand rely on it: their
 * receives stay where they are, until a send finds out.
 *
 * Context: any.
 *
 * Return: true if whoever brought it up by hand sees to it; false if the queue pair has to end.
 */
bool srn_binding_peer_gone(struct srn_qp *qp)
{
	unsigned long flags;
	bool by_hand;

	spin_lock_irqsave(&qp->state_lock, flags);
	by_hand = qp->state == IB_QPS_RTS && qp->conn && qp->conn->ops->peer_gone;
	if (by_hand)
		qp->conn->ops->peer_gone(qp->conn);
	spin_unlock_irqrestore(&qp->state_lock, flags);
	return by_hand;
}

/**
 * srn_binding_tell_no_more - the consumer is not told any more that a connection is there
 * @qp: queue pair that is being destroyed
 *
 * If it is being told just now, that goes on.
 *
 * Context: process.
 */
void srn_binding_tell_no_more(struct srn_qp *qp)
{
	spin_lock_irq(&qp->state_lock);
	qp->claim.conn = NULL;
	spin_unlock_irq(&qp->state_lock);
}
