// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A socket that listens, and the work that accepts its connections.
 */
#include <net/inet_connection_sock.h>
#include <net/tcp_states.h>

#include "../compat/compat.h"
#include "acceptor.h"
#include "address.h"
#include "keepalive.h"
#include "sock.h"

/* Connections that are accepted in a row before others of the workqueue have their turn. */
#define BUDGET		64
/* Delay until a connection is accepted for which there was no memory, or no file. */
#define RETRY_DELAY	msecs_to_jiffies(100)

/*
 * A connection that waits to be accepted has inherited this callback and the user data, so it acts
 * only for a socket that listens.
 */
static void data_ready(struct sock *sk)
{
	struct srn_acceptor *a;

	read_lock_bh(&sk->sk_callback_lock);
	a = sk->sk_user_data;
	if (sk->sk_state == TCP_LISTEN && a)
		mod_delayed_work(a->wq, &a->work, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

/*
 * An administrator may have TCP Fast Open for each listener. Connections would be accepted with the
 * SYN then, before the peer has shown that it has its address, and their data may be repeated.
 */
static void refuse_early_data(struct sock *sk)
{
	WRITE_ONCE(inet_csk(sk)->icsk_accept_queue.fastopenq.max_qlen, 0);
}

/**
 * srn_acceptor_open - bind a socket and listen at it
 * @a: acceptor, whose @wq and @work are set
 * @net: network namespace
 * @address: where, an IPv4 or IPv6 address with a port
 * @v6only: an IPv6 address is not for IPv4 as well
 * @backlog: connections that may wait to be accepted
 *
 * Context: process, sleeps. srn_acceptor_close() undoes it.
 *
 * Return: 0 or a negative errno.
 */
int srn_acceptor_open(struct srn_acceptor *a, struct net *net, struct sockaddr *address,
		      bool v6only, int backlog)
{
	static const struct srn_sock_hooks hooks = { .data_ready = data_ready };
	struct socket *sock;
	int ret;

	ret = srn_sock_create(net, address->sa_family, &sock);
	if (ret)
		return ret;
	if (address->sa_family == AF_INET6)
		sock->sk->sk_ipv6only = v6only;
	a->sock = sock;
	sock_set_reuseaddr(sock->sk);
	ret = kernel_bind(sock, srn_sockaddr(address), srn_address_len(address->sa_family));
	if (ret)
		goto release;
	srn_sock_hook(sock->sk, &hooks, a);
	ret = kernel_listen(sock, backlog);
	if (!ret) {
		refuse_early_data(sock->sk);
		return 0;
	}
	srn_sock_unhook(sock->sk);
release:
	sock_release(sock);
	return ret;
}

/**
 * srn_acceptor_run - accept the connections that wait
 * @a: acceptor
 * @take: whom each of them is given
 *
 * @a->work is queued again where some are left.
 *
 * Context: @a->work; sleeps.
 */
void srn_acceptor_run(struct srn_acceptor *a, srn_acceptor_take take)
{
	unsigned long delay = 0;
	struct socket *sock;
	int left, ret;

	for (left = BUDGET; left; left--) {
		ret = kernel_accept(a->sock, &sock, O_NONBLOCK);
		if (ret == -EAGAIN || ret == -EINVAL)
			return;
		if (ret) {
			/* No callback comes again for connections that are waiting already. */
			delay = RETRY_DELAY;
			break;
		}
		cond_resched();
		srn_sock_unhook(sock->sk);
		srn_sock_setup(sock);
		srn_keepalive_start(sock);
		take(a, sock);
	}
	queue_delayed_work(a->wq, &a->work, delay);
}

/**
 * srn_acceptor_close - accept nothing any more
 * @a: acceptor
 *
 * Context: process, not @a->work; holds nothing that the work waits for; sleeps.
 */
void srn_acceptor_close(struct srn_acceptor *a)
{
	srn_sock_unhook(a->sock->sk);
	cancel_delayed_work_sync(&a->work);
	sock_release(a->sock);
}
