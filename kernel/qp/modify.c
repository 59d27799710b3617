// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Changes of a queue pair by hand: states, access flags, rate.
 */
#include "../stream/service.h"
#include "connection.h"
#include "modify.h"
#include "state.h"

/* Forget whatever was posted, as verbs define RESET. Context: sq.lock held. */
static void forget_work(struct srn_qp *qp)
{
	spin_lock(&qp->rq.lock);
	if (qp->map) {
		qp->sq.prod = READ_ONCE(qp->ctrl->sq_prod);
		qp->sq.silent += qp->sq.prod - qp->sq.cons;
		qp->rq.cons = READ_ONCE(qp->ctrl->rq_prod);
		WRITE_ONCE(qp->ctrl->sq_cons, qp->sq.prod);
		WRITE_ONCE(qp->ctrl->sq_silent, qp->sq.silent);
		WRITE_ONCE(qp->ctrl->rq_cons, qp->rq.cons);
	} else {
		qp->rq.cons = qp->rq.prod;
	}
	spin_unlock(&qp->rq.lock);
	qp->sq.next = qp->sq.prod;
	qp->sq.sent = qp->sq.prod;
	qp->sq.cons = qp->sq.prod;
}

static int modify_to_reset(struct srn_qp *qp)
{
	bool ok;

	flush_work(&qp->end_work);
	mutex_lock(&qp->conn_mutex);
	spin_lock_irq(&qp->sq.lock);
	spin_lock(&qp->state_lock);
	/* Only when the last connection has ended completely. */
	ok = !qp->conn && (qp->state != IB_QPS_ERR || qp->ended) &&
	     srn_state_set(qp, IB_QPS_RESET);
	if (ok) {
		WRITE_ONCE(qp->ended, false);
		WRITE_ONCE(qp->peer_closed, false);
		qp->end_event = 0;
		WRITE_ONCE(qp->access, SRN_MODIFY_ACCESS);
	}
	spin_unlock(&qp->state_lock);
	if (ok)
		forget_work(qp);
	spin_unlock_irq(&qp->sq.lock);
	mutex_unlock(&qp->conn_mutex);
	return ok ? 0 : -EINVAL;
}

static int modify_state(struct srn_qp *qp, enum ib_qp_state to)
{
	bool ok;

	switch (to) {
	case IB_QPS_ERR:
		srn_connection_abort(qp);
		return 0;
	case IB_QPS_SQD:
		return srn_connection_close(qp);
	case IB_QPS_RESET:
		return modify_to_reset(qp);
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		spin_lock_irq(&qp->state_lock);
		ok = srn_state_set(qp, to);
		spin_unlock_irq(&qp->state_lock);
		return ok ? 0 : -EINVAL;
	case IB_QPS_RTS:
		if (READ_ONCE(qp->state) == IB_QPS_RTS)
			return 0;
		fallthrough;
	default:
		srn_qp_notice(qp, "cannot be connected by hand: use rdma_cm\n");
		return -EINVAL;
	}
}

/*
 * rdma_cm brings a QP to INIT, and on the passive side to RTR, with exactly these attributes. It
 * grants no access at all before it knows of a connection, and afterwards all that it knows of,
 * which does not include atomics. So no consumer has decided on the access. A program that does
 * this by hand names a P_Key as well, as InfiniBand demands.
 */
static bool is_rdma_cm_step(const struct ib_qp_attr *attr, int mask)
{
	const u32 known = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ;

	return mask == (IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PORT) &&
	       (attr->qp_state == IB_QPS_INIT || attr->qp_state == IB_QPS_RTR) &&
	       (!attr->qp_access_flags || attr->qp_access_flags == known);
}

static void modify_access(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (!is_rdma_cm_step(attr, mask))
		WRITE_ONCE(qp->access, attr->qp_access_flags & SRN_MODIFY_ACCESS);
}

static void modify_rate(struct srn_qp *qp, u32 kbits)
{
	mutex_lock(&qp->conn_mutex);
	WRITE_ONCE(qp->rate_limit, kbits);
	if (qp->stream.sock)
		srn_service_set_rate(qp->stream.sock, kbits);
	mutex_unlock(&qp->conn_mutex);
}

/**
 * srn_modify - change state, access flags or rate
 * @qp: queue pair
 * @attr: values
 * @mask: which of them
 *
 * Attributes of other transports are accepted and mean nothing. Only the connection manager makes
 * connections.
 *
 * Context: process.
 *
 * Return: 0 or a negative errno.
 */
int srn_modify(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != READ_ONCE(qp->state))
		return -EINVAL;
	if (mask & IB_QP_PORT && attr->port_num != 1)
		return -EINVAL;
	if (mask & IB_QP_STATE) {
		int ret = modify_state(qp, attr->qp_state);

		if (ret)
			return ret;
	}
	if (mask & IB_QP_ACCESS_FLAGS)
		modify_access(qp, attr, mask);
	if (mask & IB_QP_RATE_LIMIT)
		modify_rate(qp, attr->rate_limit);
	return 0;
}
