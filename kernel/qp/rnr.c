// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiver not ready: segments are kept until a receive is posted.
 */
#include <linux/sizes.h>
#include <linux/slab.h>

#include "../stream/rx.h"
#include "../stream/tx.h"
#include "../stream/worker.h"
#include "rnr.h"
#include "rnr_limit.h"

/* A queue pair keeps at most so many bytes, with what it takes to keep them. */
#define LIMIT		SZ_1M

/* A kept segment takes no more than that: memory of a higher order may be hard to get. */
#define SEGMENT_MAX	SZ_4K
#define PAYLOAD_MAX	(SEGMENT_MAX - sizeof(struct srn_rnr_segment))

/*
 * A process whose provider is older does not ring for a shared receive queue. So the queue is
 * looked at, first at the next tick, then ever more seldom.
 */
#define LOOK_DELAY_MAX	(HZ / 4)

/* So many queue pairs are told at once of a receive in a shared queue. */
#define MAX_TOLD	64

/**
 * srn_rnr_agree - messages of the peer may wait from now on
 * @qp: queue pair of a connection on which none waits
 *
 * Context: the receiver.
 */
void srn_rnr_agree(struct srn_qp *qp)
{
	qp->rx.may_wait = true;
}

/**
 * srn_rnr_waits_behind - does a segment wait for those that are kept?
 * @h: header
 *
 * What the peer has sent behind a Send is executed behind it, if a program could tell.
 *
 * Context: any.
 *
 * Return: true if it does.
 */
bool srn_rnr_waits_behind(const struct srn_rdmap_header *h)
{
	return !h->tagged && (h->qn == SRN_QN_SEND || h->qn == SRN_QN_READ_REQUEST);
}

/* Have whoever posts a receive say so, or not any more. */
static void ask_for_doorbell(struct srn_qp *qp, bool ask)
{
	struct srn_srq *srq = qp->srq;
	unsigned long flags;

	spin_lock_irqsave(&qp->state_lock, flags);
	qp->rx.waits = ask || qp->rx.rnr->refused;
	if (qp->map && qp->state != IB_QPS_ERR)
		WRITE_ONCE(qp->ctrl->rq_kick, ask ? SRN_KICK_NOW : SRN_KICK_NOT);
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (!srq)
		return;
	spin_lock_irqsave(&srq->waiters_lock, flags);
	if (ask)
		list_add_tail(&qp->rx.rnr->waiter, &srq->waiters);
	else
		list_del(&qp->rx.rnr->waiter);
	WRITE_ONCE(srq->num_waiters, srq->num_waiters + (ask ? 1 : -1));
	if (srq->map)
		WRITE_ONCE(srq->ctrl->kick,
			   list_empty(&srq->waiters) ? SRN_KICK_NOT : SRN_KICK_NOW);
	spin_unlock_irqrestore(&srq->waiters_lock, flags);
}

/* The first segment is kept. */
static void begin_to_wait(struct srn_qp *qp)
{
	qp->stream.rx_held = true;
	qp->rx.rnr->look_delay = 1;
	qp->rx.rnr->since = jiffies;
	srn_count(qp->dev->counters, SRN_COUNT_NO_RECEIVE);
	ask_for_doorbell(qp, true);
	/* A receive that was posted before that is seen: the worker looks after a full barrier. */
	srn_worker_receive(&qp->stream, 0);
}

static void free_segments(struct list_head *segments)
{
	struct srn_rnr_segment *segment, *next;

	list_for_each_entry_safe(segment, next, segments, list)
		kfree(segment);
	INIT_LIST_HEAD(segments);
}

static void stop_waiting(struct srn_qp *qp)
{
	free_segments(&qp->rx.rnr->spare);
	ask_for_doorbell(qp, false);
}

/*
 * The oldest message has waited for as long as its sender allows, which is told so. This message is
 * dropped, and so is whatever waits, or would have to wait, behind it. What is kept may be much, so
 * it is freed by passes that follow.
 */
static void refuse(struct srn_qp *qp)
{
	struct srn_rnr *rnr = qp->rx.rnr;

	srn_qp_notice(qp, "a message has waited for a receive for as long as its sender allows\n");
	/* From here on rx.placed stays as it is. */
	rnr->refused = true;
	stop_waiting(qp);
	WRITE_ONCE(qp->tx.refuse_due, true);
	srn_tx_kick_async(&qp->stream);
	srn_worker_receive(&qp->stream, 0);
}

/*
 * Fill in what is known of a part that is kept of the segment in hand: its payload from @done on,
 * to the end if @last.
 */
static void fill(struct srn_qp *qp, struct srn_rnr_segment *segment,
		 const struct srn_rdmap_header *h, u32 done, bool last)
{
	const struct srn_fpdu_parser *p = &qp->stream.parser;

	segment->header = *h;
	segment->header.mo += done;
	segment->header.last = h->last && last;
	segment->header_len = p->header_len;
	memcpy(segment->header_bytes, p->header, p->header_len);
	segment->done = 0;
	segment->write_len = 0;
	segment->asked = false;
	segment->writes = 0;
}

/**
 * srn_rnr_begin - keep the segment in hand, or drop it
 * @qp: queue pair
 * @h: its header
 * @payload: bytes that follow
 *
 * Context: the receiver.
 *
 * Return: 0, or -ENOMEM: call srn_rnr_memory(), and then this again.
 */
int srn_rnr_begin(struct srn_qp *qp, const struct srn_rdmap_header *h, u32 payload)
{
	struct srn_rnr *rnr = qp->rx.rnr;
	struct srn_rnr_segment *segment;
	u32 done = 0;

	if (rnr && rnr->refused) {
		rnr->drops = true;
		qp->rx.target = NULL;
		return 0;
	}
	if (!rnr || list_empty(&rnr->spare) || rnr->spare_payload != payload)
		return -ENOMEM;
	rnr->open = list_first_entry(&rnr->spare, struct srn_rnr_segment, list);
	list_for_each_entry(segment, &rnr->spare, list) {
		fill(qp, segment, h, done, done + segment->payload == payload);
		done += segment->payload;
		rnr->bytes += segment->size;
	}
	list_splice_tail_init(&rnr->spare, &rnr->segments);
	if (h->opcode == SRN_OP_IMM || h->opcode == SRN_OP_IMM_SE) {
		rnr->open->write_len = qp->rx.write_len;
		qp->rx.write_len = 0;
	}
	/* Another segment of the same message does not continue what is being placed. */
	qp->rx.target = NULL;
	if (!qp->rx.waits)
		begin_to_wait(qp);
	return 0;
}

static struct srn_rnr *create(struct srn_qp *qp, gfp_t gfp)
{
	struct srn_rnr *rnr = kzalloc(sizeof(*rnr), gfp);

	if (!rnr)
		return NULL;
	rnr->qp = qp;
	INIT_LIST_HEAD(&rnr->segments);
	INIT_LIST_HEAD(&rnr->spare);
	return rnr;
}

/* Add memory for payload to the spare. Return: 0 or -ENOMEM. */
static int add_spare(struct srn_rnr *rnr, u32 payload, u32 *bytes, gfp_t gfp)
{
	struct srn_rnr_segment *segment;
	u32 size = kmalloc_size_roundup(struct_size(segment, data, payload));

	if (rnr->bytes + *bytes + size > LIMIT)
		return -ENOMEM;
	segment = kmalloc(size, gfp);
	if (!segment)
		return -ENOMEM;
	segment->payload = payload;
	segment->size = size;
	*bytes += size;
	list_add_tail(&segment->list, &rnr->spare);
	return 0;
}

/**
 * srn_rnr_memory - get memory for the next segment
 * @qp: queue pair for which srn_rnr_begin() has failed
 * @gfp: allocation flags
 *
 * Context: the receiver; sleeps if @gfp allows it.
 *
 * Return: 0, also if none is needed any more; or -ENOMEM, also if the queue pair keeps as much as
 * it may.
 */
int srn_rnr_memory(struct srn_qp *qp, gfp_t gfp)
{
	u32 left = qp->stream.parser.payload_len, bytes = 0, n;
	struct srn_rnr *rnr;
	int ret;

	/* It need not be kept any more. */
	if (qp->rx.rnr && qp->rx.rnr->refused)
		return 0;
	if (!qp->rx.rnr)
		qp->rx.rnr = create(qp, gfp);
	rnr = qp->rx.rnr;
	if (!rnr)
		return -ENOMEM;
	free_segments(&rnr->spare);
	rnr->spare_payload = left;
	do {
		n = min_t(u32, left, PAYLOAD_MAX);
		left -= n;
		ret = add_spare(rnr, n, &bytes, gfp);
	} while (!ret && left);
	if (ret)
		free_segments(&rnr->spare);
	return ret;
}

/**
 * srn_rnr_place - keep payload, or drop it
 * @qp: queue pair for which srn_rnr_open() is true
 * @data: bytes
 * @len: how many
 *
 * Context: the receiver.
 */
void srn_rnr_place(struct srn_qp *qp, const u8 *data, u32 len)
{
	struct srn_rnr *rnr = qp->rx.rnr;
	struct srn_rnr_segment *segment = rnr->open;
	u32 n;

	if (rnr->drops)
		return;
	for (; len; len -= n) {
		if (segment->done == segment->payload)
			segment = list_next_entry(segment, list);
		n = min(len, segment->payload - segment->done);
		memcpy(segment->data + segment->done, data, n);
		segment->done += n;
		data += n;
	}
	rnr->open = segment;
}

/**
 * srn_rnr_end - the segment in hand is complete, and its CRC is good
 * @qp: queue pair for which srn_rnr_open() is true
 *
 * Context: the receiver.
 */
void srn_rnr_end(struct srn_qp *qp)
{
	qp->rx.rnr->open = NULL;
	qp->rx.rnr->drops = false;
}

/**
 * srn_rnr_oldest - what is to go on first
 * @qp: queue pair whose receiver is between two segments
 *
 * Context: the receiver.
 *
 * Return: segment, or NULL if nothing waits.
 */
struct srn_rnr_segment *srn_rnr_oldest(struct srn_qp *qp)
{
	if (!qp->rx.waits || qp->rx.rnr->refused)
		return NULL;
	return list_first_entry_or_null(&qp->rx.rnr->segments, struct srn_rnr_segment, list);
}

static void free_segment(struct srn_rnr *rnr, struct srn_rnr_segment *segment)
{
	list_del(&segment->list);
	rnr->bytes -= segment->size;
	kfree(segment);
}

/**
 * srn_rnr_drop - free some of what is kept, if a message has been refused
 * @qp: queue pair that keeps something
 *
 * Context: the receiver.
 *
 * Return: true if there is more to free in another turn.
 */
bool srn_rnr_drop(struct srn_qp *qp)
{
	struct srn_rnr *rnr = qp->rx.rnr;

	if (!rnr->refused)
		return false;
	while (!list_empty(&rnr->segments)) {
		if (!srn_rx_step(&qp->stream, 0))
			return true;
		free_segment(rnr, list_first_entry(&rnr->segments, struct srn_rnr_segment, list));
	}
	qp->stream.rx_held = false;
	return false;
}

/**
 * srn_rnr_done - a segment does not wait any more
 * @qp: queue pair
 * @segment: the oldest one; it is freed
 *
 * Context: the receiver.
 */
void srn_rnr_done(struct srn_qp *qp, struct srn_rnr_segment *segment)
{
	struct srn_rnr *rnr = qp->rx.rnr;

	rnr->look_delay = 1;
	rnr->since = jiffies;
	free_segment(rnr, segment);
	if (!list_empty(&rnr->segments))
		return;
	qp->stream.rx_held = false;
	stop_waiting(qp);
	if (qp->srq && READ_ONCE(qp->srq->num_waiters) >= MAX_TOLD)
		srn_rnr_posted_shared(qp->srq);
}

static struct srn_rnr_segment *newest(struct srn_qp *qp)
{
	return list_last_entry(&qp->rx.rnr->segments, struct srn_rnr_segment, list);
}

/**
 * srn_rnr_asked - the peer wants to know when all that is kept now has been placed
 * @qp: queue pair on which messages wait
 * @index: what the peer is to be told then
 *
 * Once one has been refused, the peer gets no answer.
 *
 * Context: the receiver.
 */
void srn_rnr_asked(struct srn_qp *qp, u16 index)
{
	struct srn_rnr_segment *last;

	if (qp->rx.rnr->refused)
		return;
	last = newest(qp);
	last->asked = true;
	last->ask_index = index;
}

/**
 * srn_rnr_passed - a Write has been placed, and messages before it have not
 * @qp: queue pair on which messages wait
 *
 * Context: the receiver.
 */
void srn_rnr_passed(struct srn_qp *qp)
{
	if (!qp->rx.rnr->refused)
		newest(qp)->writes++;
}

/**
 * srn_rnr_wait_on - there is still no receive for the oldest segment
 * @qp: queue pair with one
 *
 * Context: the receiver.
 */
void srn_rnr_wait_on(struct srn_qp *qp)
{
	unsigned long limit = srn_rnr_limit_wait(qp), now = jiffies, delay;
	struct srn_rnr *rnr = qp->rx.rnr;

	if (limit && time_after_eq(now, rnr->since + limit)) {
		refuse(qp);
		return;
	}
	if (!limit && !qp->srq)
		return;
	/* While this is queued, a retry for want of memory cannot come earlier, so it is short. */
	delay = qp->srq ? rnr->look_delay : LOOK_DELAY_MAX;
	if (limit)
		delay = min(delay, rnr->since + limit - now);
	srn_worker_receive(&qp->stream, delay);
	rnr->look_delay = min_t(u32, 2 * rnr->look_delay, LOOK_DELAY_MAX);
}

/**
 * srn_rnr_posted - a receive has been posted
 * @qp: queue pair
 *
 * Context: any.
 */
void srn_rnr_posted(struct srn_qp *qp)
{
	unsigned long flags;

	/* Nothing waits for those of a kernel consumer. */
	if (qp->kernel)
		return;
	spin_lock_irqsave(&qp->state_lock, flags);
	/* In another state the stream may have been stopped. */
	if (qp->rx.waits && (qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD))
		srn_worker_receive(&qp->stream, 0);
	spin_unlock_irqrestore(&qp->state_lock, flags);
}

/**
 * srn_rnr_posted_shared - a receive has been posted to a shared receive queue
 * @srq: the queue
 *
 * If very many wait, some are told, and the next ones when one of these waits no longer. Each one
 * also looks by itself from time to time.
 *
 * Context: any.
 */
void srn_rnr_posted_shared(struct srn_srq *srq)
{
	struct srn_rnr *rnr, *next;
	int left = MAX_TOLD;
	unsigned long flags;
	LIST_HEAD(told);

	spin_lock_irqsave(&srq->waiters_lock, flags);
	list_for_each_entry_safe(rnr, next, &srq->waiters, waiter) {
		if (!left--)
			break;
		srn_rnr_posted(rnr->qp);
		list_move_tail(&rnr->waiter, &told);
	}
	list_splice_tail(&told, &srq->waiters);
	spin_unlock_irqrestore(&srq->waiters_lock, flags);
}

/**
 * srn_rnr_exit - free what is kept
 * @qp: queue pair whose stream has been stopped
 *
 * Context: process.
 */
void srn_rnr_exit(struct srn_qp *qp)
{
	struct srn_rnr *rnr = qp->rx.rnr;
	unsigned long flags;

	if (!rnr)
		return;
	if (qp->rx.waits && !rnr->refused) {
		srn_qp_notice(qp, "messages have waited for a receive until the end\n");
		stop_waiting(qp);
	}
	spin_lock_irqsave(&qp->state_lock, flags);
	qp->rx.waits = false;
	spin_unlock_irqrestore(&qp->state_lock, flags);
	free_segments(&rnr->segments);
	free_segments(&rnr->spare);
	kfree(rnr);
	qp->rx.rnr = NULL;
}
