// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The core's reference to a queue pair, and who may have one.
 */
#include <linux/wait_bit.h>

#include "../qp/binding.h"
#include "../qp/owner.h"
#include "claim.h"
#include "rdma_id.h"

/* Return: false while a report is under way: whoever gives the claim back has to wait for it. */
static bool try_give_back(struct srn_qp *qp)
{
	struct srn_claim *c = &qp->claim;
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&qp->state_lock, flags);
	if (c->next == current) {
		/* The new connection has failed. The previous one still has its own reference. */
		c->next = NULL;
		ok = true;
	} else {
		ok = !c->busy;
		if (ok)
			*c = (struct srn_claim){ .held = c->next };
	}
	spin_unlock_irqrestore(&qp->state_lock, flags);
	return ok;
}

static bool try_claim(struct srn_qp *qp, const struct srn_ep *ep)
{
	struct srn_claim *c = &qp->claim;
	unsigned long flags;
	bool ours;

	spin_lock_irqsave(&qp->state_lock, flags);
	ours = !c->ended;
	if (ours)
		c->conn = &ep->conn;
	spin_unlock_irqrestore(&qp->state_lock, flags);
	return ours;
}

/**
 * srn_claim_begin - the consumer of an endpoint is about to be told something
 * @ep: endpoint with a queue pair
 *
 * Context: process.
 *
 * Return: true if its id stays until srn_claim_end(); else the consumer must not be told.
 */
bool srn_claim_begin(struct srn_ep *ep)
{
	struct srn_claim *c = &ep->qp->claim;
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&ep->qp->state_lock, flags);
	ok = c->conn == &ep->conn;
	if (ok)
		c->busy = true;
	spin_unlock_irqrestore(&ep->qp->state_lock, flags);
	return ok;
}

/**
 * srn_claim_end - the consumer has been told
 * @ep: endpoint after srn_claim_begin()
 *
 * Context: process.
 */
void srn_claim_end(struct srn_ep *ep)
{
	struct srn_claim *c = &ep->qp->claim;
	unsigned long flags;

	spin_lock_irqsave(&ep->qp->state_lock, flags);
	c->busy = false;
	spin_unlock_irqrestore(&ep->qp->state_lock, flags);
	wake_up_var(c);
}

/**
 * srn_claim_note_end - the connection has ended: the queue pair may get another one
 * @ep: endpoint with a queue pair
 *
 * Context: process.
 */
void srn_claim_note_end(const struct srn_ep *ep)
{
	struct srn_claim *c = &ep->qp->claim;

	spin_lock_irq(&ep->qp->state_lock);
	if (c->conn == &ep->conn)
		c->ended = true;
	spin_unlock_irq(&ep->qp->state_lock);
}

/**
 * srn_claim_get_qp - find a queue pair by its number, for the core
 * @ibdev: device
 * @qpn: number
 *
 * The core takes a reference next, unless this fails, and gives it back by srn_claim_rem_ref().
 * To a process, the number of somebody else's queue pair looks like one that is not in use.
 *
 * Context: process that connects or accepts, spinlocks may be held; it takes the reference before
 * it enables interrupts.
 *
 * Return: its handle, or NULL if there is none that the caller may connect now.
 */
struct ib_qp *srn_claim_get_qp(struct ib_device *ibdev, int qpn)
{
	struct srn_qp *qp = srn_qp_find(to_srn_dev(ibdev), qpn);
	struct srn_claim *c;
	unsigned long flags;
	bool ok;

	if (!qp)
		return NULL;
	if (!srn_owner_may_be_caller(qp)) {
		srn_qp_notice(qp, "not connected: it is not the caller's\n");
		return NULL;
	}
	c = &qp->claim;
	spin_lock_irqsave(&qp->state_lock, flags);
	ok = !c->held || (c->ended && !c->next);
	if (ok && c->held)
		c->next = current;
	c->held = true;
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (!ok)
		srn_qp_notice(qp, "not connected: it has a connection\n");
	return ok ? &qp->cm_handle->ibqp : NULL;
}

/**
 * srn_claim_rem_ref - the core lets go of a queue pair
 * @ibqp: its handle
 *
 * After this the consumer of the core's id is not called any more. This waits for a report that is
 * under way. The report waits at most for the consumer's locks, and nobody who holds those waits
 * here.
 *
 * Context: process, sleeps.
 */
void srn_claim_rem_ref(struct ib_qp *ibqp)
{
	struct srn_qp *qp = to_srn_cm_handle(ibqp)->qp;

	wait_var_event(&qp->claim, try_give_back(qp));
	wake_up_var(&qp->claim);
	srn_qp_put(qp);
}

/**
 * srn_claim_take_qp - bind the queue pair of the caller to an endpoint
 * @ep: endpoint with the core's identifier of its connection
 * @qpn: number of the queue pair, on which the core has a reference
 *
 * A process cannot connect a kernel consumer's queue pair.
 *
 * Context: process that asks for the connection, ep->lock held; may sleep until the core has dealt
 * with the end of an earlier connection.
 *
 * Return: 0; -EINVAL if there is no such queue pair, or it is not in a state to be connected;
 * -EISCONN if it has a connection; -EPERM if it is somebody else's.
 */
int srn_claim_take_qp(struct srn_ep *ep, u32 qpn)
{
	struct srn_qp *qp = srn_qp_find(ep->dev, qpn);
	int ret;

	if (!qp)
		return -EINVAL;
	if (!srn_owner_is_caller(qp, srn_rdma_id(ep->cm_id))) {
		srn_qp_notice(qp, "not connected: it is not the caller's\n");
		return -EPERM;
	}
	/* An earlier connection has ended, but perhaps nobody has been told of that yet. */
	wait_var_event(&qp->claim, try_claim(qp, ep));
	ret = srn_binding_make(qp, &ep->conn);
	if (ret) {
		srn_qp_notice(qp, "not connected: %s\n", ret == -EISCONN ?
			      "it has a connection" : "it is not in a state for that");
		return ret;
	}
	srn_qp_get(qp);
	ep->qp = qp;
	return 0;
}
