// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What is transmitted next: operations of the stream.
 */
#include "completion.h"
#include "doorbell.h"
#include "placed.h"
#include "recognition.h"
#include "requester.h"
#include "responder.h"
#include "scheduler.h"
#include "watch.h"

/* May the ring of a process be read? Only once srn_fetch_prepare() has made room. */
static bool ring_is_open(const struct srn_qp *qp)
{
	return qp->map && READ_ONCE(qp->sq.sends);
}

/*
 * Is everything that was posted complete? If a process has never rung, its ring is not open: what
 * it has posted does not count, and is flushed later.
 */
static bool drained(struct srn_qp *qp)
{
	/* Acquire: pairs with srn_fetch_post(). */
	return READ_ONCE(qp->sq.cons) == smp_load_acquire(&qp->sq.prod) &&
	       qp->inbound.cons == READ_ONCE(qp->inbound.prod) && !srn_placed_is_asked(qp) &&
	       (!ring_is_open(qp) || READ_ONCE(qp->ctrl->sq_prod) == qp->sq.prod);
}

/**
 * srn_scheduler_built - the message in hand is completely in FPDUs
 * @s: stream of the queue pair
 *
 * Context: the active transmitter, bottom halves disabled.
 */
void srn_scheduler_built(struct srn_stream *s)
{
	struct srn_qp *qp = srn_qp_of_stream(s);

	if (qp->tx.sq_open)
		/* Release: the receiver may look at what is before that. */
		smp_store_release(&qp->sq.next, qp->sq.next + 1);
	qp->tx.sq_open = false;
	if (qp->tx.response_open)
		srn_responder_sent(qp);
}

/**
 * srn_scheduler_next - what to transmit next
 * @s: stream of the queue pair
 * @msg: the message
 * @flushed: nothing waits in a batch
 *
 * Responses to the peer's Reads and atomics take turns with the send queue, so that neither starves
 * the other. Answers to the peer's questions take turns with both.
 *
 * Context: the active transmitter, bottom halves disabled.
 *
 * Return: as tx_next of struct srn_stream_ops.
 */
enum srn_tx_verdict srn_scheduler_next(struct srn_stream *s, struct srn_tx_msg *msg, bool flushed)
{
	struct srn_qp *qp = srn_qp_of_stream(s);
	enum srn_tx_verdict verdict;
	bool response;

	if (unlikely(qp->tx.rtr))
		return srn_requester_rtr(qp, msg);
	/* Not between a Write and its Immediate Data, which belong together. */
	if (unlikely(READ_ONCE(qp->tx.greeting)) && !qp->tx.write_sent)
		return srn_recognition_next(qp, msg);
	if (srn_placed_concerns(qp) && !qp->tx.write_sent && srn_placed_next(qp, msg, false))
		return SRN_TX_MESSAGE;
	response = srn_responder_waits(qp);
	qp->tx.responses_turn = !qp->tx.responses_turn;
	if (response && qp->tx.responses_turn)
		return srn_responder_next(qp, msg);
	verdict = srn_requester_next(qp, msg, flushed);
	/* The send queue keeps its turn for after the flush, however many responses wait. */
	if (verdict == SRN_TX_FLUSH)
		qp->tx.responses_turn = !qp->tx.responses_turn;
	if (verdict != SRN_TX_NONE && verdict != SRN_TX_WAIT)
		return verdict;
	if (response)
		return srn_responder_next(qp, msg);
	if (unlikely(qp->tx.final_report_due)) {
		srn_placed_close_next(qp, msg);
		return SRN_TX_MESSAGE;
	}
	return srn_placed_concerns(qp) && srn_placed_next(qp, msg, true) ? SRN_TX_MESSAGE : verdict;
}

/**
 * srn_scheduler_pushed - everything handed out so far is in the socket
 * @s: stream of the queue pair
 *
 * Context: the active transmitter.
 */
void srn_scheduler_pushed(struct srn_stream *s)
{
	struct srn_qp *qp = srn_qp_of_stream(s);
	struct srn_sq *sq = &qp->sq;
	unsigned long flags;
	u32 pushed;

	pushed = sq->next - sq->sent;
	if (!pushed)
		return;
	spin_lock_irqsave(&sq->lock, flags);
	sq->sent = sq->next;
	spin_unlock_irqrestore(&sq->lock, flags);
	/* What the receiver has finished beyond that it completes itself. */
	srn_completion_run(qp, pushed);
}

/**
 * srn_scheduler_idle - the transmitter is about to stop
 * @s: stream of the queue pair
 * @may_sleep: the caller may sleep
 *
 * Context: the active transmitter.
 *
 * Return: SRN_TX_AGAIN if there is more to transmit, SRN_TX_SLEEP if only the
 * socket is left to be shut down but the caller may not sleep, else SRN_TX_NONE.
 */
enum srn_tx_verdict srn_scheduler_idle(struct srn_stream *s, bool may_sleep)
{
	struct srn_qp *qp = srn_qp_of_stream(s);

	if (READ_ONCE(qp->state) == IB_QPS_SQD && drained(qp)) {
		if (srn_placed_close(qp))
			return SRN_TX_AGAIN;
		if (!may_sleep)
			return SRN_TX_SLEEP;
		srn_stream_shutdown(s);
		/* What is posted from here on is too late. */
		return SRN_TX_NONE;
	}
	/* A process that has never rung has not been told that it need not: it will ring. */
	return ring_is_open(qp) && srn_doorbell_idle(qp) ? SRN_TX_AGAIN : SRN_TX_NONE;
}

/**
 * srn_scheduler_deferred - a worker is about to be asked to continue the transmission
 * @s: stream of the queue pair
 *
 * Context: the active transmitter.
 */
void srn_scheduler_deferred(struct srn_stream *s)
{
	struct srn_qp *qp = srn_qp_of_stream(s);

	if (!qp->kernel)
		srn_watch_defer(qp);
}
