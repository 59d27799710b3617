// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How long a peer may be silent before its connection ends. TCP does the work; here are
 * the module parameters that tell it how.
 *
 * TCP can probe an idle peer (keepalive), and retransmits to a peer that does not acknowledge (user
 * time-out). By default it does not probe, and retransmits for a quarter of an hour, while an RDMA
 * application waits for completions and has no other way to learn that its peer is gone. Two
 * minutes bridge the restart of a switch or the migration of a machine.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "keepalive.h"

static bool keepalive = true;
static unsigned int keepalive_idle = 60;
static unsigned int keepalive_interval = 10;
static unsigned int keepalive_count = 6;
static unsigned int user_timeout = 120;

static int set_seconds(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, MAX_TCP_KEEPIDLE);
}

static int set_count(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, MAX_TCP_KEEPCNT);
}

static const struct kernel_param_ops seconds_ops = {
	.set = set_seconds, .get = param_get_uint,
};

static const struct kernel_param_ops count_ops = {
	.set = set_count, .get = param_get_uint,
};

module_param(keepalive, bool, 0644);
MODULE_PARM_DESC(keepalive, "Probe idle peers of new connections (default: Y)");
module_param_cb(keepalive_idle, &seconds_ops, &keepalive_idle, 0644);
MODULE_PARM_DESC(keepalive_idle,
		 "Seconds of silence before the first probe (default: 60; 0: net.ipv4.tcp_keepalive_time)");
module_param_cb(keepalive_interval, &seconds_ops, &keepalive_interval, 0644);
MODULE_PARM_DESC(keepalive_interval,
		 "Seconds between probes (default: 10; 0: net.ipv4.tcp_keepalive_intvl)");
module_param_cb(keepalive_count, &count_ops, &keepalive_count, 0644);
MODULE_PARM_DESC(keepalive_count,
		 "Unanswered probes that end a connection if user_timeout is 0 (default: 6; 0: net.ipv4.tcp_keepalive_probes)");
module_param_cb(user_timeout, &seconds_ops, &user_timeout, 0644);
MODULE_PARM_DESC(user_timeout,
		 "Seconds that data of new connections may wait for the peer (default: 120; 0: until net.ipv4.tcp_retries2, and for ever at a closed window)");

/**
 * srn_keepalive_usual - let TCP probe an idle peer as the module parameters say
 * @sock: socket
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_keepalive_usual(struct socket *sock)
{
	struct netns_ipv4 *net = &sock_net(sock->sk)->ipv4;
	unsigned int idle = READ_ONCE(keepalive_idle);
	unsigned int interval = READ_ONCE(keepalive_interval);
	unsigned int count = READ_ONCE(keepalive_count);

	tcp_sock_set_keepidle(sock->sk, idle ?: READ_ONCE(net->sysctl_tcp_keepalive_time) / HZ);
	tcp_sock_set_keepintvl(sock->sk,
			       interval ?: READ_ONCE(net->sysctl_tcp_keepalive_intvl) / HZ);
	tcp_sock_set_keepcnt(sock->sk, count ?: READ_ONCE(net->sysctl_tcp_keepalive_probes));
}

/**
 * srn_keepalive_often - let TCP probe an idle peer often, and not give it up soon
 * @sock: socket
 * @seconds: time between probes; 0 stands for one second
 *
 * Nothing is probed if the module parameter keepalive says so.
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_keepalive_often(struct socket *sock, unsigned int seconds)
{
	seconds = clamp(seconds, 1U, (unsigned int)MAX_TCP_KEEPINTVL);
	tcp_sock_set_keepcnt(sock->sk, MAX_TCP_KEEPCNT);
	tcp_sock_set_keepintvl(sock->sk, seconds);
	/* Last, since it sets the timer. */
	tcp_sock_set_keepidle(sock->sk, seconds);
}

/**
 * srn_keepalive_no_limit - let data wait for the peer as long as TCP itself does
 * @sock: socket
 *
 * It may wait for ever for a peer that is there and keeps its window closed.
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_keepalive_no_limit(struct socket *sock)
{
	tcp_sock_set_user_timeout(sock->sk, 0);
}

/**
 * srn_keepalive_start - have TCP notice when the peer of a new connection is gone
 * @sock: connected socket
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_keepalive_start(struct socket *sock)
{
	unsigned int timeout = READ_ONCE(user_timeout);

	if (timeout)
		tcp_sock_set_user_timeout(sock->sk, timeout * MSEC_PER_SEC);
	if (!READ_ONCE(keepalive))
		return;
	srn_keepalive_usual(sock);
	sock_set_keepalive(sock->sk);
}
