// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the core and a listener's consumer are told of connection requests.
 *
 * The core is told first, and makes an id for the connection. Its worker hands that over by
 * srn_conn_req_take(); the consumer is told by its reporter. From the one to the other the
 * request is in the listener's list of unreported ones. Whoever takes it from there tells of it or
 * refuses it: the reporter, or whoever destroys the listener.
 */
#include <linux/wait_bit.h>

#include "cm_trace.h"
#include "conn_req.h"
#include "event.h"
#include "reporter.h"

/**
 * srn_conn_req_report - queue a request at the core, which hands it to srn_conn_req_take()
 * @ep: endpoint; the consumer's decision names it by its number in dev->requests
 *
 * If the core has no memory when it takes the event from its queue it drops the event, and the
 * consumer never hears of the request. ep->request_taken says whether the core has taken it.
 *
 * Context: process, ep->lock and that of its listener held.
 *
 * Return: 0, or -ENOMEM if there is no room for the request now: the core queues only as many
 * requests as the consumer has asked for, and so does the consumer's reporter.
 */
int srn_conn_req_report(struct srn_ep *ep)
{
	struct iw_cm_id *cm_id = ep->listener->cm_id;
	struct iw_cm_event event;

	if (READ_ONCE(ep->listener->num_unreported) >= ep->listener->backlog)
		return -ENOMEM;
	srn_event_init(ep, cm_id, &event, IW_CM_EVENT_CONNECT_REQUEST);
	event.provider_data = (void *)(uintptr_t)ep->id;
	trace_srn_cm_event(ep, &event);
	return srn_event_send(ep, cm_id, &event);
}

/*
 * The request is queued under the lock, so that the link is still there: whoever destroys the
 * listener may refuse the request as soon as it can be found. Return: true if the listener stays
 * until listener_told(), which follows claim_request().
 */
static bool queue_for_listener(struct srn_ep *ep)
{
	struct srn_ep *listener = ep->listener;
	bool ok;

	spin_lock_bh(&listener->dev->lock);
	WRITE_ONCE(ep->request_taken, true);
	ok = READ_ONCE(listener->state) == SRN_EP_LISTENING;
	if (ok) {
		list_add_tail(&ep->unreported_node, &listener->unreported);
		listener->num_unreported++;
		srn_reporter_queue_locked(ep->reporter, &ep->report);
	}
	spin_unlock_bh(&listener->dev->lock);
	return ok;
}

/* Return: true if the caller, and nobody else, reports the request. */
static bool claim_request(struct srn_ep *ep)
{
	bool ours;

	spin_lock_bh(&ep->dev->lock);
	ours = !list_empty(&ep->unreported_node);
	list_del_init(&ep->unreported_node);
	spin_unlock_bh(&ep->dev->lock);
	return ours;
}

/* Return: an endpoint with a reference, or NULL if there is none. */
static struct srn_ep *find_unreported(struct srn_ep *listener)
{
	struct srn_ep *ep;

	spin_lock_bh(&listener->dev->lock);
	ep = list_first_entry_or_null(&listener->unreported, struct srn_ep, unreported_node);
	if (ep)
		srn_ep_get(ep);
	spin_unlock_bh(&listener->dev->lock);
	return ep;
}

static void listener_told(struct srn_ep *listener)
{
	spin_lock_bh(&listener->dev->lock);
	/* Release: the consumer's handler has returned. Pairs with srn_conn_req_listener_gone(). */
	smp_store_release(&listener->num_unreported, listener->num_unreported - 1);
	spin_unlock_bh(&listener->dev->lock);
	/* A waiter that wake_up_var() does not see yet will see the new num_unreported. */
	smp_mb();
	wake_up_var(&listener->num_unreported);
}

/**
 * srn_conn_req_take - take a request from the core
 * @cm_id: id that the core has made for it; it is ours until the consumer is told
 *
 * Context: the core's worker.
 *
 * Return: 0 if the listener's consumer will be told. Otherwise the core destroys the id.
 */
int srn_conn_req_take(struct iw_cm_id *cm_id)
{
	struct srn_ep *ep = srn_ep_find_request(cm_id);
	int ret;

	if (!ep)
		return -ECONNRESET;
	ep->request = cm_id;
	ret = queue_for_listener(ep) ? 0 : -ECONNABORTED;
	srn_ep_put(ep);
	return ret;
}

/**
 * srn_conn_req_in_vain - can it be that no consumer will ever hear of a request?
 * @ep: endpoint of the request
 *
 * The core drops the requests of a listener that is being destroyed. One that it takes later is
 * refused by srn_conn_req_take().
 *
 * Context: any, but not hard interrupts.
 *
 * Return: true if the core has not taken it and the listener is gone.
 */
bool srn_conn_req_in_vain(struct srn_ep *ep)
{
	bool in_vain;

	spin_lock_bh(&ep->dev->lock);
	in_vain = !ep->request_taken && READ_ONCE(ep->listener->state) == SRN_EP_CLOSED;
	spin_unlock_bh(&ep->dev->lock);
	return in_vain;
}

/**
 * srn_conn_req_tell - tell the listener's consumer of a request, if nobody else does
 * @ep: endpoint, of a request or not
 *
 * The consumer gets the request with its private data, and with the addresses that the connection
 * really has: any process can make the core believe in different ones.
 *
 * Context: process, no locks; takes those of the consumer.
 */
void srn_conn_req_tell(struct srn_ep *ep)
{
	struct srn_ep *listener = ep->listener;
	struct iw_cm_event event;
	int ret = -ECONNABORTED;
	struct iw_cm_id *cm_id;

	if (!claim_request(ep))
		return;
	cm_id = ep->request;
	if (READ_ONCE(listener->state) == SRN_EP_LISTENING &&
	    READ_ONCE(ep->state) == SRN_EP_REQUESTED) {
		srn_event_init(ep, cm_id, &event, IW_CM_EVENT_CONNECT_REQUEST);
		event.provider_data = cm_id->provider_data;
		event.private_data = srn_event_private(ep, &event.private_data_len);
		ret = listener->consumer(cm_id, &event);
		srn_handshake_exit(&ep->peer);
	}
	if (ret) {
		iw_cm_reject(cm_id, NULL, 0);
		iw_destroy_cm_id(cm_id);
	}
	listener_told(listener);
}

/**
 * srn_conn_req_listener_gone - wait until nothing more is reported to a listener's consumer
 * @listener: endpoint, CLOSED
 *
 * Requests that the consumer has not been told of are refused here, not by the reporter. It may be
 * reporting another connection, for which the consumer may need a lock that our caller holds:
 * NVMe's target does so when a port is removed.
 *
 * Context: process; sleeps. The caller holds no lock that the consumer's request handler takes.
 */
void srn_conn_req_listener_gone(struct srn_ep *listener)
{
	struct srn_ep *ep;

	while ((ep = find_unreported(listener))) {
		srn_conn_req_tell(ep);
		srn_ep_put(ep);
		cond_resched();
	}
	/* Acquire: pairs with listener_told(). */
	wait_var_event(&listener->num_unreported, !smp_load_acquire(&listener->num_unreported));
}
