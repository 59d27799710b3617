// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The port at which peers connect to queue pairs that are brought up by hand. It is open at an
 * address of a link from the first queue pair that waits there until the last of them has ended.
 *
 * A pending connection is one that no queue pair has taken yet. Its request decides: either a queue
 * pair takes the connection, or it is refused, and nothing is kept of it. While a process uses the
 * queue pair, nobody can tell, so it stays. One work accepts, and looks at all that are pending, so
 * they need no lock.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "../device/workqueues.h"
#include "../stream/acceptor.h"
#include "../stream/sock.h"
#include "listener.h"

#define BACKLOG		128
/* The one that has been pending for the longest makes room for another one. */
#define MAX_PENDING	256
/* The same among those of one source, which leaves room for others. A backlog of them is fine. */
#define MAX_PENDING_OF_SOURCE	192
/* How long a connection may take to make its request, and to be taken then. */
#define REQUEST_TIMEOUT	(5 * HZ)
/* Delay until a connection is offered again to a queue pair that a process uses. */
#define BUSY_DELAY	1

struct srn_raw_listener {
	struct list_head node;		/* in listeners, under listeners_mutex */
	u32 users;			/* under listeners_mutex */
	struct srn_device *dev;
	union srn_address address;	/* with the port */
	srn_raw_offer offer;
	struct srn_acceptor acceptor;
	bool closing;			/* its work may run, but does nothing */
	struct list_head pending;	/* oldest first; only the work uses it */
	u32 num_pending;
};

struct pending_conn {
	struct list_head node;
	struct srn_raw_listener *listener;
	struct srn_raw_initiator initiator;	/* its socket is NULL if somebody else has it */
	u64 source;			/* see source_of() */
	u32 spoke;			/* 1: something has happened on its socket */
	unsigned long next;		/* when to look at it anyway, in jiffies */
	unsigned long deadline;		/* jiffies */
};

static LIST_HEAD(listeners);
static DEFINE_MUTEX(listeners_mutex);

static void drop_pending(struct srn_raw_listener *l, struct pending_conn *c)
{
	list_del(&c->node);
	l->num_pending--;
	if (c->initiator.sock) {
		srn_sock_unhook(c->initiator.sock->sk);
		srn_sock_abort(c->initiator.sock);
	}
	srn_handshake_exit(&c->initiator.request);
	srn_handshake_exit(&c->initiator.proof);
	kfree(c);
}

static void drop_all_pending(struct srn_raw_listener *l)
{
	struct pending_conn *c, *next;

	list_for_each_entry_safe(c, next, &l->pending, node)
		drop_pending(l, c);
}

static void pending_spoke(struct sock *sk)
{
	struct pending_conn *c;

	read_lock_bh(&sk->sk_callback_lock);
	c = sk->sk_user_data;
	if (c) {
		WRITE_ONCE(c->spoke, 1);
		mod_delayed_work(c->listener->acceptor.wq, &c->listener->acceptor.work, 0);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

/* An IPv4 address, or a network of IPv6, since one host may have all of its addresses. */
static u64 source_of(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	const __be32 *to = sk->sk_v6_daddr.s6_addr32;

	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr))
		return (u64)be32_to_cpu(to[0]) << 32 | be32_to_cpu(to[1]);
#endif
	return be32_to_cpu(sk->sk_daddr);
}

static struct pending_conn *new_pending(struct srn_raw_listener *l, struct socket *sock)
{
	struct pending_conn *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c || srn_handshake_init(&c->initiator.request, GFP_KERNEL)) {
		kfree(c);
		return NULL;
	}
	c->listener = l;
	c->initiator.sock = sock;
	c->source = source_of(sock->sk);
	c->deadline = jiffies + REQUEST_TIMEOUT;
	c->next = jiffies;
	return c;
}

static void refuse(struct srn_raw_listener *l, const char *reason)
{
	srn_count(l->dev->counters, SRN_COUNT_REQUESTS_DROPPED);
	if (reason)
		srn_notice(l->dev, "a connection for a queue pair brought up by hand is refused: %s\n",
			   reason);
}

static void hook(struct pending_conn *c)
{
	static const struct srn_sock_hooks hooks = {
		.data_ready = pending_spoke, .state_change = pending_spoke,
	};

	srn_sock_hook(c->initiator.sock->sk, &hooks, c);
}

/* Return: the one that has to go, since there is one more of a source; NULL: there is room. */
static struct pending_conn *find_crowded_out(struct srn_raw_listener *l, u64 source)
{
	struct pending_conn *c, *oldest = NULL;
	u32 num = 0;

	list_for_each_entry(c, &l->pending, node) {
		if (c->source != source)
			continue;
		oldest = oldest ?: c;
		if (++num > MAX_PENDING_OF_SOURCE)
			return oldest;
	}
	if (l->num_pending <= MAX_PENDING)
		return NULL;
	return list_first_entry(&l->pending, struct pending_conn, node);
}

/*
 * Its socket is charged to nobody until a queue pair takes it. Its request may have come already;
 * the work looks once more before it ends.
 */
static void add_pending(struct srn_acceptor *a, struct socket *sock)
{
	struct srn_raw_listener *l = container_of(a, struct srn_raw_listener, acceptor);
	struct pending_conn *c = new_pending(l, sock), *crowded_out;

	if (!c) {
		refuse(l, "no memory");
		srn_sock_abort(sock);
		return;
	}
	list_add_tail(&c->node, &l->pending);
	l->num_pending++;
	crowded_out = find_crowded_out(l, c->source);
	if (crowded_out) {
		refuse(l, "too many have made no request");
		drop_pending(l, crowded_out);
	}
	hook(c);
}

/* As srn_handshake_read(), of all that it has to send. What is complete is not read any more. */
static int read_initiator(struct srn_raw_initiator *i)
{
	int ret = srn_handshake_read(&i->request, i->sock, false);

	if (!ret && i->proof.in)
		ret = srn_handshake_read(&i->proof, i->sock, false);
	return ret;
}

/* Return: jiffies until the connection has to be looked at again; 0 if it is done with. */
static unsigned long serve(struct srn_raw_listener *l, struct pending_conn *c)
{
	struct srn_raw_initiator *i = &c->initiator;
	unsigned long now = jiffies, left;
	const char *reason = NULL;
	int ret;

	left = time_before(now, c->deadline) ? c->deadline - now : 0;
	ret = read_initiator(i);
	if (ret == -EAGAIN && left)
		return left;
	if (ret) {
		refuse(l, i->proof.in ? "no proof that it knows the secret" :
					srn_handshake_no_request(ret));
		return 0;
	}
	srn_sock_unhook(i->sock->sk);
	ret = l->offer(l->dev, i, &reason);
	/* The proof may have come before the callbacks are there. */
	if (ret == -EINPROGRESS)
		hook(c);
	/* It waits without callbacks. If the peer resets it meanwhile, nobody can take it. */
	if ((ret == -EAGAIN || ret == -EINPROGRESS) && left)
		return BUSY_DELAY;
	if (ret)
		refuse(l, reason);
	else
		i->sock = NULL;
	return 0;
}

/* Strangers shall not cost the time of all others whenever they say something. */
static bool is_due(struct pending_conn *c)
{
	return xchg(&c->spoke, 0) || time_after_eq(jiffies, c->next);
}

static void serve_pending(struct srn_raw_listener *l)
{
	unsigned long delay = 0, again;
	struct pending_conn *c, *next;

	srn_acceptor_run(&l->acceptor, add_pending);
	list_for_each_entry_safe(c, next, &l->pending, node) {
		if (is_due(c)) {
			again = serve(l, c);
			if (!again) {
				drop_pending(l, c);
				continue;
			}
			c->next = jiffies + again;
		}
		delay = min_not_zero(delay, time_before(jiffies, c->next) ? c->next - jiffies : 1);
	}
	/* It may be queued for an earlier time already. */
	if (delay)
		queue_delayed_work(l->acceptor.wq, &l->acceptor.work, delay);
}

/* Whoever closes the listener waits for this, as ends of connections do: no write-back in here. */
static void listener_work(struct work_struct *work)
{
	struct srn_raw_listener *l = container_of(to_delayed_work(work), struct srn_raw_listener,
						  acceptor.work);
	unsigned int noio = memalloc_noio_save();

	if (!READ_ONCE(l->closing))
		serve_pending(l);
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
	INIT_LIST_HEAD(&l->pending);
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
	queue_work(srn_accept_wq, work);
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
	struct pending_conn *c;

	WRITE_ONCE(l->closing, true);
	srn_acceptor_close(&l->acceptor);
	list_for_each_entry(c, &l->pending, node)
		srn_sock_unhook(c->initiator.sock->sk);
	/* A connection may have queued it meanwhile. */
	cancel_delayed_work_sync(&l->acceptor.work);
	drop_all_pending(l);
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
 * A worker does it, as there: a process without a CPU must not hold the mutex.
 *
 * Context: process, not the link's raw_wq; no lock held; sleeps.
 */
void srn_raw_listener_put(struct srn_raw_listener *l)
{
	struct put_request request = { .listener = l };

	/* If all workers waited here for another one there would be none to run it. */
	if (current->flags & PF_WQ_WORKER) {
		put_listener(l);
		return;
	}
	INIT_WORK_ONSTACK(&request.work, put_work);
	run_by_worker(&request.work);
}
