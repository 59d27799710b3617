// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which work requests the peer's answers are about. Those of a queue are looked at one by one only
 * at its end, by a worker: there may be many.
 */
#include "answered.h"
#include "completion.h"

/*
 * An answer has the lower 16 bits of an index in the send queue. A work request stays in the queue
 * until it is answered, so the index is behind that of the last question by no more than the depth
 * of the queue. Nor does a request's number, of 16 bits, go round within the queue: each is two
 * messages at most.
 */
static_assert(SRN_MAX_QP_WR <= 32768);

/**
 * srn_answered_up_to - the peer has placed all up to an index
 * @qp: queue pair
 * @index: its lower bits
 *
 * Context: the receiver.
 */
void srn_answered_up_to(struct srn_qp *qp, u16 index)
{
	struct srn_sq *sq = &qp->sq;
	unsigned long flags;
	u32 asked, placed;

	spin_lock_irqsave(&sq->lock, flags);
	asked = READ_ONCE(qp->tx.asked);
	placed = asked - (u16)(asked - index);
	if ((s32)(placed - sq->placed) > 0)
		sq->placed = placed;
	spin_unlock_irqrestore(&sq->lock, flags);
	qp->rx.notify_send = true;
}

/* Messages of this connection before a work request that has been handed out and not completed. */
static u32 messages_before(const struct srn_sq *sq, u32 index)
{
	u16 first = srn_sq_slot(sq, sq->cons)->number;

	return sq->messages + (u16)(srn_sq_slot(sq, index)->number - first);
}

static u32 messages_with(const struct srn_sq *sq, u32 index)
{
	return messages_before(sq, index) + srn_send_messages(srn_sq_slot(sq, index));
}

/* The first work request with which there are so many messages; @next if there is none. */
static u32 find_message(const struct srn_sq *sq, u32 next, u32 messages)
{
	u32 from = sq->cons, left = next - from, half;

	while (left) {
		half = left / 2;
		if ((s32)(messages_with(sq, from + half) - messages) >= 0) {
			left = half;
		} else {
			from += half + 1;
			left -= half + 1;
		}
	}
	return from;
}

/*
 * If the peer has placed so many messages: the index behind the last work request of which it has
 * placed all. There may be fewer messages than have completed here, as nobody waits for what is not
 * signaled. What has no message may not have come to the peer, if nothing behind it has.
 */
static u32 placed_with(const struct srn_sq *sq, u32 next, u32 messages)
{
	u32 all, index;

	lockdep_assert_held(&sq->lock);
	if (sq->cons == next)
		return next;
	/* It cannot have placed more than there are. */
	all = messages_with(sq, next - 1);
	if ((s32)(messages - all) > 0)
		messages = all;
	if ((s32)(messages - sq->messages) <= 0)
		return sq->cons;
	index = find_message(sq, next, messages);
	if (messages_with(sq, index) == messages)
		return index + 1;
	/* Of a Write with Immediate only the Write has been placed. */
	messages = messages_before(sq, index);
	return messages == sq->messages ? sq->cons : find_message(sq, next, messages) + 1;
}

/**
 * srn_answered_final_report - the peer tells at the end how many messages it has placed
 * @qp: queue pair
 * @messages: number in this connection
 *
 * Only the first report counts.
 *
 * Context: the receiver.
 */
void srn_answered_final_report(struct srn_qp *qp, u32 messages)
{
	struct srn_sq *sq = &qp->sq;
	unsigned long flags;
	u32 placed;

	if (qp->rx.final_report_came)
		return;
	qp->rx.final_report_came = true;
	qp->rx.notify_send = true;
	spin_lock_irqsave(&sq->lock, flags);
	/* Acquire: pairs with srn_scheduler_built(). */
	placed = placed_with(sq, smp_load_acquire(&sq->next), messages);
	if ((s32)(placed - sq->placed) > 0)
		sq->placed = placed;
	spin_unlock_irqrestore(&sq->lock, flags);
}

/* Could the peer mean this work request? @h: NULL if it has not told which one */
static bool is_about(const struct srn_send *send, const struct srn_rdmap_header *h)
{
	if (!h)
		return srn_send_messages(send);
	if (!h->tagged)
		return srn_wr_info(send)->kind == SRN_WR_KIND_SEND ||
		       send->wqe.opcode == SRN_WR_WRITE_WITH_IMM;
	return srn_wr_info(send)->kind == SRN_WR_KIND_WRITE && send->wqe.rkey == h->stag &&
	       h->to - send->wqe.remote_addr < send->length;
}

/* Look at the next few work requests from @index on. Return: false at the end of the search. */
static bool mark_refused(struct srn_sq *sq, u32 *index, const struct srn_rdmap_header *h,
			 bool *found)
{
	u32 most = SRN_COMPLETE_AT_ONCE, end = sq->refused_end;
	struct srn_send *send;

	lockdep_assert_held(&sq->lock);
	if ((s32)(sq->cons - *index) > 0)
		*index = sq->cons;
	/* Who still posts does so under the lock. */
	if ((s32)(end - sq->prod) > 0)
		end = sq->prod;
	for (; most && (s32)(end - *index) > 0; most--) {
		send = srn_sq_slot(sq, (*index)++);
		if (!is_about(send, h))
			continue;
		send->status = sq->refused_as;
		*found = true;
		return false;
	}
	return (s32)(end - *index) > 0;
}

/**
 * srn_answered_refused - the peer ends the stream because of a Send or Write
 * @qp: queue pair
 * @has_header: the Terminate that is in rx.control tells which one
 * @status: enum ib_wc_status that says why
 *
 * srn_answered_finish() finds out which one it is. Until then nothing completes of what may be
 * meant. If the peer has not told before what it has placed, nobody can find out.
 *
 * Context: the receiver, which receives nothing more.
 */
void srn_answered_refused(struct srn_qp *qp, bool has_header, u8 status)
{
	struct srn_sq *sq = &qp->sq;
	unsigned long flags;

	if (!qp->rx.final_report_came)
		return;
	spin_lock_irqsave(&sq->lock, flags);
	/* The search includes the request in hand. The peer cannot know of what comes behind it. */
	sq->refused_end = READ_ONCE(sq->next) + 1;
	sq->refused_as = status;
	sq->refused_by_header = has_header;
	spin_unlock_irqrestore(&sq->lock, flags);
}

/**
 * srn_answered_finish - a Send or Write that the peer has refused gets its status
 * @qp: queue pair whose stream has been halted, and whose send queue has not been flushed
 *
 * It is the first one that fits behind what the peer has placed: a Write may have overtaken Sends
 * that wait for a receive. What was not signaled may be complete. If the peer has not told which
 * one it means, and that is complete, the next one to be flushed tells.
 *
 * Context: process.
 */
void srn_answered_finish(struct srn_qp *qp)
{
	const struct srn_rdmap_header *h = NULL;
	struct srn_sq *sq = &qp->sq;
	bool more, found = false;
	u32 index = sq->placed;
	struct srn_terminate t;

	if (!sq->refused_as)
		return;
	if (sq->refused_by_header &&
	    !srn_rdmap_get_terminate(qp->rx.control, qp->rx.control_len, &t))
		h = &t.header;
	do {
		spin_lock_irq(&sq->lock);
		more = mark_refused(sq, &index, h, &found);
		spin_unlock_irq(&sq->lock);
	} while (more);
	/* That is how srn_placed_received() says that a message has found no receive. */
	if (!found && sq->refused_as == IB_WC_RNR_RETRY_EXC_ERR && !h)
		srn_completion_flush_first_as(qp, sq->refused_as);
}
