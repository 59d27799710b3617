// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * States of a queue pair: which may follow which, and the way to ERR.
 */
#include "../device/workqueues.h"
#include "qp_trace.h"
#include "state.h"

/* Something went wrong on this side; the peer has no part in it. RFC 5040 section 7.1. */
const struct srn_term_code srn_state_local_error = {
	SRN_LAYER_RDMAP, SRN_RDMAP_CATASTROPHIC, 0,
};

#define S(state) BIT(IB_QPS_##state)

/*
 * States that may follow each state. RTR means no more than INIT in iWARP, but rdma_cm
 * passes through it on its way.
 */
static const u8 followers[] = {
	[IB_QPS_RESET] = S(RESET) | S(INIT) | S(ERR),
	[IB_QPS_INIT] = S(RESET) | S(INIT) | S(RTR) | S(RTS) | S(ERR),
	[IB_QPS_RTR] = S(RESET) | S(RTR) | S(RTS) | S(ERR),
	[IB_QPS_RTS] = S(RTS) | S(SQD) | S(ERR),
	[IB_QPS_SQD] = S(SQD) | S(ERR),
	[IB_QPS_ERR] = S(ERR) | S(RESET),
};

static const u32 hints[] = {
	[IB_QPS_RTS] = SRN_QP_CONNECTED,
	[IB_QPS_SQD] = SRN_QP_CONNECTED,
	[IB_QPS_ERR] = SRN_QP_ERROR,
};

/**
 * srn_state_set - change the state, which happens nowhere else
 * @qp: queue pair
 * @to: new state
 *
 * Context: state_lock held.
 *
 * Return: false if @to may not follow the present state.
 */
bool srn_state_set(struct srn_qp *qp, enum ib_qp_state to)
{
	lockdep_assert_held(&qp->state_lock);
	if (!(followers[qp->state] & BIT(to)))
		return false;
	trace_srn_qp_state(qp, to);
	WRITE_ONCE(qp->state, to);
	if (!qp->map)
		return true;
	WRITE_ONCE(qp->ctrl->state, hints[to]);
	if (to == IB_QPS_ERR)
		WRITE_ONCE(qp->ctrl->sq_kick, SRN_KICK_NOW);
	/* A process rings for receives to have them flushed, and while messages wait (rnr.c). */
	WRITE_ONCE(qp->ctrl->rq_kick, to == IB_QPS_ERR || qp->rx.waits);
	return true;
}

/**
 * srn_state_open_sends - let a program post sends before there is a connection
 * @qp: queue pair
 *
 * They are executed when there is one.
 *
 * Context: process.
 */
void srn_state_open_sends(struct srn_qp *qp)
{
	spin_lock_irq(&qp->state_lock);
	if (qp->map && qp->state == IB_QPS_RTR)
		WRITE_ONCE(qp->ctrl->state, SRN_QP_CONNECTED);
	spin_unlock_irq(&qp->state_lock);
}

/**
 * srn_state_fail - end the connection of a queue pair, or keep it from getting one
 * @qp: queue pair
 * @event: asynchronous event to raise, or 0
 * @term: tell the peer why with a Terminate, or NULL
 * @reason: for the log, or NULL
 *
 * Only the first call counts, and end_work does the rest. But if that call was for the peer's FIN,
 * the next one says more, and its event counts.
 *
 * Context: any.
 *
 * Return: true if this was the first call.
 */
bool srn_state_fail(struct srn_qp *qp, enum ib_event_type event, const struct srn_term_code *term,
		    const char *reason)
{
	bool first, better;
	unsigned long flags;

	spin_lock_irqsave(&qp->state_lock, flags);
	first = qp->state != IB_QPS_ERR && srn_state_set(qp, IB_QPS_ERR);
	if (first) {
		qp->end_event = event;
		qp->end_terminate = term;
		if (term)
			qp->end_term = *term;
		queue_work(srn_wq, &qp->end_work);
	}
	/* What the peer sent before its FIN says more than the FIN. */
	better = !first && event && READ_ONCE(qp->peer_closed) && !qp->ended && !qp->end_event;
	if (better)
		qp->end_event = event;
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if ((first || better) && reason)
		srn_qp_notice(qp, "%s\n", reason);
	return first;
}

/**
 * srn_state_has_ended - has the stream stopped, so that posted work has to be flushed?
 * @qp: queue pair
 *
 * Context: any.
 *
 * Return: true if so.
 */
bool srn_state_has_ended(struct srn_qp *qp)
{
	unsigned long flags;
	bool ended;

	spin_lock_irqsave(&qp->state_lock, flags);
	ended = qp->ended;
	spin_unlock_irqrestore(&qp->state_lock, flags);
	return ended;
}

/**
 * srn_state_event - tell the consumer of a queue pair what has happened to its connection
 * @qp: queue pair
 * @type: what has happened
 *
 * Context: process.
 */
void srn_state_event(struct srn_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = qp->ibqp.device, .event = type, .element.qp = &qp->ibqp,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}
