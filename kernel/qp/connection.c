// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A queue pair's connection: it starts, and is told to end. end.c ends it.
 */
#include <linux/log2.h>
#include <linux/memcontrol.h>

#include "../device/workqueues.h"
#include "../stream/qos.h"
#include "../stream/tx.h"
#include "connection.h"
#include "delivery.h"
#include "doorbell.h"
#include "end.h"
#include "placed.h"
#include "placement.h"
#include "recognition.h"
#include "resume.h"
#include "rnr_limit.h"
#include "scheduler.h"
#include "state.h"

/* An orderly close that takes longer becomes a disorderly one. */
#define CLOSE_TIMEOUT	(10 * HZ)

static void conn_reset(struct srn_qp *qp, const struct srn_conn_params *params)
{
	memset(&qp->tx, 0, sizeof(qp->tx));
	memset(&qp->rx, 0, sizeof(qp->rx));
	srn_sequence_init(&qp->rx.sequence, params->rtr == SRN_RTR_READ,
			  params->rtr_send_may_come);
	qp->rx.write.pd = qp->ibqp.pd;
	qp->tx.rtr = params->rtr;
	qp->sq.ord = params->ord;
	qp->sq.requested = 0;
	qp->sq.answered = 0;
	qp->inbound.ird = params->ird;
	qp->inbound.depth = roundup_pow_of_two(max(params->ird, 1u));
	qp->inbound.prod = 0;
	qp->inbound.cons = 0;
	if (params->itself && params->peer_answers)
		srn_recognition_itself(qp);
	else if (!params->itself)
		srn_recognition_begin(qp, params->initiator, params->peer_answers);
	srn_placed_begin(qp, params->peer_answers);
	qp->peer_rnr_tries = 0;
	srn_rnr_limit_set_timer(qp, params->rnr_timer);
	srn_rnr_limit_tries(qp, params->rnr_tries);
}

/**
 * srn_connection_start - hand a connected socket to a queue pair
 * @qp: queue pair that was bound to @conn, and may be bound to another connection by now
 * @conn: connection of @sock
 * @sock: socket in full operation; it belongs to the QP if this succeeds
 * @params: what the set-up agreed on
 *
 * Context: process, sleeps.
 *
 * Return: 0, or -ECONNABORTED if the queue pair is not bound to @conn any more, or must not go to
 * RTS.
 */
int srn_connection_start(struct srn_qp *qp, const struct srn_conn *conn, struct socket *sock,
			 const struct srn_conn_params *params)
{
	struct srn_stream_params stream_params = {
		.counters = qp->dev->counters, .crc = params->crc,
		.tx_markers = params->tx_markers, .rx_markers = params->rx_markers,
		.hold_tx = params->hold_tx,
		.process = !qp->kernel, .large_fpdus = READ_ONCE(qp->dev->large_fpdus),
	};
	bool ok;

	mutex_lock(&qp->conn_mutex);
	/* It may have another connection by now, whose stream must be left alone. */
	if (READ_ONCE(qp->conn) != conn) {
		mutex_unlock(&qp->conn_mutex);
		return -ECONNABORTED;
	}
	srn_stream_attach(&qp->stream, sock, &stream_params);
	conn_reset(qp, params);
	if (qp->rate_limit)
		srn_qos_set_rate(sock, qp->rate_limit);

	spin_lock_irq(&qp->state_lock);
	ok = qp->conn == conn && qp->state != IB_QPS_RTS && srn_state_set(qp, IB_QPS_RTS);
	spin_unlock_irq(&qp->state_lock);
	if (!ok) {
		srn_stream_detach(&qp->stream);
		mutex_unlock(&qp->conn_mutex);
		return -ECONNABORTED;
	}
	srn_recognition_started(qp);
	srn_stream_start(&qp->stream);
	mutex_unlock(&qp->conn_mutex);
	return 0;
}

/**
 * srn_connection_abort - end the connection now
 * @qp: queue pair
 *
 * Context: process, sleeps; the queues are flushed when it returns.
 */
void srn_connection_abort(struct srn_qp *qp)
{
	srn_state_fail(qp, 0, NULL, NULL);
	flush_work(&qp->end_work);
}

static void close_timed_out(struct work_struct *work)
{
	struct srn_qp *qp = container_of(to_delayed_work(work), struct srn_qp, close_work);

	srn_state_fail(qp, 0, NULL, "peer did not close in time");
}

/**
 * srn_connection_close - end the connection in an orderly way
 * @qp: queue pair
 *
 * What has been posted is transmitted, the peer is told, and its close is awaited up to a time
 * limit. A connection that is still being set up is given up. A connection that is ending already
 * is left alone.
 *
 * Context: any.
 *
 * Return: 0, or -EINVAL if there is no connection.
 */
int srn_connection_close(struct srn_qp *qp)
{
	bool close, connecting;
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&qp->state_lock, flags);
	connecting = qp->conn && (qp->state == IB_QPS_INIT || qp->state == IB_QPS_RTR);
	close = qp->state == IB_QPS_RTS && srn_state_set(qp, IB_QPS_SQD);
	if (close)
		queue_delayed_work(srn_wq, &qp->close_work, CLOSE_TIMEOUT);
	ret = qp->state == IB_QPS_SQD || qp->state == IB_QPS_ERR ? 0 : -EINVAL;
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (connecting) {
		/* The connection may be established by now; it then ends at once. */
		srn_state_fail(qp, 0, NULL, NULL);
		return 0;
	}
	if (close)
		srn_tx_kick_async(&qp->stream);
	return ret;
}

static const struct srn_stream_ops stream_ops = {
	.tx_next = srn_scheduler_next,
	.tx_built = srn_scheduler_built,
	.tx_pushed = srn_scheduler_pushed,
	.tx_idle = srn_scheduler_idle,
	.tx_deferred = srn_scheduler_deferred,
	.rx_begin = srn_placement_begin,
	.rx_memory = srn_placement_memory,
	.rx_continue = srn_placement_continue,
	.rx_place = srn_placement_place,
	.rx_end = srn_delivery_end,
	.rx_resume = srn_resume_messages,
	.rx_pause = srn_placement_pause,
	.rx_done = srn_delivery_done,
	.ended = srn_end_of_stream,
};

/**
 * srn_connection_init - prepare the state, stream and doorbell of a new queue pair
 * @qp: queue pair; memory of its connections is charged to the process that creates it
 *
 * Context: process. srn_connection_exit() undoes it.
 */
void srn_connection_init(struct srn_qp *qp)
{
	qp->state = IB_QPS_RESET;
	spin_lock_init(&qp->state_lock);
	mutex_init(&qp->conn_mutex);
	INIT_WORK(&qp->end_work, srn_end_work);
	INIT_DELAYED_WORK(&qp->close_work, close_timed_out);
	srn_stream_init(&qp->stream, &stream_ops,
			qp->kernel ? NULL : get_mem_cgroup_from_mm(current->mm));
	srn_doorbell_init(qp);
}

/**
 * srn_connection_exit - undo srn_connection_init()
 * @qp: queue pair that has no connection and will get none
 *
 * Context: process, sleeps.
 */
void srn_connection_exit(struct srn_qp *qp)
{
	srn_stream_exit(&qp->stream);
	mem_cgroup_put(qp->stream.payer);
}
