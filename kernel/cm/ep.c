// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Endpoints: life, socket callbacks, work.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "../device/workqueues.h"
#include "../qp/binding.h"
#include "../stream/linger.h"
#include "../stream/sock.h"
#include "ep.h"

/*
 * If a process holds the lock, other endpoints must not wait for that. A file system's connection
 * may be waiting for its turn behind this one, so nothing here waits for write-back.
 */
static void go_on(struct srn_ep *ep)
{
	unsigned int noio = memalloc_noio_save();

	if (srn_worker_lock_try(&ep->lock)) {
		ep->kind->work(ep);
		srn_ep_unlock(ep);
	}
	srn_ep_put(ep);
	memalloc_noio_restore(noio);
}

static void ep_work(struct work_struct *work)
{
	go_on(container_of(work, struct srn_ep, work));
}

static void ep_timer(struct work_struct *work)
{
	go_on(container_of(to_delayed_work(work), struct srn_ep, timer));
}

static void conn_get(struct srn_conn *conn)
{
	srn_ep_get(container_of(conn, struct srn_ep, conn));
}

static void conn_put(struct srn_conn *conn)
{
	srn_ep_put(container_of(conn, struct srn_ep, conn));
}

static void conn_ended(struct srn_conn *conn)
{
	struct srn_ep *ep = container_of(conn, struct srn_ep, conn);

	mutex_lock(&ep->lock.mutex);
	ep->kind->qp_ended(ep);
	srn_ep_unlock(ep);
}

static const struct srn_conn_ops conn_ops = {
	.get = conn_get, .put = conn_put, .ended = conn_ended,
};

static void item_get(struct srn_reporter_item *item)
{
	srn_ep_get(container_of(item, struct srn_ep, report));
}

static void item_put(struct srn_reporter_item *item)
{
	srn_ep_put(container_of(item, struct srn_ep, report));
}

static void item_tell(struct srn_reporter_item *item)
{
	struct srn_ep *ep = container_of(item, struct srn_ep, report);

	ep->kind->tell(ep);
}

static const struct srn_reporter_item_ops item_ops = {
	.get = item_get, .put = item_put, .tell = item_tell,
};

/**
 * srn_ep_alloc - new endpoint with one reference, which srn_ep_close() drops
 * @dev: device
 * @kind: initiator, responder or listener
 * @state: first state
 * @listener: listener that it has come to, whose process is told of it; NULL: the caller is told
 *
 * Context: process.
 *
 * Return: endpoint, or NULL if there is no memory.
 */
struct srn_ep *srn_ep_alloc(struct srn_device *dev, const struct srn_ep_kind *kind,
			    enum srn_ep_state state, struct srn_ep *listener)
{
	struct srn_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);

	if (!ep)
		return NULL;
	ep->reporter = listener ? srn_reporter_get(listener->reporter) :
				  srn_reporter_of_current(dev);
	if (!ep->reporter)
		goto err_ep;
	if (state != SRN_EP_LISTENING) {
		if (srn_handshake_init(&ep->peer, GFP_KERNEL))
			goto err_reporter;
	}
	ep->dev = dev;
	ep->kind = kind;
	ep->conn.ops = &conn_ops;
	ep->report.ops = &item_ops;
	ep->state = state;
	ep->listener = listener ? srn_ep_get(listener) : NULL;
	kref_init(&ep->ref);
	srn_worker_lock_init(&ep->lock);
	INIT_WORK(&ep->work, ep_work);
	INIT_DELAYED_WORK(&ep->timer, ep_timer);
	INIT_LIST_HEAD(&ep->half_open);
	INIT_LIST_HEAD(&ep->half_open_node);
	INIT_LIST_HEAD(&ep->unreported);
	INIT_LIST_HEAD(&ep->unreported_node);
	INIT_LIST_HEAD(&ep->report.node);
	spin_lock_bh(&dev->lock);
	list_add(&ep->node, &dev->endpoints);
	spin_unlock_bh(&dev->lock);
	return ep;

err_reporter:
	srn_reporter_put(ep->reporter);
err_ep:
	kfree(ep);
	return NULL;
}

/**
 * srn_ep_get - take a reference
 * @ep: endpoint
 *
 * Context: any.
 *
 * Return: @ep.
 */
struct srn_ep *srn_ep_get(struct srn_ep *ep)
{
	kref_get(&ep->ref);
	return ep;
}

static void ep_free(struct kref *ref)
{
	struct srn_ep *ep = container_of(ref, struct srn_ep, ref);

	if (ep->listener)
		srn_ep_put(ep->listener);
	srn_reporter_put(ep->reporter);
	kfree(ep->private_data);
	srn_handshake_exit(&ep->peer);
	kfree(ep);
}

/**
 * srn_ep_put - drop a reference
 * @ep: endpoint
 *
 * Context: any.
 */
void srn_ep_put(struct srn_ep *ep)
{
	kref_put(&ep->ref, ep_free);
}

/**
 * srn_ep_unlock - give back the endpoint's lock
 * @ep: endpoint, of which the caller has a reference
 *
 * Context: process, ep->lock held.
 */
void srn_ep_unlock(struct srn_ep *ep)
{
	if (srn_worker_lock_release(&ep->lock) && READ_ONCE(ep->state) != SRN_EP_CLOSED)
		srn_ep_queue(ep);
}

/**
 * srn_ep_queue - let the endpoint look at its socket
 * @ep: endpoint
 *
 * Endpoints look in the order in which they were queued: programs with several connections expect
 * requests in the order in which they were made.
 *
 * Context: any.
 */
void srn_ep_queue(struct srn_ep *ep)
{
	srn_ep_get(ep);
	if (!queue_work(ep->dev->cm_wq, &ep->work))
		srn_ep_put(ep);
}

/**
 * srn_ep_queue_later - let the endpoint look at its socket, even if nothing happens there
 * @ep: endpoint
 * @delay: when, in jiffies; it replaces the delay of an earlier call
 *
 * Context: ep->lock held.
 */
void srn_ep_queue_later(struct srn_ep *ep, unsigned long delay)
{
	srn_ep_get(ep);
	if (mod_delayed_work(ep->dev->cm_wq, &ep->timer, delay))
		srn_ep_put(ep);
}

/**
 * srn_ep_set_deadline - limit how long the present state may last
 * @ep: endpoint
 * @delay: in jiffies
 *
 * Context: ep->lock held.
 */
void srn_ep_set_deadline(struct srn_ep *ep, unsigned long delay)
{
	ep->deadline = jiffies + delay;
	srn_ep_queue_later(ep, delay);
}

static void ep_wake(struct sock *sk)
{
	struct srn_ep *ep;

	read_lock_bh(&sk->sk_callback_lock);
	ep = sk->sk_user_data;
	if (ep)
		srn_ep_queue(ep);
	read_unlock_bh(&sk->sk_callback_lock);
}

/**
 * srn_ep_hook - be woken by the endpoint's socket
 * @ep: endpoint
 *
 * Context: process, ep->lock held.
 */
void srn_ep_hook(struct srn_ep *ep)
{
	static const struct srn_sock_hooks hooks = {
		.data_ready = ep_wake, .state_change = ep_wake,
	};

	srn_sock_hook(ep->sock->sk, &hooks, ep);
}

/* The core expects IPv4 addresses as such, even those of a dual-stack socket. */
static void unmap_address(union srn_address *a)
{
	struct sockaddr_in6 in6 = a->in6;

	if (a->family != AF_INET6 || !ipv6_addr_v4mapped(&in6.sin6_addr))
		return;
	memset(a, 0, sizeof(*a));
	a->in.sin_family = AF_INET;
	a->in.sin_port = in6.sin6_port;
	a->in.sin_addr.s_addr = in6.sin6_addr.s6_addr32[3];
}

/**
 * srn_ep_note_addresses - remember both ends while the socket is still ours
 * @ep: endpoint with a connected socket
 *
 * Context: process, ep->lock held.
 *
 * Return: 0, or a negative errno if the socket is not connected any more.
 */
int srn_ep_note_addresses(struct srn_ep *ep)
{
	int ret = srn_sock_ends(ep->sock, &ep->local, &ep->remote);

	unmap_address(&ep->local);
	unmap_address(&ep->remote);
	return ret;
}

/**
 * srn_ep_find_request - the endpoint of a request that was reported
 * @cm_id: the core's identifier for it
 *
 * The core keeps a number, not a pointer: if it dropped the event, nobody would ever give back the
 * reference that goes with a pointer.
 *
 * Context: any.
 *
 * Return: endpoint, with a reference, or NULL if it is gone.
 */
struct srn_ep *srn_ep_find_request(struct iw_cm_id *cm_id)
{
	struct srn_device *dev = to_srn_dev(cm_id->device);
	struct srn_ep *ep;

	xa_lock_bh(&dev->requests);
	ep = xa_load(&dev->requests, (uintptr_t)cm_id->provider_data);
	if (ep)
		srn_ep_get(ep);
	xa_unlock_bh(&dev->requests);
	return ep;
}

/**
 * srn_ep_take_cm_id - keep the core's identifier
 * @ep: endpoint
 * @cm_id: connection
 *
 * Context: process, ep->lock held.
 */
void srn_ep_take_cm_id(struct srn_ep *ep, struct iw_cm_id *cm_id)
{
	lockdep_assert_held(&ep->lock.mutex);
	cm_id->add_ref(cm_id);
	ep->cm_id = cm_id;
}

/**
 * srn_ep_leave_half_open - a connection has made its request, or never will
 * @ep: endpoint of any kind
 *
 * Context: dev->lock held.
 */
void srn_ep_leave_half_open(struct srn_ep *ep)
{
	lockdep_assert_held(&ep->dev->lock);
	if (list_empty(&ep->half_open_node))
		return;
	list_del_init(&ep->half_open_node);
	ep->listener->num_half_open--;
}

static void let_go_of_socket(struct srn_ep *ep, bool polite)
{
	if (!ep->sock)
		return;
	srn_sock_unhook(ep->sock->sk);
	if (polite)
		srn_linger(ep->dev, ep->sock);
	else
		srn_sock_abort(ep->sock);
	ep->sock = NULL;
}

/**
 * srn_ep_end - a connection has ended, or the attempt to make it has failed
 * @ep: endpoint with a queue pair, of whose connection the core has been told
 * @status: 0, or a negative errno that says why there never was a connection
 * @polite: something was sent that the peer should read
 *
 * Socket and queue pair can be used for something else at once. The endpoint is closed when its
 * consumer has been told, which srn_report_ended() sees to.
 *
 * Context: process, ep->lock held.
 */
void srn_ep_end(struct srn_ep *ep, int status, bool polite)
{
	lockdep_assert_held(&ep->lock.mutex);
	let_go_of_socket(ep, polite);
	srn_binding_end(ep->qp, &ep->conn);
	ep->status = status;
	WRITE_ONCE(ep->state, SRN_EP_ENDED);
}

/**
 * srn_ep_close - the end of an endpoint
 * @ep: endpoint, not yet CLOSED; the reference of srn_ep_alloc() is dropped
 * @polite: something was sent that the peer should read
 *
 * Context: process, ep->lock held; the caller has a reference of its own.
 */
void srn_ep_close(struct srn_ep *ep, bool polite)
{
	struct srn_device *dev = ep->dev;

	lockdep_assert_held(&ep->lock.mutex);
	WRITE_ONCE(ep->state, SRN_EP_CLOSED);
	let_go_of_socket(ep, polite);
	/* The workqueue is destroyed with the link, so no timer may be left. */
	if (cancel_delayed_work(&ep->timer))
		srn_ep_put(ep);
	if (ep->qp) {
		srn_binding_end(ep->qp, &ep->conn);
		srn_qp_put(ep->qp);
		ep->qp = NULL;
	}
	if (ep->cm_id) {
		ep->cm_id->rem_ref(ep->cm_id);
		ep->cm_id = NULL;
	}
	if (ep->id) {
		xa_erase_bh(&dev->requests, ep->id);
		srn_limits_give(dev, SRN_LIMIT_REQUEST);
	}
	spin_lock_bh(&dev->lock);
	srn_ep_leave_half_open(ep);
	list_del_init(&ep->node);
	spin_unlock_bh(&dev->lock);
	srn_ep_put(ep);
}

/**
 * srn_ep_close_all - close what no consumer has taken care of
 * @dev: device without consumers
 *
 * The only connections left are those that were reported to a listener and forgotten, and those
 * that never got that far.
 *
 * Context: process.
 */
void srn_ep_close_all(struct srn_device *dev)
{
	struct srn_ep *ep;

	for (;;) {
		spin_lock_bh(&dev->lock);
		ep = list_first_entry_or_null(&dev->endpoints, struct srn_ep, node);
		if (ep)
			srn_ep_get(ep);
		spin_unlock_bh(&dev->lock);
		if (!ep)
			break;
		mutex_lock(&ep->lock.mutex);
		if (ep->state != SRN_EP_CLOSED)
			srn_ep_close(ep, false);
		srn_ep_unlock(ep);
		srn_ep_put(ep);
	}
	flush_workqueue(srn_wq);
	flush_workqueue(dev->cm_wq);
	flush_workqueue(dev->report_wq);
}
