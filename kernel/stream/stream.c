// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Life of a stream: taking over a socket, giving it back.
 */
#include <linux/sched/mm.h>
#include <net/tcp.h>

#include "charge.h"
#include "direct.h"
#include "engines.h"
#include "hold.h"
#include "reassembly.h"
#include "sock.h"
#include "tx.h"

static void stream_data_ready(struct sock *sk)
{
	struct srn_stream *s;

	read_lock_bh(&sk->sk_callback_lock);
	s = sk->sk_user_data;
	if (s)
		srn_rx_input(s, sk);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void stream_write_space(struct sock *sk)
{
	struct srn_stream *s;

	read_lock_bh(&sk->sk_callback_lock);
	s = sk->sk_user_data;
	if (s && sk_stream_is_writeable(sk)) {
		clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		srn_tx_kick_async(s);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

/* The peer has closed its half; what it sent before may still be waiting to be read. */
static bool peer_closed(const struct sock *sk)
{
	return sk->sk_state != TCP_ESTABLISHED && sk->sk_state != TCP_FIN_WAIT1 &&
	       sk->sk_state != TCP_FIN_WAIT2 && sk->sk_state != TCP_SYN_RECV;
}

static void report_close(struct srn_stream *s, const struct sock *sk)
{
	if (peer_closed(sk))
		s->ops->ended(s, sk->sk_err ? SRN_END_BROKEN : SRN_END_PEER_CLOSED);
}

static void stream_state_change(struct sock *sk)
{
	struct srn_stream *s;

	read_lock_bh(&sk->sk_callback_lock);
	s = sk->sk_user_data;
	if (s)
		report_close(s, sk);
	read_unlock_bh(&sk->sk_callback_lock);
}

static const struct srn_sock_hooks stream_hooks = {
	.data_ready = stream_data_ready,
	.write_space = stream_write_space,
	.state_change = stream_state_change,
};

static void receive_again(struct work_struct *work)
{
	srn_stream_drain(container_of(to_delayed_work(work), struct srn_stream, rx_work));
}

/**
 * srn_stream_init - prepare a stream that has no socket yet, once in its life
 * @s: stream
 * @ops: what to do with messages
 * @payer: cgroup to which its memory is charged, or NULL for the kernel's; it outlasts the stream
 *
 * Context: process.
 */
void srn_stream_init(struct srn_stream *s, const struct srn_stream_ops *ops,
		     struct mem_cgroup *payer)
{
	memset(s, 0, sizeof(*s));
	s->ops = ops;
	s->payer = payer;
	tasklet_setup(&s->tx_tasklet, srn_tx_softirq);
	INIT_DELAYED_WORK(&s->tx_work, srn_tx_work);
	srn_hold_init(s);
	INIT_DELAYED_WORK(&s->rx_work, receive_again);
	atomic_set(&s->tx_role, SRN_TX_TAKEN);
}

/**
 * srn_stream_exit - the end of a stream that has no socket any more
 * @s: stream
 *
 * Context: process, sleeps.
 */
void srn_stream_exit(struct srn_stream *s)
{
	tasklet_kill(&s->tx_tasklet);
	cancel_delayed_work_sync(&s->tx_work);
}

/**
 * srn_stream_attach - give a stream its socket
 * @s: initialised stream
 * @sock: connected socket behind its MPA set-up
 * @params: what the set-up agreed on
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_stream_attach(struct srn_stream *s, struct socket *sock,
		       const struct srn_stream_params *params)
{
	s->sock = sock;
	s->counters = params->counters;
	srn_charge_sock(sock->sk, s->payer);
	srn_framer_init(&s->framer, params->crc, params->tx_markers);
	s->large_fpdus = false;
	if (params->large_fpdus)
		srn_stream_allow_large_fpdus(s);
	s->tx_hold = params->hold_tx;
	s->tx_stopped = false;
	s->tx_shut = false;
	s->tx_path = SRN_PATH_TCP;
	s->rx_stopped = false;
	s->rx_starved = false;
	s->rx_segment_waits = false;
	s->rx_memory_came = false;
	s->rx_held = false;
	s->rx_more = false;
	memset(&s->msg, 0, sizeof(s->msg));
	srn_fpdu_init(&s->parser, params->crc, params->rx_markers);
	if (params->process)
		srn_sock_share_fragment(sock, true);
}

/**
 * srn_stream_allow_large_fpdus - FPDUs may exceed a TCP segment from now on
 * @s: attached stream
 *
 * With markers they do not: a peer would have to keep all of an FPDU until its end arrives.
 *
 * Context: any.
 */
void srn_stream_allow_large_fpdus(struct srn_stream *s)
{
	WRITE_ONCE(s->large_fpdus, !s->framer.markers);
}

/**
 * srn_stream_detach - take a stream's socket away again
 * @s: stream that was not started
 *
 * The socket stays charged, and has the options of a stream: its owner aborts it.
 *
 * Context: process.
 */
void srn_stream_detach(struct srn_stream *s)
{
	srn_direct_part(s);
	srn_direct_leave(s);
	s->sock = NULL;
}

/**
 * srn_stream_start - begin to receive and to transmit
 * @s: stream with a socket, which it owns from now on
 *
 * What has arrived behind the set-up frames is received before this returns, and what
 * there is to send is sent.
 *
 * Context: process, sleeps.
 */
void srn_stream_start(struct srn_stream *s)
{
	struct sock *sk = s->sock->sk;

	srn_hold_begin(s);
	lock_sock(sk);
	srn_sock_hook(sk, &stream_hooks, s);
	local_bh_disable();
	srn_rx_input(s, sk);
	local_bh_enable();
	report_close(s, sk);
	release_sock(sk);
	srn_tx_give_role(s);
}

/**
 * srn_stream_drain - receive what the socket has
 * @s: stream whose peer has closed, or that had no memory before
 *
 * Context: process, sleeps.
 */
void srn_stream_drain(struct srn_stream *s)
{
	/* What arrives meanwhile is charged at release of the socket, which may reclaim memory. */
	unsigned int noio = memalloc_noio_save();
	struct sock *sk = s->sock->sk;

	lock_sock(sk);
	srn_rx_input_waiting(s, sk);
	release_sock(sk);
	memalloc_noio_restore(noio);
}

/**
 * srn_stream_shutdown - send no more, and tell the peer so
 * @s: stream with an empty batch
 *
 * Requests that the peer has made meanwhile are not answered: the end of the stream tells it so.
 *
 * Context: the active transmitter, process, sleeps for the socket lock.
 */
void srn_stream_shutdown(struct srn_stream *s)
{
	s->tx_shut = true;
	kernel_sock_shutdown(s->sock, SHUT_WR);
}

/**
 * srn_stream_halt - end both engines
 * @s: stream with a socket
 *
 * When it returns no operation of the stream is running or will run again. srn_stream_stop() has to
 * follow.
 *
 * Context: process, sleeps; bounded.
 */
void srn_stream_halt(struct srn_stream *s)
{
	srn_tx_stop(s);
	srn_sock_unhook(s->sock->sk);
	/* Before rx_work: what the peer delivers may queue it. */
	srn_direct_part(s);
	srn_hold_stop(s);
	cancel_delayed_work_sync(&s->rx_work);
	/* If rx_work has found a peer in this kernel meanwhile, the stream leaves that one, too. */
	srn_direct_part(s);
	srn_reassembly_end(s);
	srn_tx_take_role(s);
	srn_direct_leave(s);
}

/**
 * srn_stream_stop - let go of the socket
 * @s: stream that has been halted
 * @last: what to send first
 *
 * When it returns the stream refers to no memory.
 *
 * Context: process, sleeps; bounded.
 *
 * Return: the socket, which the caller owns.
 */
struct socket *srn_stream_stop(struct srn_stream *s, const struct srn_tx_last *last)
{
	struct socket *sock = s->sock;

	srn_sock_share_fragment(sock, false);
	srn_sock_allow_waiting(sock->sk);
	srn_tx_last(s, last);
	srn_tx_drop_batch(s);
	s->sock = NULL;
	return sock;
}
