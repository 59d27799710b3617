// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The end of a bring-up by hand that connects: TCP, MPA request, MPA reply.
 */
#include <net/ip.h>

#include "../compat/compat.h"
#include "../stream/charge.h"
#include "../stream/keepalive.h"
#include "../stream/sock.h"
#include "attempt.h"
#include "exchange.h"
#include "start.h"

/* How long an attempt may take to reach the peer, and to get a reply. */
#define CONNECT_TIMEOUT	(5 * HZ)
#define REPLY_TIMEOUT	(5 * HZ)
/*
 * The longest delay between attempts. The end that waits for an attempt may have sends that wait,
 * too, so one comes well before these time out (send_timeout.c).
 */
#define MAX_DELAY	(2 * HZ)

static void wake(struct sock *sk)
{
	struct srn_raw *raw;

	read_lock_bh(&sk->sk_callback_lock);
	raw = sk->sk_user_data;
	if (raw)
		srn_raw_queue(raw, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

/**
 * srn_raw_attempt_give_up - let go of the socket, if there is one
 * @raw: bring-up; the caller sets its state
 *
 * Context: process, raw->lock held; sleeps for the socket lock.
 */
void srn_raw_attempt_give_up(struct srn_raw *raw)
{
	lockdep_assert_held(&raw->lock.mutex);
	if (!raw->sock)
		return;
	srn_sock_unhook(raw->sock->sk);
	srn_sock_abort(raw->sock);
	raw->sock = NULL;
}

static void fail(struct srn_raw *raw)
{
	srn_raw_attempt_give_up(raw);
	raw->state = SRN_RAW_WAITING;
	srn_raw_queue(raw, raw->delay);
	raw->delay = min_t(unsigned long, 2 * raw->delay, MAX_DELAY);
}

/* The attempt has got as far as the queue pair's stream. */
static void start_or_fail(struct srn_raw *raw, const struct srn_conn_params *conn)
{
	srn_sock_unhook(raw->sock->sk);
	if (srn_raw_start(raw, raw->sock, conn))
		fail(raw);
	else
		raw->sock = NULL;
}

static int bind_local(struct srn_raw *raw)
{
	union srn_address local = raw->local;
	int yes = 1;

	/*
	 * The port may serve connections to other peers as well. One that names itself needs it
	 * now.
	 */
	if (!raw->self)
		ip_setsockopt(raw->sock->sk, SOL_IP, IP_BIND_ADDRESS_NO_PORT, KERNEL_SOCKPTR(&yes),
			      sizeof(yes));
	return kernel_bind(raw->sock, srn_sockaddr(&local), srn_address_len(local.family));
}

/* Where to connect to. A queue pair that is its own peer connects its socket to itself. */
static int target(struct srn_raw *raw, union srn_address *to)
{
	if (raw->self)
		return min(kernel_getsockname(raw->sock, (struct sockaddr *)to), 0);
	*to = raw->remote;
	srn_address_set_port(to, raw->port);
	return 0;
}

/**
 * srn_raw_attempt_begin - try to connect
 * @raw: bring-up in WAITING that connects, or connects to itself
 *
 * If an attempt fails, at once or later, the bring-up is in WAITING again, and queued for the time
 * of the next one.
 *
 * Context: the work, raw->lock held; sleeps.
 */
void srn_raw_attempt_begin(struct srn_raw *raw)
{
	static const struct srn_sock_hooks hooks = { .data_ready = wake, .state_change = wake };
	union srn_address to = {};
	int ret;

	lockdep_assert_held(&raw->lock.mutex);
	raw->reply.have = 0;
	ret = srn_sock_create(raw->dev->net, raw->local.family, &raw->sock);
	if (ret) {
		raw->sock = NULL;
		fail(raw);
		return;
	}
	srn_charge_sock(raw->sock->sk, raw->qp->stream.payer);
	raw->state = SRN_RAW_CONNECTING;
	raw->deadline = jiffies + CONNECT_TIMEOUT;
	srn_sock_hook(raw->sock->sk, &hooks, raw);
	/* Before there can be a callback, which queues it for an earlier time. */
	srn_raw_queue(raw, CONNECT_TIMEOUT);
	ret = bind_local(raw) ?: target(raw, &to);
	if (!ret)
		ret = kernel_connect(raw->sock, srn_sockaddr(&to), srn_address_len(to.family),
				     O_NONBLOCK);
	if (ret && ret != -EINPROGRESS)
		fail(raw);
}

static void start_with_itself(struct srn_raw *raw)
{
	const struct srn_mpa_frame self = {
		.crc = raw->crc, .ird = raw->attr.max_dest_rd_atomic, .markers = raw->markers,
	};
	struct srn_conn_params conn = srn_raw_exchange_params(raw, &self, true);

	conn.itself = true;
	start_or_fail(raw, &conn);
}

static void connecting(struct srn_raw *raw)
{
	int ret = srn_sock_connected(raw->sock->sk);

	if (ret == -EINPROGRESS)
		return;
	if (ret) {
		fail(raw);
		return;
	}
	srn_keepalive_start(raw->sock);
	if (raw->self) {
		start_with_itself(raw);
		return;
	}
	raw->state = SRN_RAW_WAIT_REPLY;
	raw->deadline = jiffies + REPLY_TIMEOUT;
	srn_raw_queue(raw, REPLY_TIMEOUT);
	if (srn_raw_exchange_request(raw))
		fail(raw);
}

/* The peer's first reply is its challenge, if our link has a secret. The second one is to come. */
static void prove(struct srn_raw *raw, bool has_nonce)
{
	int ret = has_nonce ? srn_raw_exchange_prove(raw) : -EACCES;

	if (ret == -EACCES)
		srn_qp_notice(raw->qp, "its peer does not know the link's secret\n");
	if (ret) {
		fail(raw);
		return;
	}
	raw->proof_due = false;
	raw->reply.have = 0;
}

static void connected(struct srn_raw *raw, bool answers)
{
	struct srn_conn_params conn = srn_raw_exchange_params(raw, &raw->reply.frame, answers);

	conn.initiator = true;
	conn.rtr = SRN_RTR_WRITE;
	start_or_fail(raw, &conn);
}

static void wait_reply(struct srn_raw *raw)
{
	int ret = srn_handshake_read(&raw->reply, raw->sock, true);
	struct srn_bring_up b;

	if (ret == -EAGAIN)
		return;
	if (ret || raw->reply.frame.reject || !srn_raw_exchange_get(&raw->reply, &b) ||
	    !srn_raw_exchange_same_pair(raw, &b))
		fail(raw);
	else if (raw->proof_due)
		prove(raw, b.has_nonce);
	else
		connected(raw, b.answers);
}

/**
 * srn_raw_attempt_go_on - look how far the attempt is, if there is one
 * @raw: bring-up
 *
 * Context: the work, raw->lock held; sleeps.
 */
void srn_raw_attempt_go_on(struct srn_raw *raw)
{
	lockdep_assert_held(&raw->lock.mutex);
	if (raw->state == SRN_RAW_CONNECTING)
		connecting(raw);
	if (raw->state == SRN_RAW_WAIT_REPLY)
		wait_reply(raw);
	if (raw->state != SRN_RAW_CONNECTING && raw->state != SRN_RAW_WAIT_REPLY)
		return;
	if (time_after_eq(jiffies, raw->deadline))
		fail(raw);
	else
		/* What woke this work took the deadline's timer with it. */
		srn_raw_queue_unless_pending(raw, raw->deadline - jiffies);
}
