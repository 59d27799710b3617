// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which work requests the peer's answers are about.
 */
#include "answered.h"

/*
 * An answer has the lower 16 bits of an index in the send queue. A work request stays in the queue
 * until it is answered, so the index is behind that of the last question by no more than the depth
 * of the queue.
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

/* How far a search for the last message that has been placed is. */
struct search {
	u32 index;		/* in the send queue */
	s32 left;		/* messages that have been placed from there on */
};

/*
 * The peer has placed so many messages of this connection. There may be fewer than have completed
 * here, as nobody waits for what is not signaled. Return: false at the end of the search.
 */
static bool search_on(struct srn_sq *sq, struct search *s, u32 messages)
{
	u32 most = SRN_COMPLETE_AT_ONCE, next, n;

	lockdep_assert_held(&sq->lock);
	/* At the beginning, or if work has completed meanwhile. */
	if ((s32)(sq->cons - s->index) >= 0) {
		s->index = sq->cons;
		s->left = messages - sq->messages;
	}
	/* Acquire: pairs with srn_scheduler_built(). */
	next = smp_load_acquire(&sq->next);
	for (; most && s->left > 0 && s->index != next; most--) {
		n = srn_send_messages(srn_sq_slot(sq, s->index++));
		if (n > s->left)
			return false;
		s->left -= n;
		/* What has no message may not have come to the peer, if nothing behind it has. */
		if (n && (s32)(s->index - sq->placed) > 0)
			sq->placed = s->index;
	}
	return s->left > 0 && s->index != next;
}

/**
 * srn_answered_final_report - the peer tells at the end how many messages it has placed
 * @qp: queue pair
 * @messages: number in this connection
 *
 * Only the first report counts, since a peer could make us search the queue again and again.
 *
 * Context: the receiver.
 */
void srn_answered_final_report(struct srn_qp *qp, u32 messages)
{
	struct srn_sq *sq = &qp->sq;
	struct search s = { .index = READ_ONCE(sq->cons) };
	unsigned long flags;
	bool more;

	if (qp->rx.final_report_came)
		return;
	qp->rx.final_report_came = true;
	qp->rx.notify_send = true;
	do {
		spin_lock_irqsave(&sq->lock, flags);
		more = search_on(sq, &s, messages);
		spin_unlock_irqrestore(&sq->lock, flags);
	} while (more);
}

/* Could the peer mean this work request? */
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
static bool mark_refused(struct srn_sq *sq, u32 *index, const struct srn_rdmap_header *h, u8 status,
			 bool *found)
{
	u32 most = SRN_COMPLETE_AT_ONCE, next = READ_ONCE(sq->next), end;
	struct srn_send *send;

	lockdep_assert_held(&sq->lock);
	if ((s32)(sq->cons - *index) > 0)
		*index = sq->cons;
	/* Acquire: pairs with srn_fetch_next() and srn_fetch_post(). */
	end = smp_load_acquire(&sq->prod);
	/* The search includes the request in hand. The peer cannot know of what comes behind it. */
	if ((s32)(end - next) > 1)
		end = next + 1;
	for (; most && (s32)(end - *index) > 0; most--) {
		send = srn_sq_slot(sq, (*index)++);
		if (!is_about(send, h))
			continue;
		send->status = status;
		*found = true;
		return false;
	}
	return (s32)(end - *index) > 0;
}

/**
 * srn_answered_refused - the peer ends the stream because of a Send or Write
 * @qp: queue pair
 * @h: header of its segment, or NULL if the peer does not tell
 * @status: enum ib_wc_status that says why
 *
 * If the peer has told what it has placed, it is the next one that fits: a Write may have overtaken
 * Sends that wait for a receive. What was not signaled may be complete.
 *
 * Context: the receiver.
 *
 * Return: true if there is one.
 */
bool srn_answered_refused(struct srn_qp *qp, const struct srn_rdmap_header *h, u8 status)
{
	struct srn_sq *sq = &qp->sq;
	u32 index = READ_ONCE(sq->placed);
	bool more, found = false;
	unsigned long flags;

	if (!qp->rx.final_report_came)
		return false;
	do {
		spin_lock_irqsave(&sq->lock, flags);
		more = mark_refused(sq, &index, h, status, &found);
		spin_unlock_irqrestore(&sq->lock, flags);
	} while (more);
	return found;
}
