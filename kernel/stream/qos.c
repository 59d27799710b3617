// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Class of service and rate of a connection. IP and TCP implement both.
 */
#include <linux/ipv6.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/sock.h>

#include "qos.h"

/**
 * srn_qos_set_tos - set the class of service of all packets from now on
 * @sock: TCP socket
 * @tos: byte of the IP header: DSCP in its upper six bits; the two of ECN are TCP's
 *
 * This also sets the socket's priority, by which queueing disciplines sort.
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_qos_set_tos(struct socket *sock, u8 tos)
{
	struct sock *sk = sock->sk;

	/* This is done for an IPv6 socket, too: its peer may have an IPv4 address. */
	ip_sock_set_tos(sk, tos);
	if (sk->sk_family != AF_INET6)
		return;
	lock_sock(sk);
	inet6_sk(sk)->tclass = (tos & ~INET_ECN_MASK) | (inet6_sk(sk)->tclass & INET_ECN_MASK);
	release_sock(sk);
}

/**
 * srn_qos_set_rate - limit the rate at which TCP sends
 * @sock: TCP socket
 * @kbits: 1000 bits per second, headers included; 0: as fast as it can
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_qos_set_rate(struct socket *sock, u32 kbits)
{
	u64 bytes = (u64)kbits * (1000 / BITS_PER_BYTE);
	unsigned long limit = kbits ? min_t(u64, bytes, ~0UL) : ~0UL;
	struct sock *sk = sock->sk;

	lock_sock(sk);
	/* TCP paces by itself unless a queueing discipline has said that it does. */
	if (kbits)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	WRITE_ONCE(sk->sk_max_pacing_rate, limit);
	WRITE_ONCE(sk->sk_pacing_rate, min(sk->sk_pacing_rate, limit));
	release_sock(sk);
}
