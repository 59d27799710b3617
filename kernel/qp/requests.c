// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reads and atomics that the peer has to answer, in order.
 */
#include "../stream/tx.h"
#include "requests.h"

/**
 * srn_requests_begin - the request at sq.next becomes an outstanding Read or atomic
 * @sq: send queue
 *
 * Context: the active transmitter.
 */
void srn_requests_begin(struct srn_sq *sq)
{
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	if (sq->answered == sq->requested)
		WRITE_ONCE(sq->oldest, sq->next);
	else
		srn_sq_slot(sq, sq->newest)->next_request = sq->next;
	sq->newest = sq->next;
	/* Store sq->oldest before the receiver looks for it. Pairs with srn_requests_oldest(). */
	smp_store_release(&sq->requested, sq->requested + 1);
	spin_unlock_irqrestore(&sq->lock, flags);
}

/* The Read that made the peer ready counts as well. RFC 6581 section 9.1. */
static u32 outstanding(const struct srn_qp *qp)
{
	return qp->sq.requested - READ_ONCE(qp->sq.answered) +
	       READ_ONCE(qp->rx.sequence.rtr_read);
}

/**
 * srn_requests_wait - are more than @limit Reads and atomics outstanding?
 * @qp: queue pair
 * @limit: number to compare with
 *
 * Context: the active transmitter.
 *
 * Return: true if there are more; the transmitter is then kicked when one is done.
 */
bool srn_requests_wait(struct srn_qp *qp, u32 limit)
{
	if (outstanding(qp) <= limit)
		return false;
	WRITE_ONCE(qp->tx.awaits_read, true);
	/* Pairs with the barrier in kick_if_awaited(). */
	smp_mb();
	return outstanding(qp) > limit;
}

/**
 * srn_requests_settle - is all complete that was posted before a bad work request at sq.next?
 * @qp: queue pair
 * @flushed: nothing waits in a batch
 *
 * Context: the active transmitter.
 *
 * Return: SRN_TX_NONE if all of it is complete; SRN_TX_FLUSH if it has to be sent first, or was
 * executed in this round; SRN_TX_WAIT if the peer has to answer first: the transmitter is kicked
 * when the receiver has completed more.
 */
enum srn_tx_verdict srn_requests_settle(struct srn_qp *qp, bool flushed)
{
	struct srn_sq *sq = &qp->sq;

	/* From there on only the receiver completes more. */
	if (!flushed || sq->sent != sq->next)
		return SRN_TX_FLUSH;
	if (READ_ONCE(sq->cons) == sq->next)
		return SRN_TX_NONE;
	WRITE_ONCE(qp->tx.awaits_completion, true);
	/* Pairs with the barrier in srn_delivery_done(). */
	smp_mb();
	return READ_ONCE(sq->cons) == sq->next ? SRN_TX_NONE : SRN_TX_WAIT;
}

static void kick_if_awaited(struct srn_qp *qp)
{
	/* Pairs with the barrier in srn_requests_wait(). */
	smp_mb();
	if (READ_ONCE(qp->tx.awaits_read)) {
		WRITE_ONCE(qp->tx.awaits_read, false);
		srn_tx_kick_async(&qp->stream);
	}
}

/**
 * srn_requests_rtr_done - the Read that made the peer ready has been answered
 * @qp: queue pair
 *
 * Context: the receiver.
 */
void srn_requests_rtr_done(struct srn_qp *qp)
{
	kick_if_awaited(qp);
}

/**
 * srn_requests_done - the oldest outstanding Read or atomic is finished
 * @qp: queue pair
 *
 * The caller calls srn_completion_run() in due course.
 *
 * Context: the receiver.
 */
void srn_requests_done(struct srn_qp *qp)
{
	struct srn_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	srn_sq_slot(sq, sq->oldest)->finished = true;
	/* The peer has placed what was sent before the request by the time it answers. */
	if ((s32)(sq->oldest - sq->placed) > 0)
		sq->placed = sq->oldest;
	WRITE_ONCE(sq->answered, sq->answered + 1);
	if (sq->answered != sq->requested)
		WRITE_ONCE(sq->oldest, srn_sq_slot(sq, sq->oldest)->next_request);
	spin_unlock_irqrestore(&sq->lock, flags);
	kick_if_awaited(qp);
}

/**
 * srn_requests_oldest - the Read or atomic that the next response belongs to
 * @qp: queue pair
 * @index: its index in the send queue
 *
 * Context: the receiver; the request stays outstanding until srn_requests_done().
 *
 * Return: request, or NULL if none is outstanding.
 */
struct srn_send *srn_requests_oldest(struct srn_qp *qp, u32 *index)
{
	struct srn_sq *sq = &qp->sq;

	/* The transmitter sets sq->oldest only while there is none. */
	if (sq->answered == smp_load_acquire(&sq->requested))
		return NULL;
	*index = READ_ONCE(sq->oldest);
	return srn_sq_slot(sq, *index);
}
