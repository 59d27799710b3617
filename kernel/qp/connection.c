// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Life of a queue pair's connection: start, every kind of end.
 */
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/slab.h>

#include "../device/work.h"
#include "../stream/linger.h"
#include "../stream/service.h"
#include "../stream/tx.h"
#include "binding.h"
#include "completion.h"
#include "connection.h"
#include "delivery.h"
#include "piggyback.h"
#include "placed.h"
#include "placement.h"
#include "qp_trace.h"
#include "receive.h"
#include "recognition.h"
#include "requester.h"
#include "resume.h"
#include "rnr.h"
#include "rnr_limit.h"
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
	conn_reset(qp, params);
	srn_stream_attach(&qp->stream, sock, &stream_params);
	if (qp->rate_limit)
		srn_service_set_rate(sock, qp->rate_limit);

	spin_lock_irq(&qp->state_lock);
	ok = qp->conn == conn && qp->state != IB_QPS_RTS && srn_state_set(qp, IB_QPS_RTS);
	spin_unlock_irq(&qp->state_lock);
	if (!ok) {
		srn_stream_detach(&qp->stream);
		mutex_unlock(&qp->conn_mutex);
		return -ECONNABORTED;
	}
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

static enum ib_event_type violation_event(struct srn_term_code term)
{
	if (term.layer == SRN_LAYER_RDMAP && term.etype == SRN_RDMAP_CATASTROPHIC)
		return IB_EVENT_QP_FATAL;
	if (srn_rdmap_is_access_fault(term))
		return IB_EVENT_QP_ACCESS_ERR;
	return IB_EVENT_QP_REQ_ERR;
}

/* Sends that nobody would receive wait, so that they can tell the program. Any context. */
static bool peer_gone(struct srn_qp *qp)
{
	if (!srn_binding_peer_gone(qp))
		return false;
	srn_tx_stop(&qp->stream);
	return true;
}

/* The stream reports its end. Any context. */
static void qp_ended(struct srn_stream *s, enum srn_stream_end why)
{
	struct srn_qp *qp = srn_qp_of_stream(s);

	switch (why) {
	case SRN_END_PEER_CLOSED:
		if (peer_gone(qp))
			break;
		WRITE_ONCE(qp->peer_closed, true);
		srn_state_fail(qp, 0, NULL, NULL);
		break;
	case SRN_END_BROKEN:
		if (peer_gone(qp))
			break;
		WRITE_ONCE(qp->peer_closed, true);
		if (srn_state_fail(qp, IB_EVENT_QP_FATAL, NULL, "connection lost"))
			srn_count(qp->dev->counters, SRN_COUNT_LOST);
		break;
	case SRN_END_LOCAL:
		srn_state_fail(qp, IB_EVENT_QP_FATAL, &srn_state_local_error,
			       "memory of a message in transmission became invalid");
		break;
	case SRN_END_VIOLATION:
		srn_qp_notice(qp, "ended by Terminate: layer %u, type %u, code 0x%02x\n",
			      s->term.layer, s->term.etype, s->term.ecode);
		srn_state_fail(qp, violation_event(s->term), &s->term, NULL);
		break;
	}
}

static const struct srn_stream_ops stream_ops = {
	.tx_next = srn_requester_next,
	.tx_built = srn_requester_built,
	.tx_pushed = srn_requester_pushed,
	.tx_idle = srn_requester_idle,
	.tx_deferred = srn_requester_deferred,
	.rx_begin = srn_placement_begin,
	.rx_memory = srn_placement_memory,
	.rx_continue = srn_placement_continue,
	.rx_place = srn_placement_place,
	.rx_end = srn_delivery_end,
	.rx_resume = srn_resume_messages,
	.rx_pause = srn_placement_pause,
	.rx_done = srn_delivery_done,
	.ended = qp_ended,
};

static void put_terminate(struct srn_qp *qp, struct srn_tx_last *last)
{
	bool read = qp->rx.header.opcode == SRN_OP_READ_REQUEST &&
		    qp->rx.control_len == sizeof(struct srn_wire_read_request);

	trace_srn_terminate_sent(qp, &qp->end_term);
	last->terminate_len =
		srn_rdmap_put_terminate(last->terminate, qp->end_term, qp->stream.term_header,
					qp->stream.term_header_len,
					read ? (void *)qp->rx.control : NULL);
}

/* Return: true if there was a stream to stop. */
static bool stop_stream(struct srn_qp *qp)
{
	struct srn_tx_last last = { };
	struct socket *sock;

	if (!qp->stream.sock)
		return false;
	srn_count(qp->dev->counters, SRN_COUNT_CLOSED);
	if (READ_ONCE(qp->peer_closed)) {
		srn_stream_drain(&qp->stream);
		if (qp->stream.rx_starved || !srn_fpdu_at_boundary(&qp->stream.parser))
			srn_state_fail(qp, IB_EVENT_QP_FATAL, NULL, NULL);
	}
	srn_stream_halt(&qp->stream);
	srn_placed_final_report(qp, &last);
	if (qp->end_terminate)
		put_terminate(qp, &last);
	sock = srn_stream_stop(&qp->stream, &last);
	srn_linger(qp->dev, sock);
	kfree(qp->inbound.slots);
	qp->inbound.slots = NULL;
	srn_rnr_exit(qp);
	srn_piggyback_exit(qp);
	if (!READ_ONCE(qp->forgotten))
		srn_receive_flush_taken(qp);
	return true;
}

/**
 * srn_connection_event - tell the consumer of a queue pair about its connection
 * @qp: queue pair
 * @type: what has happened
 *
 * Context: process.
 */
void srn_connection_event(struct srn_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = qp->ibqp.device, .event = type, .element.qp = &qp->ibqp,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

static void qp_end_work(struct work_struct *work)
{
	struct srn_qp *qp = container_of(work, struct srn_qp, end_work);
	struct srn_conn *conn;
	bool connected;

	cancel_delayed_work(&qp->close_work);
	mutex_lock(&qp->conn_mutex);
	connected = stop_stream(qp);
	spin_lock_irq(&qp->state_lock);
	WRITE_ONCE(qp->ended, qp->state == IB_QPS_ERR);
	conn = qp->conn;
	qp->conn = NULL;
	spin_unlock_irq(&qp->state_lock);
	if (!READ_ONCE(qp->forgotten)) {
		srn_completion_flush(qp);
		srn_receive_flush(qp);
	}
	if (qp->end_event)
		srn_connection_event(qp, qp->end_event);
	if (qp->srq && connected)
		srn_connection_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	mutex_unlock(&qp->conn_mutex);
	if (conn) {
		conn->ops->ended(conn);
		conn->ops->put(conn);
	}
}

/**
 * srn_connection_init - prepare a new queue pair's state machine
 * @qp: queue pair; memory of its connections is charged to the process that creates it
 *
 * Context: process. srn_connection_exit() undoes it.
 */
void srn_connection_init(struct srn_qp *qp)
{
	qp->state = IB_QPS_RESET;
	spin_lock_init(&qp->state_lock);
	mutex_init(&qp->conn_mutex);
	INIT_WORK(&qp->end_work, qp_end_work);
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
