// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the core and its consumer are told of a connection.
 *
 * The core keeps a state for each connection and crashes the machine (BUG) if an event does not
 * fit that state. It queues events, and while one is queued the consumer may change the state: a
 * process that accepts a request twice, or accepts and rejects it, or accepts on an id that is
 * connecting and then disconnects it, would crash the machine. So an event is never left in the
 * queue while a process can act:
 *
 * - Accepting. ESTABLISHED is queued, and srn_report_settle() waits until the core has taken it.
 *   Meanwhile rdma_ucm lets nobody else act on the id.
 * - Connecting. The core is told at once that the connection is established, and
 *   srn_report_settle() waits for that event as well. This puts the core in the one state in which
 *   whatever a process does is harmless and reaches the queue pair without delay. The consumer is
 *   not told of this event.
 *
 * The core takes events in one worker for all iWARP devices, and calls the consumer from there. The
 * consumer may need a lock that a process can hold for as long as it likes: rdma_ucm writes to the
 * memory of the process under one. So forward() takes the place of the consumer's handler, and a
 * process is told by its reporter (reporter.c). This is also why srn_report_settle() is allowed to
 * wait: the core's worker never waits for a process.
 *
 * While a consumer is being told something, nobody may destroy its id; claim.h says how that is
 * prevented.
 *
 * A kernel consumer is told of the end by the core's worker itself, which has let go of the
 * queue pair by then: iSER destroys the queue pair in its handler. A kernel consumer may connect or
 * accept from that worker, so srn_report_settle() does not wait for it; nor is there a need to,
 * since a kernel consumer does not act twice on an id.
 *
 * An event carries what the consumer will be told by value or by number. The core copies events to
 * its queue without allocating memory, so none is lost there for lack of it.
 */
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "claim.h"
#include "cm_trace.h"
#include "report.h"

/* The core keeps the length of private data in a u8. */
#define MAX_PRIVATE	U8_MAX

/* A CLOSE does not need its address fields: they carry a reject's private data, in two parts. */
#define PRIVATE_PART	sizeof(struct sockaddr_storage)

static_assert(2 * PRIVATE_PART >= MAX_PRIVATE);

static void *private_data(const struct srn_ep *ep, u8 *len)
{
	u32 all;
	u8 *data = srn_handshake_private(&ep->peer, &all);

	*len = min_t(u32, all, MAX_PRIVATE);
	return data;
}

static void event_address(struct sockaddr_storage *to, const union srn_address *known,
			  const struct sockaddr_storage *asked_for)
{
	if (known->family)
		memcpy(to, known, sizeof(*known));
	else
		*to = *asked_for;
}

/* In the core's events ird is what the consumer may initiate, and ord what it must serve. */
static void event_init(const struct srn_ep *ep, const struct iw_cm_id *cm_id,
		       struct iw_cm_event *event, enum iw_cm_event_type type, int status)
{
	*event = (struct iw_cm_event) {
		.event = type, .status = status, .ird = ep->ord, .ord = ep->ird,
	};
	event_address(&event->local_addr, &ep->local, &cm_id->local_addr);
	event_address(&event->remote_addr, &ep->remote, &cm_id->remote_addr);
}

static int event_send(struct srn_ep *ep, struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	int ret = cm_id->event_handler(cm_id, event);

	if (ret)
		srn_ep_notice(ep, "no room for a connection event\n");
	return ret;
}

static void core_took_it(struct srn_ep *ep)
{
	/* Release: the core's state. Pairs with srn_report_settle() and srn_report_tell(). */
	smp_store_release(&ep->core_knows, true);
	/* A waiter that wake_up_var() does not see yet will see that core_knows is set. */
	smp_mb();
	wake_up_var(&ep->core_knows);
	srn_reporter_queue(ep->reporter, &ep->report);
	srn_ep_put(ep);
}

/*
 * The request is queued under the lock, so that the link is still there: whoever destroys the
 * listener may refuse the request as soon as it can be found. Return: true if the listener stays
 * until listener_told(), which follows request_is_ours().
 */
static bool listener_will_be_told(struct srn_ep *ep)
{
	struct srn_ep *listener = ep->listener;
	bool ok;

	spin_lock_bh(&listener->dev->lock);
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
static bool request_is_ours(struct srn_ep *ep)
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
	/* Release: the consumer's handler has returned. Pairs with srn_report_listener_gone(). */
	smp_store_release(&listener->num_unreported, listener->num_unreported - 1);
	spin_unlock_bh(&listener->dev->lock);
	/* A waiter that wake_up_var() does not see yet will see the new num_unreported. */
	smp_mb();
	wake_up_var(&listener->num_unreported);
}

/* The listener's consumer will be told of the request; until then the new id is ours. */
static int forward_request(struct iw_cm_id *cm_id)
{
	struct srn_ep *ep = srn_ep_find_request(cm_id);
	int ret;

	if (!ep)
		return -ECONNRESET;
	WRITE_ONCE(ep->forwarded, true);
	ep->request = cm_id;
	ret = listener_will_be_told(ep) ? 0 : -ECONNABORTED;
	srn_ep_put(ep);
	return ret;
}

/* A CLOSE without a status ends a connection; one with a status ends an attempt to connect. */
static int forward_close(struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	iw_cm_handler consumer = (iw_cm_handler)event->provider_data;
	struct iw_cm_event reply = *event;
	u8 data[2 * PRIVATE_PART];

	if (!consumer)
		return 0;
	if (!event->status)
		return consumer(cm_id, event);
	memcpy(data, &event->local_addr, PRIVATE_PART);
	memcpy(data + PRIVATE_PART, &event->remote_addr, PRIVATE_PART);
	reply.event = IW_CM_EVENT_CONNECT_REPLY;
	reply.local_addr = cm_id->local_addr;
	reply.remote_addr = cm_id->remote_addr;
	reply.private_data = data;
	return consumer(cm_id, &reply);
}

/* Takes the place of the consumer's handler. The core's worker calls it, one event at a time. */
static int forward(struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	switch (event->event) {
	case IW_CM_EVENT_CONNECT_REQUEST:
		return forward_request(cm_id);
	case IW_CM_EVENT_CONNECT_REPLY:
	case IW_CM_EVENT_ESTABLISHED:
		core_took_it(event->provider_data);
		return 0;
	default:
		return forward_close(cm_id, event);
	}
}

/**
 * srn_report_init - get the events of an id before its consumer does
 * @ep: endpoint with a cm_id, of which the core has not been told anything yet
 *
 * Context: process, ep->lock held.
 */
void srn_report_init(struct srn_ep *ep)
{
	ep->consumer = ep->cm_id->cm_handler;
	ep->cm_id->cm_handler = forward;
}

/**
 * srn_report_request - tell the core, and the listener's consumer, of a request
 * @ep: endpoint; the consumer's decision names it by its number in dev->requests
 *
 * If the core has no memory when it takes the event from its queue it drops the event, and the
 * consumer never hears of the request. ep->forwarded says whether the core has taken it.
 *
 * Context: process, ep->lock and that of its listener held.
 *
 * Return: 0, or -ENOMEM if there is no room for the request now: the core queues only as many
 * requests as the consumer has asked for, and so does the consumer's reporter.
 */
int srn_report_request(struct srn_ep *ep)
{
	struct iw_cm_id *cm_id = ep->listener->cm_id;
	struct iw_cm_event event;

	if (READ_ONCE(ep->listener->num_unreported) >= ep->listener->backlog)
		return -ENOMEM;
	event_init(ep, cm_id, &event, IW_CM_EVENT_CONNECT_REQUEST, 0);
	event.provider_data = (void *)(uintptr_t)ep->id;
	trace_srn_cm_event(ep, &event);
	return event_send(ep, cm_id, &event);
}

/* The core cannot drop this event, since nobody can destroy the id before it has been taken. */
static int send_and_be_told(struct srn_ep *ep, struct iw_cm_event *event)
{
	int ret;

	event->provider_data = srn_ep_get(ep);
	ret = event_send(ep, ep->cm_id, event);
	if (ret)
		srn_ep_put(ep);
	return ret;
}

/**
 * srn_report_connecting - tell the core, in advance, that the connection is established
 * @ep: endpoint that has begun to connect
 *
 * Context: process, ep->lock held.
 *
 * Return: 0 or a negative errno.
 */
int srn_report_connecting(struct srn_ep *ep)
{
	struct iw_cm_event event;
	int ret;

	event_init(ep, ep->cm_id, &event, IW_CM_EVENT_CONNECT_REPLY, 0);
	event.local_addr = ep->cm_id->local_addr;
	event.remote_addr = ep->cm_id->remote_addr;
	srn_report_init(ep);
	ret = send_and_be_told(ep, &event);
	if (ret)
		ep->cm_id->cm_handler = ep->consumer;
	return ret;
}

/**
 * srn_report_accepted - tell the core, and the consumer, that an accepted connection is established
 * @ep: passive endpoint with the cm_id of its connection
 *
 * Context: process, ep->lock held.
 */
void srn_report_accepted(struct srn_ep *ep)
{
	struct iw_cm_event event;

	event_init(ep, ep->cm_id, &event, IW_CM_EVENT_ESTABLISHED, 0);
	WRITE_ONCE(ep->tell_connected, true);
	srn_report_init(ep);
	/* There is room: the core reserves some for each event of a connection. */
	WARN_ON_ONCE(send_and_be_told(ep, &event));
}

/**
 * srn_report_connected - tell the consumer that the connection it asked for is established
 * @ep: active endpoint
 *
 * Context: process, ep->lock held.
 */
void srn_report_connected(struct srn_ep *ep)
{
	WRITE_ONCE(ep->tell_connected, true);
	srn_reporter_queue(ep->reporter, &ep->report);
}

/**
 * srn_report_ended - tell the core, and the consumer, that a connection has ended or has failed
 * @ep: endpoint with a queue pair, of whose connection the core has been told
 * @status: 0, or a negative errno that says why there never was a connection
 * @polite: something was sent that the peer should read
 *
 * Context: process, ep->lock held.
 */
void srn_report_ended(struct srn_ep *ep, int status, bool polite)
{
	srn_ep_end(ep, status, polite);
	srn_claim_note_end(ep);
	srn_reporter_queue(ep->reporter, &ep->report);
}

/**
 * srn_report_settle - finish a call by which the core connects or accepts
 * @ep: endpoint, locked, with a reference of the caller's; both are given up
 * @ret: 0 after srn_report_connecting() or srn_report_accepted(); or why the call has failed
 *
 * An endpoint whose call has failed is closed. Otherwise a process waits until the core has taken
 * the event. Destroying the id would have to wait for that as well.
 *
 * Context: process, ep->lock and perhaps the consumer's locks held, no other lock of ours; sleeps.
 *
 * Return: @ret.
 */
int srn_report_settle(struct srn_ep *ep, int ret)
{
	bool wait = !ret && !ep->qp->kernel;

	if (ret)
		srn_ep_close(ep, false);
	srn_ep_unlock(ep);
	if (wait)
		/* Acquire: pairs with core_took_it(). */
		wait_var_event(&ep->core_knows, smp_load_acquire(&ep->core_knows));
	srn_ep_put(ep);
	return ret;
}

/*
 * The consumer of the listener gets the request with its private data, and with the addresses that
 * the connection really has: any process can make the core believe in different ones.
 */
static void tell_request(struct srn_ep *ep)
{
	struct srn_ep *listener = ep->listener;
	struct iw_cm_event event;
	int ret = -ECONNABORTED;
	struct iw_cm_id *cm_id;

	if (!request_is_ours(ep))
		return;
	cm_id = ep->request;
	if (READ_ONCE(listener->state) == SRN_EP_LISTENING &&
	    READ_ONCE(ep->state) == SRN_EP_REQUESTED) {
		event_init(ep, cm_id, &event, IW_CM_EVENT_CONNECT_REQUEST, 0);
		event.provider_data = cm_id->provider_data;
		event.private_data = private_data(ep, &event.private_data_len);
		ret = listener->consumer(cm_id, &event);
		kfree(xchg(&ep->peer.in, NULL));
	}
	if (ret) {
		iw_cm_reject(cm_id, NULL, 0);
		iw_destroy_cm_id(cm_id);
	}
	listener_told(listener);
}

/**
 * srn_report_listener_gone - wait until nothing more is reported to a listener's consumer
 * @listener: endpoint, CLOSED
 *
 * Requests that the consumer has not been told of are refused here, not by the reporter. It may be
 * reporting another connection, for which the consumer may need a lock that our caller holds:
 * NVMe's target does so when a port is removed.
 *
 * Context: process; sleeps. The caller holds no lock that the consumer's request handler takes.
 */
void srn_report_listener_gone(struct srn_ep *listener)
{
	struct srn_ep *ep;

	while ((ep = find_unreported(listener))) {
		tell_request(ep);
		srn_ep_put(ep);
		cond_resched();
	}
	/* Acquire: pairs with listener_told(). */
	wait_var_event(&listener->num_unreported, !smp_load_acquire(&listener->num_unreported));
}

/* The consumer's handler has returned an error, which asks for its id to be destroyed. */
static void destroy_unwanted(struct srn_ep *ep, struct iw_cm_id *cm_id)
{
	mutex_lock(&ep->lock.mutex);
	ep->consumer = NULL;
	srn_ep_unlock(ep);
	iw_destroy_cm_id(cm_id);
}

/* Context: no lock, since the consumer may do to the queue pair whatever it wants. */
static void tell_connected(struct srn_ep *ep)
{
	struct iw_cm_id *cm_id = ep->cm_id;
	struct iw_cm_event event;
	int ret;

	if (!srn_claim_begin(ep))
		return;
	event_init(ep, cm_id, &event,
		   ep->listener ? IW_CM_EVENT_ESTABLISHED : IW_CM_EVENT_CONNECT_REPLY, 0);
	trace_srn_cm_event(ep, &event);
	if (!ep->listener) {
		cm_id->m_local_addr = event.local_addr;
		cm_id->m_remote_addr = event.remote_addr;
		event.local_addr = cm_id->local_addr;
		event.remote_addr = cm_id->remote_addr;
		event.private_data = private_data(ep, &event.private_data_len);
	}
	ret = ep->consumer(cm_id, &event);
	kfree(xchg(&ep->peer.in, NULL));
	srn_claim_end(ep);
	if (ret)
		destroy_unwanted(ep, cm_id);
}

/* Context: no lock. */
static void tell_process_of_end(struct srn_ep *ep)
{
	struct iw_cm_id *cm_id = ep->cm_id;
	struct iw_cm_event event;
	int ret;

	if (!srn_claim_begin(ep))
		return;
	event_init(ep, cm_id, &event, IW_CM_EVENT_CLOSE, 0);
	if (ep->status) {
		event.event = IW_CM_EVENT_CONNECT_REPLY;
		event.status = ep->status;
		event.local_addr = cm_id->local_addr;
		event.remote_addr = cm_id->remote_addr;
		event.private_data = private_data(ep, &event.private_data_len);
	}
	trace_srn_cm_event(ep, &event);
	ret = ep->consumer(cm_id, &event);
	srn_claim_end(ep);
	if (ret)
		destroy_unwanted(ep, cm_id);
}

/* Context: ep->lock held. */
static void tell_core_of_end(struct srn_ep *ep)
{
	struct iw_cm_event event;
	void *data;
	u8 len;

	event_init(ep, ep->cm_id, &event, IW_CM_EVENT_CLOSE, 0);
	if (ep->qp->kernel) {
		event.provider_data = ep->consumer;
		event.status = ep->status;
		trace_srn_cm_event(ep, &event);
	}
	if (event.status) {
		data = private_data(ep, &len);
		memcpy(&event.local_addr, data, min_t(size_t, len, PRIVATE_PART));
		if (len > PRIVATE_PART)
			memcpy(&event.remote_addr, data + PRIVATE_PART, len - PRIVATE_PART);
		event.private_data_len = len;
	}
	WARN_ON_ONCE(event_send(ep, ep->cm_id, &event));
}

/**
 * srn_report_tell - tell the consumer of an endpoint what there is to tell
 * @ep: endpoint
 *
 * Context: the endpoint's reporter, no locks; takes those of the consumer.
 */
void srn_report_tell(struct srn_ep *ep)
{
	bool connected, ended;

	tell_request(ep);
	/* Any earlier, the consumer's calls would not fit the core. Pairs with core_took_it(). */
	if (!smp_load_acquire(&ep->core_knows))
		return;
	/*
	 * Do not take the lock if there is nothing to tell: the work that sends the MPA request
	 * needs it. Whatever comes later queues the endpoint again.
	 */
	if (!READ_ONCE(ep->tell_connected) && READ_ONCE(ep->state) != SRN_EP_ENDED)
		return;
	mutex_lock(&ep->lock.mutex);
	connected = ep->tell_connected && ep->state != SRN_EP_CLOSED;
	WRITE_ONCE(ep->tell_connected, false);
	ended = ep->state == SRN_EP_ENDED;
	srn_ep_unlock(ep);
	if (connected)
		tell_connected(ep);
	if (!ended)
		return;
	if (!ep->qp->kernel)
		tell_process_of_end(ep);
	mutex_lock(&ep->lock.mutex);
	if (ep->state == SRN_EP_ENDED) {
		tell_core_of_end(ep);
		srn_ep_close(ep, false);
	}
	srn_ep_unlock(ep);
}
