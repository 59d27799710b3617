// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the core and its consumer are told of a connection.
 *
 * The core has a state for each connection and ends the machine (BUG) if an event does not fit
 * it. It queues events, and while one is queued the consumer may change that state: a process that
 * accepts a request twice, or accepts and rejects it, or accepts on an id that is connecting and
 * then disconnects it, would end the machine. So an event is never left in the queue while
 * a process can act:
 *
 * - Accepting. ESTABLISHED is queued, and srn_report_wait() waits until the core has taken it.
 *   Meanwhile rdma_ucm lets nobody else act on the id.
 * - Connecting. The core is told at once that the connection is there, and that is waited for as
 *   well. It then has the one state in which whatever a process does is harmless and reaches the
 *   queue pair without delay. The consumer hears nothing of it: it is told by
 *   srn_report_connected(), when there really is a connection, or of the failure when the core
 *   takes CLOSE.
 *
 * For both the consumer's handler is replaced by one that stands in front of it. That one runs in
 * the core's worker without any lock of the consumer's, so that waiting for it is safe even for one
 * who holds them, as rdma_ucm does. A kernel consumer may call from the core's worker itself, so it
 * does not wait; it does not act twice on an id either.
 *
 * Events carry what the consumer will be told by value or by number. The core copies them without
 * allocating memory, so none gets lost for lack of it.
 */
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "../trace.h"
#include "../verbs/qp.h"
#include "cm.h"

/* Private data as the core counts it. */
#define MAX_PRIVATE	U8_MAX

/* A CLOSE has no use for its addresses: private data of a reject, in two parts. */
#define PRIVATE_PART	sizeof(struct sockaddr_storage)

static_assert(2 * PRIVATE_PART >= MAX_PRIVATE);

static void *private_data(const struct srn_ep *ep, u8 *len)
{
	u32 head = SRN_MPA_FRAME + (ep->frame.enhanced ? SRN_MPA_ENHANCED : 0);

	*len = ep->in && ep->have > head ? min_t(u32, ep->have - head, MAX_PRIVATE) : 0;
	return *len ? ep->in + head : NULL;
}

static void event_address(struct sockaddr_storage *to, const union srn_address *known,
			  const struct sockaddr_storage *asked_for)
{
	if (known->family)
		memcpy(to, known, sizeof(*known));
	else
		*to = *asked_for;
}

/* To the core the depths are what its consumer may initiate and must serve. */
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
	/* The core's state before it; pairs with srn_report_wait(). */
	smp_store_release(&ep->core_knows, true);
	wake_up_var(&ep->core_knows);
	/* An active one goes on with its peer only now. */
	srn_ep_queue(ep, 0);
	srn_ep_put(ep);
}

/*
 * The consumer of the listener gets the request with its private data, and with the addresses that
 * the connection really has: to the core any process may say that there are others.
 */
static int forward_request(struct iw_cm_id *cm_id, const struct iw_cm_event *event)
{
	struct srn_ep *ep = srn_ep_find_request(cm_id);
	struct iw_cm_event full = *event;
	int ret;

	if (!ep)
		return -ECONNRESET;
	WRITE_ONCE(ep->forwarded, true);
	full.private_data = private_data(ep, &full.private_data_len);
	event_address(&full.local_addr, &ep->local, &event->local_addr);
	event_address(&full.remote_addr, &ep->remote, &event->remote_addr);
	ret = ep->listener->consumer(cm_id, &full);
	kfree(xchg(&ep->in, NULL));
	srn_ep_put(ep);
	return ret;
}

/* Without a status it is the end of a connection; with one, of the attempt to make it. */
static int forward_close(struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	iw_cm_handler consumer = (iw_cm_handler)event->provider_data;
	struct iw_cm_event reply = *event;
	u8 data[2 * PRIVATE_PART];

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

/* Stands in front of the consumer's handler. Called by the core's worker, one event at a time. */
static int forward(struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	struct srn_ep *ep = event->provider_data;
	iw_cm_handler consumer;

	switch (event->event) {
	case IW_CM_EVENT_CONNECT_REQUEST:
		return forward_request(cm_id, event);
	case IW_CM_EVENT_CONNECT_REPLY:
		core_took_it(ep);
		return 0;
	case IW_CM_EVENT_ESTABLISHED:
		consumer = ep->consumer;
		core_took_it(ep);
		return consumer(cm_id, event);
	default:
		return forward_close(cm_id, event);
	}
}

/* Stands there when the consumer is gone before the core knows of it. */
static int forward_nothing(struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	return 0;
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
 * srn_report_request - tell the listener's consumer of a request
 * @ep: endpoint whose number in dev->requests the consumer decides by
 *
 * The core drops the event if it has no memory when it takes it, so that the consumer never hears
 * of it: ep->forwarded tells.
 *
 * Context: process, ep->lock and that of its listener held.
 *
 * Return: 0, or -ENOMEM if the core has no room for it now.
 */
int srn_report_request(struct srn_ep *ep)
{
	struct iw_cm_id *cm_id = ep->listener->cm_id;
	struct iw_cm_event event;

	event_init(ep, cm_id, &event, IW_CM_EVENT_CONNECT_REQUEST, 0);
	event.provider_data = (void *)(uintptr_t)ep->id;
	trace_srn_cm_event(ep, &event);
	return event_send(ep, cm_id, &event);
}

/* An event that cannot be dropped, since nobody can destroy the id before it has been taken. */
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
 * srn_report_connecting - the core may take the connection for made
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
	event.local_addr = ep->cm_id->m_local_addr;
	event.remote_addr = ep->cm_id->m_remote_addr;
	srn_report_init(ep);
	ret = send_and_be_told(ep, &event);
	if (ret)
		ep->cm_id->cm_handler = ep->consumer;
	return ret;
}

/**
 * srn_report_accepted - tell that an accepted connection is there
 * @ep: passive endpoint with the cm_id of its connection
 *
 * Context: process, ep->lock held.
 */
void srn_report_accepted(struct srn_ep *ep)
{
	struct iw_cm_event event;

	event_init(ep, ep->cm_id, &event, IW_CM_EVENT_ESTABLISHED, 0);
	trace_srn_cm_event(ep, &event);
	srn_report_init(ep);
	/* There is room: the core keeps some for each event of a connection. */
	WARN_ON_ONCE(send_and_be_told(ep, &event));
}

/**
 * srn_report_wait - wait until the core has taken the event
 * @ep: endpoint of a process, after srn_report_connecting() or srn_report_accepted()
 *
 * Destroying the id would wait for the same.
 *
 * Context: process, the consumer's locks may be held, ours not; sleeps.
 */
void srn_report_wait(struct srn_ep *ep)
{
	/* Acquire: pairs with core_took_it(). */
	wait_var_event(&ep->core_knows, smp_load_acquire(&ep->core_knows));
}

/**
 * srn_report_connected - tell the consumer that the connection it asked for is there
 * @ep: active endpoint in REPORTING
 *
 * The core's reference on the queue pair keeps the consumer from going: see srn_report_rem_ref().
 *
 * Context: process, no locks; takes those of the consumer.
 *
 * Return: 0, or another value if the consumer wants its id to be destroyed. It is called no more
 * then.
 */
int srn_report_connected(struct srn_ep *ep)
{
	struct iw_cm_id *cm_id = ep->cm_id;
	struct iw_cm_event event;
	int ret;

	event_init(ep, cm_id, &event, IW_CM_EVENT_CONNECT_REPLY, 0);
	trace_srn_cm_event(ep, &event);
	cm_id->m_local_addr = event.local_addr;
	cm_id->m_remote_addr = event.remote_addr;
	event.local_addr = cm_id->local_addr;
	event.remote_addr = cm_id->remote_addr;
	event.private_data = private_data(ep, &event.private_data_len);
	ret = ep->consumer(cm_id, &event);
	if (ret)
		cm_id->cm_handler = forward_nothing;
	kfree(xchg(&ep->in, NULL));
	return ret;
}

/**
 * srn_report_failed - tell that no connection comes of it
 * @ep: active endpoint after srn_report_connecting()
 * @status: negative errno
 *
 * Context: process, ep->lock held. The last event of an endpoint.
 */
void srn_report_failed(struct srn_ep *ep, int status)
{
	struct iw_cm_event event;
	void *data;
	u8 len;

	event_init(ep, ep->cm_id, &event, IW_CM_EVENT_CONNECT_REPLY, status);
	trace_srn_cm_event(ep, &event);
	event.event = IW_CM_EVENT_CLOSE;
	event.provider_data = ep->consumer;
	data = private_data(ep, &len);
	memcpy(&event.local_addr, data, min_t(size_t, len, PRIVATE_PART));
	if (len > PRIVATE_PART)
		memcpy(&event.remote_addr, data + PRIVATE_PART, len - PRIVATE_PART);
	event.private_data_len = len;
	WARN_ON_ONCE(event_send(ep, ep->cm_id, &event));
}

/**
 * srn_report_closed - tell that a connection has ended
 * @ep: established endpoint
 *
 * Context: process, ep->lock held. The last event of an endpoint.
 */
void srn_report_closed(struct srn_ep *ep)
{
	struct iw_cm_event event;

	event_init(ep, ep->cm_id, &event, IW_CM_EVENT_CLOSE, 0);
	trace_srn_cm_event(ep, &event);
	event.provider_data = ep->consumer;
	WARN_ON_ONCE(event_send(ep, ep->cm_id, &event));
}

/**
 * srn_report_begin - whoever destroys the id of a connection has to wait
 * @qp: its queue pair, not in RTS yet
 */
void srn_report_begin(struct srn_qp *qp)
{
	WRITE_ONCE(qp->reporting, true);
}

/**
 * srn_report_end - the consumer has been told, or will not be
 * @qp: queue pair, after srn_report_begin()
 */
void srn_report_end(struct srn_qp *qp)
{
	/* The consumer's handler has returned before it; pairs with srn_report_rem_ref(). */
	smp_store_release(&qp->reporting, false);
	wake_up_var(&qp->reporting);
}

/**
 * srn_report_rem_ref - the core lets go of a queue pair
 * @ibqp: queue pair
 *
 * After that the consumer of the core's id is not called any more. Before it lets go the core moves
 * the queue pair to ERR or SQD. If that was before the queue pair got its connection it will not
 * get one; otherwise a report that is under way is waited for. That one waits for the consumer's
 * locks at most, and nobody who has those waits for the core any more: see srn_ep_active_work().
 *
 * Context: process, sleeps.
 */
void srn_report_rem_ref(struct ib_qp *ibqp)
{
	struct srn_qp *qp = to_srn_qp(ibqp);

	/* Acquire: pairs with srn_report_end(). */
	wait_var_event(&qp->reporting, !smp_load_acquire(&qp->reporting));
	srn_qp_put(qp);
}
