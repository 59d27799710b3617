// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * To whom the memory of streams and their sockets is charged.
 */
#include <linux/memcontrol.h>
#include <net/sock.h>

#include "charge.h"

#ifdef CONFIG_MEMCG
/*
 * To charge what the socket holds already, this reserves the same amount once more, charged to
 * the payer, and gives back the amount that was charged to nobody. With bottom halves disabled TCP
 * may exceed the payer's limit for that.
 */
static bool charge_held(struct sock *sk, struct mem_cgroup *payer)
{
	int held = sk->sk_forward_alloc + atomic_read(&sk->sk_rmem_alloc) + sk->sk_wmem_queued;
	bool ok;

	held = sk_mem_pages(held) << PAGE_SHIFT;
	local_bh_disable();
	sk->sk_memcg = payer;
	ok = !held || __sk_mem_schedule(sk, held, SK_MEM_RECV);
	sk->sk_memcg = NULL;
	if (ok && held)
		__sk_mem_reclaim(sk, held);
	local_bh_enable();
	return ok;
}
#endif

/**
 * srn_charge_sock - charge a socket's memory to a payer, from now on
 * @sk: TCP socket without a payer: it was made, or accepted, by a worker
 * @payer: cgroup to charge, or NULL for none
 *
 * TCP charges whoever creates or accepts a socket; if that is a worker, nobody is charged. Nothing
 * is done with control groups of version 1: they count such memory only if asked to, and against a
 * limit of its own.
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_charge_sock(struct sock *sk, struct mem_cgroup *payer)
{
#ifdef CONFIG_MEMCG
	if (!mem_cgroup_sockets_enabled || !payer || !payer->css.parent ||
	    !cgroup_subsys_on_dfl(memory_cgrp_subsys))
		return;
	lock_sock(sk);
	if (!sk->sk_memcg && css_tryget(&payer->css)) {
		if (charge_held(sk, payer))
			sk->sk_memcg = payer;
		else
			css_put(&payer->css);
	}
	release_sock(sk);
#endif
}

/**
 * srn_charge_sock_as - charge an accepted socket's memory to the payer of its listener
 * @sk: TCP socket that was accepted by a worker
 * @listener: listening socket
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_charge_sock_as(struct sock *sk, const struct sock *listener)
{
#ifdef CONFIG_MEMCG
	srn_charge_sock(sk, listener->sk_memcg);
#endif
}
