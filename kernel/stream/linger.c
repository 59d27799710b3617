// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Closing a socket without losing what was sent last.
 */
#include <linux/slab.h>
#include <net/tcp.h>

#include "../device/device.h"
#include "../device/workqueues.h"
#include "linger.h"
#include "sock.h"

#define LINGER_TIME	(5 * HZ)
#define LINGER_MAX	1024

struct lingering {
	struct srn_device *dev;
	struct socket *sock;
	struct list_head node;		/* in dev->lingering, under dev->lock */
	struct delayed_work work;
};

static int drop_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset,
		      size_t len)
{
	return len;
}

static void drop_input(struct sock *sk)
{
	read_descriptor_t desc = { .count = 1 };

	tcp_read_sock(sk, &desc, drop_actor);
}

/* Both directions are closed and acknowledged. */
static bool all_done(const struct sock *sk)
{
	return sk->sk_state == TCP_CLOSE;
}

static void linger_state_change(struct sock *sk)
{
	struct lingering *l;

	read_lock_bh(&sk->sk_callback_lock);
	l = sk->sk_user_data;
	if (l && all_done(sk))
		mod_delayed_work(srn_wq, &l->work, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

static const struct srn_sock_hooks linger_hooks = {
	.data_ready = drop_input,
	.state_change = linger_state_change,
};

/* Neither its callbacks nor its work run any more. */
static void linger_release(struct lingering *l)
{
	srn_sock_leave(l->sock);
	kfree(l);
}

/* Whoever takes it off the list releases it. */
static void linger_remove(struct srn_device *dev, struct lingering *l)
{
	lockdep_assert_held(&dev->lock);
	list_del_init(&l->node);
	dev->num_lingering--;
}

static void linger_work(struct work_struct *work)
{
	struct lingering *l = container_of(to_delayed_work(work), struct lingering, work);
	struct srn_device *dev = l->dev;
	bool mine;

	spin_lock_bh(&dev->lock);
	mine = !list_empty(&l->node);
	if (mine)
		linger_remove(dev, l);
	spin_unlock_bh(&dev->lock);
	if (!mine)
		return;
	srn_sock_unhook(l->sock->sk);
	/* A state change since this work began to run may have queued it once more. */
	cancel_delayed_work(&l->work);
	linger_release(l);
}

/**
 * srn_linger - close a socket in good order
 * @dev: link that it belongs to
 * @sock: socket without callbacks; not the caller's any more
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_linger(struct srn_device *dev, struct socket *sock)
{
	struct lingering *l = kzalloc(sizeof(*l), GFP_NOIO | __GFP_NOWARN);
	struct sock *sk = sock->sk;
	bool keep;

	kernel_sock_shutdown(sock, SHUT_WR);
	if (!l) {
		srn_sock_leave(sock);
		return;
	}
	l->dev = dev;
	l->sock = sock;
	INIT_LIST_HEAD(&l->node);
	INIT_DELAYED_WORK(&l->work, linger_work);
	lock_sock(sk);
	srn_sock_hook(sk, &linger_hooks, l);
	drop_input(sk);
	release_sock(sk);

	spin_lock_bh(&dev->lock);
	keep = !READ_ONCE(dev->closing) && dev->num_lingering < LINGER_MAX && !all_done(sk);
	if (keep) {
		list_add(&l->node, &dev->lingering);
		dev->num_lingering++;
		queue_delayed_work(srn_wq, &l->work, LINGER_TIME);
	}
	/* A state change that came before the socket was on the list must not be missed. */
	if (keep && all_done(sk))
		mod_delayed_work(srn_wq, &l->work, 0);
	spin_unlock_bh(&dev->lock);
	if (!keep) {
		srn_sock_unhook(sk);
		cancel_delayed_work_sync(&l->work);
		linger_release(l);
	}
}

/**
 * srn_linger_flush - release all lingering sockets of a link that goes away
 * @dev: link, marked as closing
 *
 * Context: process, sleeps.
 */
void srn_linger_flush(struct srn_device *dev)
{
	struct lingering *l;

	for (;;) {
		spin_lock_bh(&dev->lock);
		l = list_first_entry_or_null(&dev->lingering, struct lingering, node);
		if (l)
			linger_remove(dev, l);
		spin_unlock_bh(&dev->lock);
		if (!l)
			break;
		srn_sock_unhook(l->sock->sk);
		cancel_delayed_work_sync(&l->work);
		linger_release(l);
	}
	/* Work items that have taken their socket off the list may still be releasing it. */
	flush_workqueue(srn_wq);
}
