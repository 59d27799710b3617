// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The responder: MPA request, the consumer's decision, MPA reply.
 */
#include <net/tcp_states.h>

#include "../qp/connection.h"
#include "../stream/handshake.h"
#include "../stream/qos.h"
#include "../stream/sock.h"
#include "claim.h"
#include "conn_req.h"
#include "passive.h"
#include "report.h"

/* How long a new connection may take to send a request. */
#define REQUEST_TIMEOUT	(5 * HZ)
/* How long the core may take to hand a request on; if it takes longer, it had no memory for it. */
#define FORWARD_TIMEOUT	(60 * HZ)
/*
 * How often to check whether the request is lost. The core drops the requests of a listener that is
 * being destroyed, and tells nobody.
 */
#define FORWARD_CHECK	(2 * HZ)
/* How often to check whether there may still be somebody who decides on a request. */
#define ORPHAN_PERIOD	(60 * HZ)
/* How long to wait if the core has no room for an event, or a process has the listener's lock. */
#define EVENT_RETRY	(HZ / 50)

static void drop(struct srn_ep *ep, const char *reason)
{
	srn_ep_notice(ep, "listener: dropped a connection: %s\n", reason);
	srn_count(ep->dev->counters, SRN_COUNT_REQUESTS_DROPPED);
	srn_ep_close(ep, false);
}

/*
 * Connections that have made no request use a bounded amount of memory. The one that has been
 * silent for the longest makes room, since a peer that wants a connection sends its request at
 * once. Return: that connection, with a reference, or NULL.
 */
static struct srn_ep *join_half_open(struct srn_ep *ep)
{
	struct srn_ep *listener = ep->listener, *oldest = NULL;

	spin_lock_bh(&ep->dev->lock);
	list_add_tail(&ep->half_open_node, &listener->half_open);
	if (++listener->num_half_open > 2 * srn_ep_tcp_backlog(listener) + 64)
		oldest = srn_ep_get(list_first_entry(&listener->half_open, struct srn_ep,
						     half_open_node));
	spin_unlock_bh(&ep->dev->lock);
	return oldest;
}

/* Give the request the number by which the core names it. Return: 0 or a negative errno. */
static int number_request(struct srn_ep *ep)
{
	int ret;

	if (!srn_limits_take(ep->dev, SRN_LIMIT_REQUEST))
		return -EDQUOT;
	ret = xa_alloc_cyclic_bh(&ep->dev->requests, &ep->id, ep, xa_limit_31b,
				 &ep->dev->next_request, GFP_KERNEL);
	if (ret >= 0)
		return 0;
	ep->id = 0;
	srn_limits_give(ep->dev, SRN_LIMIT_REQUEST);
	return ret;
}

/*
 * Tell the listener's consumer.
 *
 * Return: 0, -ENOMEM or -EAGAIN to try again later, or another negative errno if that would be in
 * vain: -EDQUOT if programs know of as many requests as the link may have.
 */
static int report_request(struct srn_ep *ep)
{
	struct srn_ep *listener = ep->listener;
	int ret = 0;

	if (!ep->id)
		ret = number_request(ep);
	if (ret)
		return ret;
	/* A process that holds it may have no CPU for a while, and other endpoints do not wait. */
	if (!mutex_trylock(&listener->lock.mutex))
		return -EAGAIN;
	ep->state = SRN_EP_REQUESTED;
	ret = listener->state == SRN_EP_LISTENING ? srn_conn_req_report(ep) : -ECONNABORTED;
	if (ret)
		ep->state = SRN_EP_WAIT_REQUEST;
	srn_ep_unlock(listener);
	return ret;
}

static void request_reported(struct srn_ep *ep)
{
	srn_ep_set_deadline(ep, FORWARD_TIMEOUT);
	srn_ep_queue_later(ep, FORWARD_CHECK);
	srn_count(ep->dev->counters, SRN_COUNT_REQUESTS);
	spin_lock_bh(&ep->dev->lock);
	srn_ep_leave_half_open(ep);
	spin_unlock_bh(&ep->dev->lock);
}

/* It has said what it wants, so that those who have not are dropped first. */
static void wait_for_room(struct srn_ep *ep)
{
	spin_lock_bh(&ep->dev->lock);
	if (!list_empty(&ep->half_open_node))
		list_move_tail(&ep->half_open_node, &ep->listener->half_open);
	spin_unlock_bh(&ep->dev->lock);
	srn_ep_queue_later(ep, EVENT_RETRY);
}

static void handle_request(struct srn_ep *ep)
{
	const struct srn_mpa_frame *f = &ep->peer.frame;
	int ret;

	if (f->revision > 2) {
		drop(ep, "unknown MPA revision");
		return;
	}
	/* What the peer can serve, and wants to have served. If it does not say: our maximum. */
	ep->ord = f->enhanced && f->ird != SRN_MPA_NO_DEPTH ? f->ird : SRN_MAX_READ_DEPTH;
	ep->ird = f->enhanced && f->ord != SRN_MPA_NO_DEPTH ? f->ord : SRN_MAX_READ_DEPTH;
	ep->ord = min_t(u32, ep->ord, SRN_MAX_READ_DEPTH);
	ep->ird = min_t(u32, ep->ird, SRN_MAX_READ_DEPTH);
	/* The consumer is told who has come, and could not accept one that has gone again. */
	ret = srn_ep_note_addresses(ep);
	if (ret) {
		drop(ep, srn_handshake_no_request(ret));
		return;
	}
	ret = report_request(ep);
	if (ret == -ENOMEM || ret == -EAGAIN)
		wait_for_room(ep);
	else if (ret == -EDQUOT)
		drop(ep, "programs of this link have too many requests");
	else if (ret)
		drop(ep, "its listener is gone");
	else
		request_reported(ep);
}

/* The core has not taken the request yet. */
static void check_lost(struct srn_ep *ep)
{
	if (srn_conn_req_in_vain(ep))
		drop(ep, "its listener is gone");
	else if (time_after_eq(jiffies, ep->deadline))
		drop(ep, "the core had no memory for it");
	else
		srn_ep_queue_later(ep, FORWARD_CHECK);
}

/*
 * A consumer that knows of the request may take as long as it wants to decide. The request is
 * closed if the listener has been gone for a while, so that its consumer seems to be gone as well.
 */
static void check_orphan(struct srn_ep *ep)
{
	long left = ep->deadline - jiffies;
	bool was_orphan = ep->orphan;

	if (left > 0) {
		srn_ep_queue_later(ep, left);
		return;
	}
	ep->orphan = READ_ONCE(ep->listener->state) == SRN_EP_CLOSED;
	if (was_orphan)
		srn_ep_close(ep, false);
	else
		srn_ep_set_deadline(ep, ORPHAN_PERIOD);
}

static void passive_work(struct srn_ep *ep)
{
	int ret;

	if (ep->state == SRN_EP_REQUESTED && READ_ONCE(ep->request_taken))
		check_orphan(ep);
	else if (ep->state == SRN_EP_REQUESTED)
		check_lost(ep);
	if (ep->state != SRN_EP_WAIT_REQUEST)
		return;
	if (time_after_eq(jiffies, ep->deadline)) {
		drop(ep, ep->id ? "its program did not take requests in time" :
				  srn_handshake_no_request(-EAGAIN));
		return;
	}
	ret = srn_handshake_read(&ep->peer, ep->sock, false);
	if (!ret)
		handle_request(ep);
	else if (ret != -EAGAIN)
		drop(ep, srn_handshake_no_request(ret));
}

static void passive_qp_ended(struct srn_ep *ep)
{
	if (ep->state == SRN_EP_ESTABLISHED)
		srn_report_ended(ep, 0, false);
}

static const struct srn_ep_kind passive = {
	.work = passive_work, .qp_ended = passive_qp_ended, .tell = srn_report_tell,
};

/*
 * Did the peer send something, or close, before there was a callback? Under the socket lock,
 * anything that arrives either is in the queue already or will cause the callback to be called.
 */
static bool has_spoken(struct sock *sk)
{
	bool spoken;

	lock_sock(sk);
	spoken = !skb_queue_empty(&sk->sk_receive_queue) || sk->sk_state != TCP_ESTABLISHED;
	release_sock(sk);
	return spoken;
}

/**
 * srn_passive_start - a connection has been accepted
 * @listener: listening endpoint
 * @sock: connected socket; not the caller's any more
 *
 * Context: process, ports_mutex held; must not wait for ep->lock of another endpoint.
 */
void srn_passive_start(struct srn_ep *listener, struct socket *sock)
{
	struct srn_ep *ep = srn_ep_alloc(listener->dev, &passive, SRN_EP_WAIT_REQUEST,
					 listener);
	struct srn_ep *oldest;

	if (!ep) {
		srn_ep_notice(listener, "listener: no memory for a connection\n");
		srn_count(listener->dev->counters, SRN_COUNT_REQUESTS_DROPPED);
		srn_sock_abort(sock);
		return;
	}
	/* The core keeps the type of service at the listener only. */
	if (listener->cm_id->tos_set)
		srn_qos_set_tos(sock, listener->cm_id->tos);
	srn_ep_get(ep);
	mutex_lock(&ep->lock.mutex);
	ep->sock = sock;
	oldest = join_half_open(ep);
	srn_ep_hook(ep);
	srn_ep_set_deadline(ep, REQUEST_TIMEOUT);
	/* Queue it only if there is something to see already: its turn must follow its request. */
	if (has_spoken(sock->sk))
		srn_ep_queue(ep);
	srn_ep_unlock(ep);
	srn_ep_put(ep);
	if (!oldest)
		return;
	/*
	 * All listeners of the host wait for the caller, so it must not wait for this lock. Whoever
	 * holds the lock is working for @oldest, and may by now be a process that accepts it and
	 * waits for the end of another connection.
	 */
	if (mutex_trylock(&oldest->lock.mutex)) {
		if (oldest->state == SRN_EP_WAIT_REQUEST)
			drop(oldest, "too many have made no request");
		srn_ep_unlock(oldest);
	}
	srn_ep_put(oldest);
}

static int send_reply(struct srn_ep *ep, bool reject, bool crc, const void *data, u32 len)
{
	const struct srn_mpa_frame *req = &ep->peer.frame;
	/* A peer that asks for no RTR message that we know is offered all. RFC 6581 section 9.2. */
	bool any = req->peer_to_peer && !req->rtr_send && !req->rtr_write && !req->rtr_read;
	struct srn_mpa_frame f = {
		.reply = true,
		.crc = crc,
		.markers = ep->markers,
		.reject = reject,
		.revision = req->revision,
		.enhanced = req->enhanced,
		.peer_to_peer = req->peer_to_peer,
		.rtr_send = req->rtr_send || any,
		.rtr_write = req->rtr_write || any,
		.rtr_read = req->rtr_read || any,
		.ird = req->ord == SRN_MPA_NO_DEPTH ? SRN_MPA_NO_DEPTH : ep->ird,
		.ord = req->ird == SRN_MPA_NO_DEPTH ? SRN_MPA_NO_DEPTH : ep->ord,
	};

	return srn_handshake_send(ep->sock, &f, data, len);
}

static u32 max_private(const struct srn_ep *ep)
{
	return SRN_MPA_MAX_PRIVATE - (ep->peer.frame.enhanced ? SRN_MPA_ENHANCED : 0);
}

static int accept_request(struct srn_ep *ep, struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct srn_conn_params conn = {
		.crc = READ_ONCE(ep->dev->crc) || ep->peer.frame.crc,
		.tx_markers = ep->peer.frame.markers,
		.rx_markers = READ_ONCE(ep->dev->markers),
		/*
		 * The initiator sends first: RFC 5044 section 7.1.2, rule 4. In the peer-to-peer
		 * model MPA makes it do so; otherwise its ULP does, if it knows that rule.
		 */
		.hold_tx = ep->peer.frame.peer_to_peer ? SRN_HOLD : SRN_HOLD_FOR_A_WHILE,
		.rtr_send_may_come = ep->peer.frame.peer_to_peer,
	};
	int ret;

	ep->markers = conn.rx_markers;
	if (param->private_data_len > max_private(ep))
		return -EINVAL;
	srn_ep_take_cm_id(ep, cm_id);
	ret = srn_claim_take_qp(ep, param->qpn);
	if (ret)
		return ret;
	ep->ord = min_t(u32, param->ord, ep->ord);
	ep->ird = min_t(u32, param->ird, SRN_MAX_READ_DEPTH);
	/* The initiator may choose a Read as its first message. */
	if (ep->peer.frame.peer_to_peer)
		ep->ird = max(ep->ird, 1u);
	conn.ird = ep->ird;
	conn.ord = ep->ord;
	ret = send_reply(ep, false, conn.crc, param->private_data, param->private_data_len);
	if (ret)
		return ret;
	srn_sock_unhook(ep->sock->sk);
	ret = srn_connection_start(ep->qp, &ep->conn, ep->sock, &conn);
	if (ret)
		return ret;
	ep->sock = NULL;
	ep->state = SRN_EP_ESTABLISHED;
	srn_count(ep->dev->counters, SRN_COUNT_ACCEPTS);
	srn_report_accepted(ep);
	return 0;
}

/**
 * srn_passive_accept - accept a request, for the core
 * @cm_id: connection
 * @param: queue pair, read depths, private data
 *
 * Context: process.
 *
 * Return: 0; -ECONNRESET if the request is gone; -EINVAL for too much private data; as
 * srn_claim_take_qp(); or another negative errno.
 */
int srn_passive_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct srn_ep *ep = srn_ep_find_request(cm_id);

	if (!ep)
		return -ECONNRESET;
	mutex_lock(&ep->lock.mutex);
	if (ep->state != SRN_EP_REQUESTED) {
		srn_ep_unlock(ep);
		srn_ep_put(ep);
		return -ECONNRESET;
	}
	return srn_report_settle(ep, accept_request(ep, cm_id, param));
}

/**
 * srn_passive_reject - refuse a request, for the core
 * @cm_id: connection
 * @data: private data
 * @len: its length
 *
 * Context: process.
 *
 * Return: 0, also if it was decided before; -ECONNRESET if the request is gone; or a negative errno
 * if the reply was not sent.
 */
int srn_passive_reject(struct iw_cm_id *cm_id, const void *data, u8 len)
{
	struct srn_ep *ep = srn_ep_find_request(cm_id);
	int ret = 0;

	if (!ep)
		return -ECONNRESET;
	mutex_lock(&ep->lock.mutex);
	if (ep->state == SRN_EP_REQUESTED) {
		srn_count(ep->dev->counters, SRN_COUNT_REJECTS);
		ret = send_reply(ep, true, READ_ONCE(ep->dev->crc) || ep->peer.frame.crc, data,
				 len);
		srn_ep_close(ep, true);
	}
	srn_ep_unlock(ep);
	srn_ep_put(ep);
	return ret;
}
