// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The end of a queue pair's connection, by whatever it comes.
 */
#include <linux/slab.h>

#include "../stream/linger.h"
#include "../stream/tx.h"
#include "answered.h"
#include "binding.h"
#include "completion.h"
#include "doorbell.h"
#include "end.h"
#include "piggyback.h"
#include "placed.h"
#include "qp_trace.h"
#include "receive.h"
#include "rnr.h"
#include "state.h"

static enum ib_event_type violation_event(struct srn_term_code term)
{
	if (term.layer == SRN_LAYER_RDMAP && term.etype == SRN_RDMAP_CATASTROPHIC)
		return IB_EVENT_QP_FATAL;
	if (srn_rdmap_is_access_fault(term))
		return IB_EVENT_QP_ACCESS_ERR;
	return IB_EVENT_QP_REQ_ERR;
}

/*
 * A queue pair that was brought up by hand survives the loss of its peer: it transmits no more, and
 * raw/send_timeout.c decides how long its sends wait. Context: any. Return: false if it has to end.
 */
static bool peer_gone(struct srn_qp *qp)
{
	if (!srn_binding_peer_gone(qp))
		return false;
	srn_tx_stop(&qp->stream);
	return true;
}

/**
 * srn_end_of_stream - the stream reports that it cannot go on
 * @s: stream of the queue pair
 * @why: the reason
 *
 * The queue pair changes its state, and srn_end_work() does the rest.
 *
 * Context: any.
 */
void srn_end_of_stream(struct srn_stream *s, enum srn_stream_end why)
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

/*
 * It is certain only now: a peer that has not answered a greeting may still do so as long as the
 * connection lasts.
 */
static void tell_of_completions(struct srn_qp *qp)
{
	if (READ_ONCE(qp->dev->placed_completions) && !qp->kernel && qp->sq.messages &&
	    !READ_ONCE(qp->sq.await_placement))
		srn_qp_notice(qp, "completions have not waited until data was placed: the peer does not answer questions about that\n");
}

static void stop_stream(struct srn_qp *qp)
{
	struct srn_tx_last last = { };
	struct socket *sock;

	if (!qp->stream.sock)
		return;
	srn_count(qp->dev->counters, SRN_COUNT_CLOSED);
	if (READ_ONCE(qp->peer_closed)) {
		srn_stream_drain(&qp->stream);
		if (qp->stream.rx_starved || !srn_fpdu_at_boundary(&qp->stream.parser))
			srn_state_fail(qp, IB_EVENT_QP_FATAL, NULL,
				       "connection closed by the peer in the middle of a message");
	}
	srn_stream_halt(&qp->stream);
	srn_answered_finish(qp);
	srn_doorbell_end(qp);
	tell_of_completions(qp);
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
}

/**
 * srn_end_work - stop the stream of a queue pair that has left RTS, and flush its queues
 * @work: work of the queue pair; srn_state_fail() has queued it
 *
 * Context: a worker; sleeps.
 */
void srn_end_work(struct work_struct *work)
{
	struct srn_qp *qp = container_of(work, struct srn_qp, end_work);
	struct srn_conn *conn;

	/* It may run out just now, and must not end the next connection. */
	cancel_delayed_work_sync(&qp->close_work);
	mutex_lock(&qp->conn_mutex);
	stop_stream(qp);
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
		srn_state_event(qp, qp->end_event);
	/* Also if there never was a connection: whoever drains an SRQ waits for this. */
	if (qp->srq)
		srn_state_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	mutex_unlock(&qp->conn_mutex);
	if (conn) {
		conn->ops->ended(conn);
		conn->ops->put(conn);
	}
}
