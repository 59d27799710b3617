// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Modification of a queue pair: its state, access flags, limit of the rate.
 */
#include "../stream/direct.h"
#include "../stream/qos.h"
#include "binding.h"
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
	qp->sq.flush_first_as = 0;
	qp->sq.failed = false;
	qp->tx.awaits_completion = false;
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
		WRITE_ONCE(qp->access, SRN_MEM_REMOTE_ACCESS);
		WRITE_ONCE(qp->rate_limit, 0);
	}
	spin_unlock(&qp->state_lock);
	if (ok)
		forget_work(qp);
	spin_unlock_irq(&qp->sq.lock);
	mutex_unlock(&qp->conn_mutex);
	return ok ? 0 : -EINVAL;
}

/* A new connection can be made by hand after that, with the same peer or with another one. */
static void end_by_hand(struct srn_qp *qp)
{
	struct srn_conn *conn = srn_binding_by_hand(qp);

	if (!conn)
		return;
	srn_connection_abort(qp);
	conn->ops->put(conn);
}

static int modify_to_rts(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct srn_conn *conn = srn_binding_by_hand(qp);
	int ret;

	if (conn) {
		ret = conn->ops->to_rts(conn, attr, mask);
		conn->ops->put(conn);
		return ret;
	}
	if (READ_ONCE(qp->state) == IB_QPS_RTS)
		return 0;
	srn_qp_notice(qp, "RTS: it was not brought to RTR by hand, nor is it connected\n");
	return -EINVAL;
}

/* In iWARP this is the orderly end of a connection, which InfiniBand does not have. */
static int modify_to_sqd(struct srn_qp *qp)
{
	struct srn_conn *conn = srn_binding_by_hand(qp);

	if (!conn)
		return srn_connection_close(qp);
	conn->ops->put(conn);
	srn_qp_notice(qp, "SQD: the sends of a queue pair brought up by hand cannot be paused\n");
	return -EOPNOTSUPP;
}

static int modify_state(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state to = attr->qp_state;
	bool ok;

	switch (to) {
	case IB_QPS_ERR:
		srn_connection_abort(qp);
		return 0;
	case IB_QPS_SQD:
		return modify_to_sqd(qp);
	case IB_QPS_RESET:
		end_by_hand(qp);
		return modify_to_reset(qp);
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		spin_lock_irq(&qp->state_lock);
		/* A step to RTR that names the peer does not come here, see is_bring_up(). */
		ok = !(qp->conn && qp->conn->ops->to_rts) && srn_state_set(qp, to);
		spin_unlock_irq(&qp->state_lock);
		return ok ? 0 : -EINVAL;
	case IB_QPS_RTS:
		return modify_to_rts(qp, attr, mask);
	default:
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
		WRITE_ONCE(qp->access, attr->qp_access_flags & SRN_MEM_REMOTE_ACCESS);
}

static void modify_rate(struct srn_qp *qp, u32 kbits)
{
	mutex_lock(&qp->conn_mutex);
	WRITE_ONCE(qp->rate_limit, kbits);
	/* TCP keeps the rate. Pairs with the barrier in srn_recognition_next(). */
	smp_mb();
	if (kbits)
		srn_direct_return(&qp->stream);
	if (qp->stream.sock)
		srn_qos_set_rate(qp->stream.sock, kbits);
	mutex_unlock(&qp->conn_mutex);
}

/* What a program has brought up by hand is in RTR or RTS for it, whether it is connected or not. */
static bool may_be_in(struct srn_qp *qp, enum ib_qp_state state)
{
	enum ib_qp_state now = READ_ONCE(qp->state);
	struct srn_conn *conn;
	struct ib_qp_attr attr = { .qp_state = now };

	conn = srn_binding_by_hand(qp);
	if (!conn)
		return state == now;
	conn->ops->query(conn, &attr);
	conn->ops->put(conn);
	return state == attr.qp_state;
}

/* rdma_cm's step to RTR names no peer. */
static bool is_bring_up(const struct ib_qp_attr *attr, int mask)
{
	return mask & IB_QP_STATE && attr->qp_state == IB_QPS_RTR &&
	       mask & (IB_QP_AV | IB_QP_DEST_QPN);
}

/**
 * srn_modify_flags - change access flags and rate
 * @qp: queue pair
 * @attr: values
 * @mask: which of them
 *
 * Context: process, conn_mutex not held; sleeps.
 */
void srn_modify_flags(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_ACCESS_FLAGS)
		modify_access(qp, attr, mask);
	if (mask & IB_QP_RATE_LIMIT)
		modify_rate(qp, attr->rate_limit);
}

/**
 * srn_modify_apply - change state, access flags or rate
 * @qp: queue pair
 * @attr: values
 * @mask: which of them
 *
 * Attributes of other transports are accepted and mean nothing, but for a queue pair that is
 * brought up by hand.
 *
 * Context: process.
 *
 * Return: 0 or a negative errno.
 */
int srn_modify_apply(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	int ret;

	if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	if (mask & IB_QP_CUR_STATE && !may_be_in(qp, attr->cur_qp_state))
		return -EINVAL;
	if (mask & IB_QP_PORT && attr->port_num != 1)
		return -EINVAL;
	if (is_bring_up(attr, mask))
		return qp->dev->bring_up(qp, attr, mask);
	if (mask & IB_QP_STATE) {
		ret = modify_state(qp, attr, mask);
		if (ret)
			return ret;
	}
	srn_modify_flags(qp, attr, mask);
	return 0;
}
