// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A bring-up by hand as its queue pair knows it: RTS, what ibv_query_qp() tells, the end.
 */
#include "../qp/rnr_limit.h"
#include "../qp/state.h"
#include "attempt.h"
#include "conn.h"
#include "listener.h"
#include "silence.h"

/* TCP tells of the end before the receiver has parsed what came with it. */
#define GONE_DELAY	(HZ / 20)

static struct srn_raw *raw_of_conn(struct srn_conn *conn)
{
	return container_of(conn, struct srn_raw, conn);
}

/**
 * srn_raw_conn_end - the end of a bring-up
 * @raw: bring-up; the reference of srn_raw_alloc() is dropped, unless it has ended already
 *
 * Context: process, not the link's raw_wq; no lock held; sleeps.
 */
void srn_raw_conn_end(struct srn_raw *raw)
{
	bool first;

	mutex_lock(&raw->lock.mutex);
	first = raw->state != SRN_RAW_ENDED;
	raw->state = SRN_RAW_ENDED;
	srn_raw_attempt_give_up(raw);
	srn_raw_unlock(raw);
	if (!first)
		return;
	if (cancel_delayed_work(&raw->work))
		srn_raw_put(raw);
	srn_raw_silence_end(raw);
	if (raw->listener)
		srn_raw_listener_put(raw->listener);
	srn_qp_put(raw->qp);
	srn_raw_put(raw);
}

static void conn_get(struct srn_conn *conn)
{
	srn_raw_get(raw_of_conn(conn));
}

static void conn_put(struct srn_conn *conn)
{
	srn_raw_put(raw_of_conn(conn));
}

static void conn_ended(struct srn_conn *conn)
{
	srn_raw_conn_end(raw_of_conn(conn));
}

static int conn_to_rts(struct srn_conn *conn, const struct ib_qp_attr *attr, int mask)
{
	struct srn_raw *raw = raw_of_conn(conn);
	int ret = -EINVAL;

	mutex_lock(&raw->lock.mutex);
	if (raw->state == SRN_RAW_ENDED || READ_ONCE(raw->qp->state) > IB_QPS_RTS) {
		srn_qp_notice(raw->qp, "RTS: its connection has ended\n");
		goto out;
	}
	if (!ib_modify_qp_is_ok(raw->rts ? IB_QPS_RTS : IB_QPS_RTR, IB_QPS_RTS, IB_QPT_RC,
				mask & ~IB_QP_RATE_LIMIT)) {
		srn_qp_notice(raw->qp, "RTS: an attribute is missing, or has no place there\n");
		goto out;
	}
	if (mask & IB_QP_MIN_RNR_TIMER) {
		raw->attr.min_rnr_timer = attr->min_rnr_timer;
		if (raw->state == SRN_RAW_ESTABLISHED)
			srn_rnr_limit_set_timer(raw->qp, attr->min_rnr_timer);
	}
	if (!raw->rts) {
		raw->attr.sq_psn = attr->sq_psn & SRN_MAX_PSN;
		raw->attr.timeout = attr->timeout & 31;
		raw->attr.retry_cnt = attr->retry_cnt & 7;
		raw->attr.rnr_retry = attr->rnr_retry & 7;
		raw->attr.max_rd_atomic = min_t(u8, attr->max_rd_atomic, SRN_MAX_READ_DEPTH);
		raw->rts = true;
		/* Nothing is sent before that, so nobody looks at it yet. */
		if (raw->state == SRN_RAW_ESTABLISHED) {
			raw->qp->sq.ord = min_t(u32, raw->qp->sq.ord, raw->attr.max_rd_atomic);
			srn_rnr_limit_tries(raw->qp, srn_raw_rnr_tries(raw));
			srn_raw_silence_begin(raw);
		}
		srn_state_open_sends(raw->qp);
	}
	raw->delay = SRN_RAW_MIN_DELAY;
	if (READ_ONCE(raw->gone))
		srn_raw_queue(raw, GONE_DELAY);
	else if (raw->state == SRN_RAW_WAITING)
		srn_raw_queue(raw, 0);
	ret = 0;
out:
	srn_raw_unlock(raw);
	return ret;
}

static void conn_query(struct srn_conn *conn, struct ib_qp_attr *attr)
{
	struct srn_raw *raw = raw_of_conn(conn);

	mutex_lock(&raw->lock.mutex);
	if (attr->qp_state == IB_QPS_RTR || attr->qp_state == IB_QPS_RTS)
		attr->qp_state = raw->rts ? IB_QPS_RTS : IB_QPS_RTR;
	attr->cur_qp_state = attr->qp_state;
	attr->path_mtu = raw->attr.path_mtu;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->rq_psn = raw->attr.rq_psn;
	attr->sq_psn = raw->attr.sq_psn;
	attr->dest_qp_num = raw->attr.dest_qp_num;
	attr->ah_attr = raw->attr.ah_attr;
	attr->pkey_index = raw->attr.pkey_index;
	attr->max_rd_atomic = raw->attr.max_rd_atomic;
	attr->max_dest_rd_atomic = raw->attr.max_dest_rd_atomic;
	attr->min_rnr_timer = raw->attr.min_rnr_timer;
	attr->timeout = raw->attr.timeout;
	attr->retry_cnt = raw->attr.retry_cnt;
	attr->rnr_retry = raw->attr.rnr_retry;
	srn_raw_unlock(raw);
}

static void conn_peer_gone(struct srn_conn *conn)
{
	struct srn_raw *raw = raw_of_conn(conn);

	if (READ_ONCE(raw->gone))
		return;
	WRITE_ONCE(raw->gone, true);
	srn_raw_queue(raw, GONE_DELAY);
}

/* What the queue pair calls. */
const struct srn_conn_ops srn_raw_conn_ops = {
	.get = conn_get, .put = conn_put, .ended = conn_ended,
	.to_rts = conn_to_rts, .query = conn_query, .peer_gone = conn_peer_gone,
};

/**
 * srn_raw_conn_find - find the bring-up that is under way for a queue pair
 * @dev: link
 * @qpn: number of the queue pair
 *
 * Context: process.
 *
 * Return: bring-up, with a reference, or NULL.
 */
struct srn_raw *srn_raw_conn_find(struct srn_device *dev, u32 qpn)
{
	struct srn_conn *conn = NULL;
	struct srn_qp *qp;

	rcu_read_lock();
	qp = srn_qp_find(dev, qpn);
	if (qp)
		conn = srn_binding_by_hand(qp);
	rcu_read_unlock();
	return conn ? raw_of_conn(conn) : NULL;
}
