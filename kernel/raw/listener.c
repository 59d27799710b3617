// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The port at which peers connect to queue pairs that are brought up by hand. It is open at an
 * address of a link from the first queue pair that waits there until the last of them has ended.
 *
 * A guest is a connection that no queue pair has taken yet. Its request decides: either a queue
 * pair takes the connection, or it is refused, and nothing is kept of it. While a process uses the
 * queue pair, nobody can tell, so the guest stays. One work accepts, and looks at all guests, so
 * they need no lock.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "../device/workqueues.h"
#include "../stream/acceptor.h"
#include "../stream/sock.h"
#include "listener.h"

#define BACKLOG		128
/* The guest that has been there for the longest makes room for another one. */
#define MAX_GUESTS	256
/* How long a guest may take to make its request, and to be taken then. */
#define REQUEST_TIMEOUT	(5 * HZ)
/* Delay until a guest is offered again to a queue pair that a process uses. */
#define BUSY_DELAY	1

struct srn_raw_listener {
	struct list_head node;		/* in listeners, under listeners_mutex */
	u32 users;			/* under listeners_mutex */
	struct srn_device *dev;
	union srn_address address;	/* with the port */
	srn_raw_offer offer;
	struct srn_acceptor acceptor;
	bool closing;			/* its work may run, but does nothing */
	struct list_head guests;	/* oldest first; only the work uses it */
	u32 num_guests;
};

struct guest {
	struct list_head node;
	struct socket *sock;		/* NULL: somebody else has it */
	struct srn_handshake request;
	unsigned long deadline;		/* jiffies */
};

static LIST_HEAD(listeners);
static DEFINE_MUTEX(listeners_mutex);

static void guest_leaves(struct srn_raw_listener *l, struct guest *g)
{
	list_del(&g->node);
	l->num_guests--;
	if (g->sock) {
		srn_sock_unhook(g->sock->sk);
		srn_sock_abort(g->sock);
	}
	srn_handshake_exit(&g->request);
	kfree(g);
}

static void guests_leave(struct srn_raw_listener *l)
{
	struct guest *g, *next;

	list_for_each_entry_safe(g, next, &l->guests, node)
		guest_leaves(l, g);
}

static void guest_spoke(struct sock *sk)
{
	struct srn_raw_listener *l;

	read_lock_bh(&sk->sk_callback_lock);
	l = sk->sk_user_data;
	if (l)
		mod_delayed_work(l->acceptor.wq, &l->acceptor.work, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

static struct guest *new_guest(struct socket *sock)
{
	struct guest *g = kzalloc(sizeof(*g), GFP_KERNEL);

	if (!g || srn_handshake_init(&g->request, GFP_KERNEL)) {
		kfree(g);
		return NULL;
	}
	g->sock = sock;
	g->deadline = jiffies + REQUEST_TIMEOUT;
	return g;
}

static void refuse(struct srn_raw_listener *l, const char *reason)
{
	srn_count(l->dev->counters, SRN_COUNT_REQUESTS_DROPPED);
	if (reason)
		srn_notice(l->dev, "a connection for a queue pair brought up by hand is refused: %s\n",
			   reason);
}

/*
 * Its socket is charged to nobody until a queue pair takes it. Its request may have come already;
 * the work looks once more before it ends.
 */
static void guest_comes(struct srn_acceptor *a, struct socket *sock)
{
	static const struct srn_sock_hooks hooks = {
		.data_ready = guest_spoke, .state_change = guest_spoke,
	};
	struct srn_raw_listener *l = container_of(a, struct srn_raw_listener, acceptor);
	struct guest *g = new_guest(sock);

	if (!g) {
		refuse(l, "no memory");
		srn_sock_abort(sock);
		return;
	}
	list_add_tail(&g->node, &l->guests);
	if (++l->num_guests > MAX_GUESTS) {
		refuse(l, "too many have made no request");
		guest_leaves(l, list_first_entry(&l->guests, struct guest, node));
	}
	srn_sock_hook(sock->sk, &hooks, l);
}

/* Return: jiffies until the guest has to be looked at again; 0 if it is done with. */
static unsigned long serve(struct srn_raw_listener *l, struct guest *g)
{
	unsigned long now = jiffies, left;
	const char *reason = NULL;
	int ret;

	left = time_before(now, g->deadline) ? g->deadline - now : 0;
	/* A request that is complete already is not read any more. */
	ret = srn_handshake_read(&g->request, g->sock, false);
	if (ret == -EAGAIN && left)
		return left;
	if (ret) {
		refuse(l, srn_handshake_no_request(ret));
		return 0;
	}
	srn_sock_unhook(g->sock->sk);
	ret = l->offer(l->dev, g->sock, &g->request, &reason);
	/* It waits without callbacks. If the peer resets it meanwhile, nobody can take it. */
	if (ret == -EAGAIN && left)
		return BUSY_DELAY;
	if (ret)
		refuse(l, reason);
	else
		g->sock = NULL;
	return 0;
}

static void serve_guests(struct srn_raw_listener *l)
{
	unsigned long delay = 0, again;
	struct guest *g, *next;

	srn_acceptor_run(&l->acceptor, guest_comes);
	list_for_each_entry_safe(g, next, &l->guests, node) {
		again = serve(l, g);
		if (again)
			delay = min_not_zero(delay, again);
		else
			guest_leaves(l, g);
	}
	/* It may be queued for an earlier time already. */
	if (delay)
		queue_delayed_work(l->acceptor.wq, &l->acceptor.work, delay);
}

/* Ends of connections wait for this in the end, so it must not wait for write-back. */
static void listener_work(struct work_struct *work)
{
	struct srn_raw_listener *l = container_of(to_delayed_work(work), struct srn_raw_listener,
						  acceptor.work);
	unsigned int noio = memalloc_noio_save();

	if (!READ_ONCE(l->closing))
		serve_guests(l);
	memalloc_noio_restore(noio);
}

static struct srn_raw_listener *new_listener(struct srn_device *dev,
					     const union srn_address *address,
					     srn_raw_offer offer)
{
	struct srn_raw_listener *l;
	int ret;

	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return ERR_PTR(-ENOMEM);
	l->dev = dev;
	l->address = *address;
	l->offer = offer;
	l->acceptor.wq = dev->raw_wq;
	INIT_DELAYED_WORK(&l->acceptor.work, listener_work);
	INIT_LIST_HEAD(&l->guests);
	ret = srn_acceptor_open(&l->acceptor, dev->net, (struct sockaddr *)&l->address, true,
				BACKLOG);
	if (ret) {
		srn_notice(dev, "cannot listen at %pISpc for queue pairs brought up by hand: error %d\n",
			   address, ret);
		kfree(l);
		return ERR_PTR(ret);
	}
	list_add(&l->node, &listeners);
	return l;
}

/* What a worker does for srn_raw_listener_get(). */
struct get_request {
	struct work_struct work;
	struct srn_device *dev;
	const union srn_address *address;
	srn_raw_offer offer;
	struct srn_raw_listener *listener;	/* the answer: it, or an error pointer */
};

static struct srn_raw_listener *find_listener(const struct get_request *r)
{
	struct srn_raw_listener *l;

	lockdep_assert_held(&listeners_mutex);
	list_for_each_entry(l, &listeners, node)
		if (l->dev == r->dev && !memcmp(&l->address, r->address, sizeof(*r->address)))
			return l;
	return NULL;
}

static void get_listener(struct work_struct *work)
{
	struct get_request *r = container_of(work, struct get_request, work);
	unsigned int noio;

	mutex_lock(&listeners_mutex);
	noio = memalloc_noio_save();
	r->listener = find_listener(r) ?: new_listener(r->dev, r->address, r->offer);
	if (!IS_ERR(r->listener))
		r->listener->users++;
	memalloc_noio_restore(noio);
	mutex_unlock(&listeners_mutex);
}

/* @work lies on the stack of the caller, who waits for it. */
static void run_by_worker(struct work_struct *work)
{
	queue_work(srn_wq, work);
	flush_work(work);
	destroy_work_on_stack(work);
}

/**
 * srn_raw_listener_get - keep the port of a link open
 * @dev: link
 * @address: one of its addresses, and the port
 * @offer: whom to ask who takes a connection; the same for all
 *
 * A worker does it: the port belongs to the link, and not to the process that happens to need it
 * first, which may have no right to open it, and may be stopped by its cgroup at any moment.
 *
 * Context: process, sleeps.
 *
 * Return: listener, or an error pointer: -EADDRINUSE if somebody else listens there.
 */
struct srn_raw_listener *srn_raw_listener_get(struct srn_device *dev,
					      const union srn_address *address,
					      srn_raw_offer offer)
{
	struct get_request request = { .dev = dev, .address = address, .offer = offer };

	INIT_WORK_ONSTACK(&request.work, get_listener);
	run_by_worker(&request.work);
	return request.listener;
}

static void close_listener(struct srn_raw_listener *l)
{
	struct guest *g;

	WRITE_ONCE(l->closing, true);
	srn_acceptor_close(&l->acceptor);
	list_for_each_entry(g, &l->guests, node)
		srn_sock_unhook(g->sock->sk);
	/* A guest may have queued it meanwhile. */
	cancel_delayed_work_sync(&l->acceptor.work);
	guests_leave(l);
	kfree(l);
}

/* What a worker does for srn_raw_listener_put(). */
struct put_request {
	struct work_struct work;
	struct srn_raw_listener *listener;
};

static void put_listener(struct srn_raw_listener *l)
{
	/* Until the end: whoever needs the port next has to find it free. */
	mutex_lock(&listeners_mutex);
	if (!--l->users) {
		list_del(&l->node);
		close_listener(l);
	}
	mutex_unlock(&listeners_mutex);
}

static void put_work(struct work_struct *work)
{
	put_listener(container_of(work, struct put_request, work)->listener);
}

/**
 * srn_raw_listener_put - undo srn_raw_listener_get()
 * @l: listener
 *
 * A worker does it, as there: others wait for the mutex.
 *
 * Context: process, not the link's raw_wq; no lock held; sleeps.
 */
void srn_raw_listener_put(struct srn_raw_listener *l)
{
	struct put_request request = { .listener = l };

	/* A worker that waited for another one could keep that from being run. */
	if (current->flags & PF_WQ_WORKER) {
		put_listener(l);
		return;
	}
	INIT_WORK_ONSTACK(&request.work, put_work);
	run_by_worker(&request.work);
}
