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
#include <linux/wait_bit.h>

#include "claim.h"
#include "cm_trace.h"
#include "conn_req.h"
#include "event.h"
#include "report.h"
#include "reporter.h"

/* A CLOSE does not need its address fields: they carry a reject's private data, in two parts. */
#define PRIVATE_PART	sizeof(struct sockaddr_storage)

static_assert(2 * PRIVATE_PART >= SRN_EVENT_MAX_PRIVATE);

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
		return srn_conn_req_take(cm_id);
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

/* The core cannot drop this event, since nobody can destroy the id before it has been taken. */
static int send_and_be_told(struct srn_ep *ep, struct iw_cm_event *event)
{
	int ret;

	event->provider_data = srn_ep_get(ep);
	ret = srn_event_send(ep, ep->cm_id, event);
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

	srn_event_init(ep, ep->cm_id, &event, IW_CM_EVENT_CONNECT_REPLY);
	/* The core keeps these as the mapped addresses, and finds by them what it has to free. */
	event.local_addr = ep->cm_id->m_local_addr;
	event.remote_addr = ep->cm_id->m_remote_addr;
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

	srn_event_init(ep, ep->cm_id, &event, IW_CM_EVENT_ESTABLISHED);
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
	srn_event_init(ep, cm_id, &event,
		       ep->listener ? IW_CM_EVENT_ESTABLISHED : IW_CM_EVENT_CONNECT_REPLY);
	trace_srn_cm_event(ep, &event);
	if (!ep->listener) {
		event.local_addr = cm_id->local_addr;
		event.remote_addr = cm_id->remote_addr;
		event.private_data = srn_event_private(ep, &event.private_data_len);
	}
	ret = ep->consumer(cm_id, &event);
	srn_handshake_exit(&ep->peer);
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
	srn_event_init(ep, cm_id, &event, IW_CM_EVENT_CLOSE);
	if (ep->status) {
		event.event = IW_CM_EVENT_CONNECT_REPLY;
		event.status = ep->status;
		event.local_addr = cm_id->local_addr;
		event.remote_addr = cm_id->remote_addr;
		event.private_data = srn_event_private(ep, &event.private_data_len);
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

	lockdep_assert_held(&ep->lock.mutex);
	srn_event_init(ep, ep->cm_id, &event, IW_CM_EVENT_CLOSE);
	if (ep->qp->kernel) {
		event.provider_data = ep->consumer;
		event.status = ep->status;
		trace_srn_cm_event(ep, &event);
	}
	if (event.status) {
		data = srn_event_private(ep, &len);
		memcpy(&event.local_addr, data, min_t(size_t, len, PRIVATE_PART));
		if (len > PRIVATE_PART)
			memcpy(&event.remote_addr, data + PRIVATE_PART, len - PRIVATE_PART);
		event.private_data_len = len;
	}
	WARN_ON_ONCE(srn_event_send(ep, ep->cm_id, &event));
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

	srn_conn_req_tell(ep);
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
