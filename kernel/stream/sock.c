// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sockets: how they come and go, who is called when something happens to one, and sending.
 */
#include <linux/net.h>
#include <net/tcp.h>

#include "../compat/compat.h"
#include "sock.h"

/* TCP's own callbacks, the same for all sockets; write_space wakes whoever sleeps in sendmsg. */
static struct srn_sock_hooks tcp_hooks;

/* When TCP is left to end a connection, the peer has so many seconds for each step of that. */
#define LEFT_TIME	15

static void no_callback(struct sock *sk)
{
}

/**
 * srn_sock_hook - set the callbacks of a socket
 * @sk: socket
 * @hooks: whom to call; for a missing hook nobody is called
 * @user: their sk_user_data
 *
 * Context: any but the callbacks themselves.
 */
void srn_sock_hook(struct sock *sk, const struct srn_sock_hooks *hooks, void *user)
{
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = user;
	sk->sk_data_ready = hooks->data_ready ?: no_callback;
	sk->sk_write_space = hooks->write_space ?: no_callback;
	sk->sk_state_change = hooks->state_change ?: no_callback;
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * srn_sock_unhook - remove the callbacks of a socket
 * @sk: socket
 *
 * No callback is still running when this returns.
 *
 * Context: any but the callbacks themselves.
 */
void srn_sock_unhook(struct sock *sk)
{
	static const struct srn_sock_hooks none;

	srn_sock_hook(sk, &none, NULL);
}

/**
 * srn_sock_allow_waiting - let a sender sleep for room in the socket
 * @sk: socket without callbacks
 *
 * Context: any but the callbacks themselves.
 */
void srn_sock_allow_waiting(struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_write_space = tcp_hooks.write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * srn_sock_setup - options that every socket of ours has
 * @sock: TCP socket
 *
 * Context: process.
 */
void srn_sock_setup(struct socket *sock)
{
	/* Consumers write back memory through our sockets, which must never wait for that. */
	sock->sk->sk_allocation = GFP_NOIO;
	srn_compat_sock_use_task_frag(sock->sk, false);
	tcp_sock_set_nodelay(sock->sk);
}

/**
 * srn_sock_create - create a TCP socket that sends at once and never waits for write-back
 * @net: network namespace; the socket does not keep it alive, the link does
 * @family: AF_INET or AF_INET6
 * @sock: result
 *
 * Context: process.
 *
 * Return: 0 or a negative errno.
 */
int srn_sock_create(struct net *net, int family, struct socket **sock)
{
	int ret;

	ret = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, sock);
	if (ret)
		return ret;
	WRITE_ONCE(tcp_hooks.data_ready, (*sock)->sk->sk_data_ready);
	WRITE_ONCE(tcp_hooks.write_space, (*sock)->sk->sk_write_space);
	WRITE_ONCE(tcp_hooks.state_change, (*sock)->sk->sk_state_change);
	srn_sock_setup(*sock);
	return 0;
}

/**
 * srn_sock_connected - how an attempt to connect goes
 * @sk: TCP socket for which kernel_connect() has been called
 *
 * Context: any.
 *
 * Return: 0 once it is connected, also if the peer has sent its FIN already; -EINPROGRESS; or why
 * it has failed.
 */
int srn_sock_connected(struct sock *sk)
{
	switch (sk->sk_state) {
	case TCP_ESTABLISHED:
	case TCP_CLOSE_WAIT:
		return 0;
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return -EINPROGRESS;
	default:
		return sock_error(sk) ?: -ECONNRESET;
	}
}

/**
 * srn_sock_ends - the addresses of both ends
 * @sock: TCP socket that was connected
 * @local: result: this end's, with the port
 * @remote: result: the peer's, with the port
 *
 * Context: process, sleeps for the socket lock.
 *
 * Return: 0, or a negative errno if the socket is not connected any more.
 */
int srn_sock_ends(struct socket *sock, union srn_address *local, union srn_address *remote)
{
	int ret;

	ret = kernel_getsockname(sock, (struct sockaddr *)local);
	if (ret >= 0)
		ret = kernel_getpeername(sock, (struct sockaddr *)remote);
	return min(ret, 0);
}

/**
 * srn_sock_share_fragment - choose the page fragment that TCP copies through
 * @sock: connected TCP socket
 * @share: use that of the task that sends, as any program's socket does; else the socket's own
 *
 * A socket's own fragment has 32 KiB, which an idle connection keeps. A caller that sends with a
 * shared fragment is never in the middle of another socket's sendmsg. It keeps itself from waiting
 * for write-back (memalloc_noio_save()), because up to 6.1 TCP uses the task's fragment only if
 * sk_allocation is GFP_KERNEL.
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_sock_share_fragment(struct socket *sock, bool share)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
	sk->sk_allocation = share ? GFP_KERNEL : GFP_NOIO;
	srn_compat_sock_use_task_frag(sk, share);
	if (share && sk->sk_frag.page) {
		put_page(sk->sk_frag.page);
		sk->sk_frag.page = NULL;
	}
	release_sock(sk);
}

static bool shares_fragment(gfp_t allocation)
{
	return allocation == GFP_KERNEL;
}

/**
 * srn_sock_begin_softirq - send with memory that a softirq may take, from now on
 * @sk: TCP socket
 * @frag: page fragment to copy through, if the socket has none of its own
 *
 * The fragment of the interrupted task is not used: that task may be using it right now.
 *
 * Context: softirq, the socket locked and not owned.
 *
 * Return: what srn_sock_end_softirq() has to be told.
 */
gfp_t srn_sock_begin_softirq(struct sock *sk, struct page_frag *frag)
{
	gfp_t before = sk->sk_allocation;

	sk->sk_allocation = GFP_ATOMIC | __GFP_NOWARN;
	srn_compat_sock_use_task_frag(sk, false);
	if (shares_fragment(before))
		swap(sk->sk_frag, *frag);
	return before;
}

/**
 * srn_sock_end_softirq - undo srn_sock_begin_softirq()
 * @sk: TCP socket
 * @frag: the same page fragment
 * @before: what srn_sock_begin_softirq() has returned
 *
 * Context: softirq, the socket locked and not owned.
 */
void srn_sock_end_softirq(struct sock *sk, struct page_frag *frag, gfp_t before)
{
	if (shares_fragment(before))
		swap(sk->sk_frag, *frag);
	srn_compat_sock_use_task_frag(sk, shares_fragment(before));
	sk->sk_allocation = before;
}

/**
 * srn_sock_send_locked - one sendmsg on a socket that is locked
 * @sk: TCP socket
 * @iter: what to send; moves on
 * @flags: MSG_*
 *
 * Context: any, the socket is locked; without MSG_DONTWAIT it sleeps for room.
 *
 * Return: bytes sent, or a negative errno.
 */
int srn_sock_send_locked(struct sock *sk, struct iov_iter *iter, int flags)
{
	struct msghdr msg = { .msg_flags = flags | MSG_NOSIGNAL, .msg_iter = *iter };
	int ret = tcp_sendmsg_locked(sk, &msg, msg_data_left(&msg));

	if (ret > 0)
		iov_iter_advance(iter, ret);
	return ret ?: -EPIPE;
}

/**
 * srn_sock_send - one sendmsg
 * @sock: TCP socket
 * @iter: what to send; moves on
 * @flags: MSG_*
 *
 * This does what sock_sendmsg() does, except that it does not ask each security module about a
 * socket of the kernel, which they all let pass.
 *
 * Context: process, sleeps for the socket lock.
 *
 * Return: bytes sent, or a negative errno.
 */
int srn_sock_send(struct socket *sock, struct iov_iter *iter, int flags)
{
	struct sock *sk = sock->sk;
	int ret;

	sock_rps_record_flow(sk);
	lock_sock(sk);
	ret = srn_sock_send_locked(sk, iter, flags);
	release_sock(sk);
	return ret;
}

/**
 * srn_sock_abort - release a socket that nobody has a use for any more
 * @sock: socket without callbacks
 *
 * The peer gets a reset if there is a connection, and nothing stays behind.
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_sock_abort(struct socket *sock)
{
	sock_no_linger(sock->sk);
	sock_release(sock);
}

/**
 * srn_sock_leave - release a socket and leave the rest of its close to TCP
 * @sock: socket without callbacks
 *
 * TCP goes on to send what the peer has not acknowledged, as it does for a program that has closed
 * its socket, but for a limited time, because the namespace and the links in it stay meanwhile. If
 * the namespace is going away already the connection is reset.
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_sock_leave(struct socket *sock)
{
	struct sock *sk = sock->sk;
	bool held;

	/* The socket may outlast this module. */
	srn_sock_hook(sk, &tcp_hooks, NULL);
	lock_sock(sk);
	WRITE_ONCE(inet_csk(sk)->icsk_user_timeout, LEFT_TIME * MSEC_PER_SEC);
	WRITE_ONCE(tcp_sk(sk)->linger2, LEFT_TIME * HZ);
	held = sk->sk_state == TCP_CLOSE || srn_compat_sock_hold_net(sk);
	release_sock(sk);
	if (held)
		sock_release(sock);
	else
		srn_sock_abort(sock);
}
