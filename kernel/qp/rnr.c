// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiver not ready: segments are kept until a receive is posted.
 */
#include <linux/sizes.h>
#include <linux/slab.h>

#include "../stream/rx.h"
#include "rnr.h"

/* A queue pair keeps at most so many bytes, with what it takes to keep them. */
#define LIMIT	SZ_1M

/**
 * srn_rnr_agree - messages of the peer may wait from now on
 * @qp: queue pair of a connection on which none waits
 *
 * Context: the receiver.
 */
void srn_rnr_agree(struct srn_qp *qp)
{
	INIT_LIST_HEAD(&qp->rx.rnr.segments);
	qp->rx.rnr.agreed = true;
}

/**
 * srn_rnr_waits_behind - does a segment wait for those that are kept?
 * @h: header
 *
 * What the peer has sent behind a Send is executed behind it, if a program could tell.
 */
bool srn_rnr_waits_behind(const struct srn_rdmap_header *h)
{
	return !h->tagged && (h->qn == SRN_QN_SEND || h->qn == SRN_QN_READ_REQUEST);
}

/* The first segment is kept. Who posts a receive is to say so. */
static void begin_to_wait(struct srn_qp *qp)
{
	WRITE_ONCE(qp->rx.rnr.waiting, true);
	qp->stream.rx_held = true;
	srn_count(qp->dev->counters, SRN_COUNT_NO_RECEIVE);
	if (qp->map)
		WRITE_ONCE(qp->ctrl->rq_kick, SRN_KICK_NOW);
	/* A receive that was posted before that is seen: the worker looks after a full barrier. */
	srn_rx_again(&qp->stream, 0);
}

static void stop_to_wait(struct srn_qp *qp)
{
	unsigned long flags;

	qp->stream.rx_held = false;
	kfree(qp->rx.rnr.spare);
	qp->rx.rnr.spare = NULL;
	spin_lock_irqsave(&qp->state_lock, flags);
	WRITE_ONCE(qp->rx.rnr.waiting, false);
	if (qp->map && qp->state != IB_QPS_ERR)
		WRITE_ONCE(qp->ctrl->rq_kick, SRN_KICK_NOT);
	spin_unlock_irqrestore(&qp->state_lock, flags);
}

/**
 * srn_rnr_begin - keep the segment in hand
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
	const struct srn_fpdu_parser *p = &qp->stream.parser;
	struct srn_rnr *rnr = &qp->rx.rnr;
	struct srn_rnr_segment *segment = rnr->spare;

	if (!segment || segment->size < struct_size(segment, data, payload)) {
		rnr->wanted = payload;
		return -ENOMEM;
	}
	rnr->spare = NULL;
	segment->header = *h;
	segment->header_len = p->header_len;
	memcpy(segment->header_bytes, p->header, p->header_len);
	segment->payload = payload;
	segment->done = 0;
	segment->write_len = 0;
	if (h->opcode == SRN_OP_IMM || h->opcode == SRN_OP_IMM_SE) {
		segment->write_len = qp->rx.write_len;
		qp->rx.write_len = 0;
	}
	list_add_tail(&segment->list, &rnr->segments);
	rnr->bytes += segment->size;
	rnr->open = segment;
	/* Another segment of the same message does not continue what is being placed. */
	qp->rx.target = NULL;
	if (!rnr->waiting)
		begin_to_wait(qp);
	return 0;
}

/**
 * srn_rnr_memory - get memory for the next segment
 * @qp: queue pair for which srn_rnr_begin() has failed
 * @gfp: allocation flags
 *
 * Context: the receiver; sleeps if @gfp allows it.
 *
 * Return: 0, or -ENOMEM, also if the queue pair keeps as much as it may.
 */
int srn_rnr_memory(struct srn_qp *qp, gfp_t gfp)
{
	struct srn_rnr *rnr = &qp->rx.rnr;
	u32 size = struct_size(rnr->spare, data, rnr->wanted);

	kfree(rnr->spare);
	rnr->spare = NULL;
	if (rnr->bytes + size > LIMIT)
		return -ENOMEM;
	rnr->spare = kmalloc(size, gfp);
	if (!rnr->spare)
		return -ENOMEM;
	rnr->spare->size = size;
	return 0;
}

/**
 * srn_rnr_place - keep payload
 * @qp: queue pair for which srn_rnr_open() is true
 * @data: bytes
 * @len: how many
 *
 * Context: the receiver.
 */
void srn_rnr_place(struct srn_qp *qp, const u8 *data, u32 len)
{
	struct srn_rnr_segment *segment = qp->rx.rnr.open;

	memcpy(segment->data + segment->done, data, len);
	segment->done += len;
}

/**
 * srn_rnr_end - the segment in hand is complete, and its CRC is good
 * @qp: queue pair for which srn_rnr_open() is true
 *
 * Context: the receiver.
 */
void srn_rnr_end(struct srn_qp *qp)
{
	qp->rx.rnr.open = NULL;
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
	struct srn_rnr *rnr = &qp->rx.rnr;

	if (!rnr->waiting)
		return NULL;
	return list_first_entry_or_null(&rnr->segments, struct srn_rnr_segment, list);
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
	struct srn_rnr *rnr = &qp->rx.rnr;

	list_del(&segment->list);
	rnr->bytes -= segment->size;
	kfree(segment);
	if (list_empty(&rnr->segments))
		stop_to_wait(qp);
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

	if (likely(!READ_ONCE(qp->rx.rnr.waiting)))
		return;
	spin_lock_irqsave(&qp->state_lock, flags);
	/* In another state the stream may have been stopped. */
	if (qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD)
		srn_rx_again(&qp->stream, 0);
	spin_unlock_irqrestore(&qp->state_lock, flags);
}

/**
 * srn_rnr_exit - free what is kept
 * @qp: queue pair whose stream has been stopped
 *
 * Context: process.
 */
void srn_rnr_exit(struct srn_qp *qp)
{
	struct srn_rnr *rnr = &qp->rx.rnr;
	struct srn_rnr_segment *segment;

	if (rnr->waiting)
		srn_qp_notice(qp, "messages have waited for a receive until the end\n");
	rnr->open = NULL;
	while ((segment = srn_rnr_oldest(qp)))
		srn_rnr_done(qp, segment);
	kfree(rnr->spare);
	rnr->spare = NULL;
}
