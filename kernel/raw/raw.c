// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Bring-ups by hand: references, lock, and how one is queued.
 */
#include <linux/slab.h>

#include "raw.h"

/**
 * srn_raw_alloc - new bring-up with one reference, which srn_raw_conn_end() drops
 * @qp: queue pair; the bring-up gets a reference to it
 * @ops: what the queue pair calls
 * @work: what the bring-up does when it is queued
 *
 * Context: process, sleeps.
 *
 * Return: bring-up in WAITING, without attributes and addresses; or NULL.
 */
struct srn_raw *srn_raw_alloc(struct srn_qp *qp, const struct srn_conn_ops *ops,
			      work_func_t work)
{
	struct srn_raw *raw = kzalloc(sizeof(*raw), GFP_KERNEL_ACCOUNT);

	if (!raw)
		return NULL;
	kref_init(&raw->ref);
	srn_worker_lock_init(&raw->lock);
	INIT_DELAYED_WORK(&raw->work, work);
	raw->conn.ops = ops;
	raw->dev = qp->dev;
	raw->qp = qp;
	srn_qp_get(qp);
	raw->crc = READ_ONCE(qp->dev->crc);
	raw->markers = READ_ONCE(qp->dev->markers);
	raw->answers = READ_ONCE(qp->dev->greeting);
	raw->delay = SRN_RAW_MIN_DELAY;
	return raw;
}

/**
 * srn_raw_get - take a reference
 * @raw: bring-up
 *
 * Context: any.
 *
 * Return: @raw.
 */
struct srn_raw *srn_raw_get(struct srn_raw *raw)
{
	kref_get(&raw->ref);
	return raw;
}

static void raw_free(struct kref *ref)
{
	struct srn_raw *raw = container_of(ref, struct srn_raw, ref);

	srn_handshake_exit(&raw->reply);
	kfree(raw);
}

/**
 * srn_raw_put - drop a reference
 * @raw: bring-up
 *
 * Context: any.
 */
void srn_raw_put(struct srn_raw *raw)
{
	kref_put(&raw->ref, raw_free);
}

/**
 * srn_raw_queue - let the bring-up look at its socket, and at the time
 * @raw: bring-up
 * @delay: when, in jiffies; it replaces that of an earlier call
 *
 * Context: any.
 */
void srn_raw_queue(struct srn_raw *raw, unsigned long delay)
{
	srn_raw_get(raw);
	if (mod_delayed_work(raw->dev->raw_wq, &raw->work, delay))
		srn_raw_put(raw);
}

/**
 * srn_raw_queue_unless_pending - as srn_raw_queue(), if it is not queued already
 * @raw: bring-up
 * @delay: when, in jiffies
 *
 * Context: any.
 */
void srn_raw_queue_unless_pending(struct srn_raw *raw, unsigned long delay)
{
	srn_raw_get(raw);
	if (!queue_delayed_work(raw->dev->raw_wq, &raw->work, delay))
		srn_raw_put(raw);
}

/**
 * srn_raw_unlock - give back the bring-up's lock
 * @raw: bring-up, of which the caller has a reference
 *
 * Context: process, raw->lock held.
 */
void srn_raw_unlock(struct srn_raw *raw)
{
	if (srn_worker_lock_release(&raw->lock) && READ_ONCE(raw->state) != SRN_RAW_ENDED)
		srn_raw_queue(raw, 0);
}
