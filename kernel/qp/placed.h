/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Placed completions: a signaled Send or Write completes when the peer has placed it.
 *
 * That TCP has taken the data, or that the peer's TCP has acknowledged it, tells a program nothing
 * of the peer's memory. Programs for InfiniBand rely on more: they tell the peer by other means
 * that a Write is done. RDMAP has no message for that, so two softrnics have their own: a Write
 * without payload, as in wire/greeting.h. Behind signaled work, when nothing more is to be sent,
 * the requester asks, and names the index of its send queue up to which it has sent. The responder
 * repeats the index when all that came before the question is placed, and received, if it needs a
 * receive. One answer counts for all questions before it, and the response to a Read or atomic
 * counts as well.
 *
 * At the end there may be a question that has not come yet, or an answer that waits. So the last
 * thing that an end sends is how many messages of the other end it has placed, and received: Sends,
 * Immediate Data, and Writes with payload. No message is marked, both ends count. A Terminate
 * behind that is about the message that comes next.
 *
 * The same messages tell what rnr.h has to tell.
 *
 * placed.c asks and answers. answered.c finds the work requests that an answer is about, and it
 * alone writes rx.final_report_came. It advances sq->placed. So do completion.c, with what is
 * complete, and requests.c, with a response. piggyback.c lets answers wait for a message: it alone
 * writes rx.piggyback and tx.answered_alone.
 */
#ifndef SRN_PLACED_H
#define SRN_PLACED_H

#include "qp.h"

/* May the work request at sq->cons, which has been sent, complete as far as placement goes? */
static inline bool srn_placed_may_complete(const struct srn_sq *sq, const struct srn_send *send)
{
	u8 kind = srn_wr_info(send)->kind;

	lockdep_assert_held(&sq->lock);
	return likely(!sq->await_placement) || !(send->wqe.flags & SRN_WR_SIGNALED) ||
	       (kind != SRN_WR_KIND_WRITE && kind != SRN_WR_KIND_SEND) ||
	       (s32)(sq->placed - sq->cons) > 0;
}

/* Does the peer wait for an answer? Context: the active transmitter. */
static inline bool srn_placed_is_asked(const struct srn_qp *qp)
{
	return READ_ONCE(qp->tx.asks) != qp->tx.asks_answered;
}

/* May there be something to ask, to answer, or to tell? Context: the active transmitter. */
static inline bool srn_placed_concerns(const struct srn_qp *qp)
{
	return unlikely(srn_placed_is_asked(qp) || READ_ONCE(qp->sq.await_placement) ||
			READ_ONCE(qp->tx.refuse_due));
}

/* Messages of the peer are placed, and received. Context: the receiver. */
static inline void srn_placed_count(struct srn_qp *qp, u32 messages)
{
	WRITE_ONCE(qp->rx.placed, qp->rx.placed + messages);
}

void srn_placed_begin(struct srn_qp *qp, bool await);
void srn_placed_await(struct srn_qp *qp);
bool srn_placed_received(struct srn_qp *qp);
void srn_placed_asked(struct srn_qp *qp, u16 index);
bool srn_placed_next(struct srn_qp *qp, struct srn_tx_msg *msg, bool idle);
bool srn_placed_close(struct srn_qp *qp);
void srn_placed_close_next(struct srn_qp *qp, struct srn_tx_msg *msg);
void srn_placed_final_report(struct srn_qp *qp, struct srn_tx_last *last);

#endif /* SRN_PLACED_H */
