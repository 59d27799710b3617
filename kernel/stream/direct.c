// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Streams of this kernel that are each other's peers: how they find each other and part.
 */
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "charge.h"
#include "direct.h"
#include "worker.h"

static DEFINE_HASHTABLE(offers, 8);
static DEFINE_SPINLOCK(offers_lock);

/* The stream is the first end. Return: NULL if there is no memory. */
static struct srn_direct *new_direct(struct srn_stream *s)
{
	struct mem_cgroup *before = srn_charge_to(s->payer);
	struct srn_direct *d = kzalloc(sizeof(*d), GFP_NOIO | srn_charge_gfp(s->payer));

	set_active_memcg(before);
	if (!d)
		return NULL;
	refcount_set(&d->refs, 1);
	spin_lock_init(&d->lock);
	spin_lock_init(&d->end[0].lock);
	spin_lock_init(&d->end[1].lock);
	d->end[0].stream = s;
	s->direct_end = 0;
	return d;
}

/**
 * srn_direct_offer - let a peer in this kernel find a stream
 * @s: initiator's stream, with a socket, before it is started
 * @nonce: random number that the peer will be told
 * @between_namespaces: the peer may be in another network namespace
 *
 * Context: process. srn_direct_leave() undoes it.
 *
 * Return: false if there is no memory.
 */
bool srn_direct_offer(struct srn_stream *s, u64 nonce, bool between_namespaces)
{
	struct srn_direct *d = new_direct(s);

	if (!d)
		return false;
	d->nonce = nonce;
	d->between_namespaces = between_namespaces;
	s->direct_to = 1;
	s->direct = d;
	spin_lock_bh(&offers_lock);
	hash_add(offers, &d->node, nonce);
	spin_unlock_bh(&offers_lock);
	return true;
}

/**
 * srn_direct_itself - a stream that is its own peer gives TCP nothing
 * @s: stream with a socket, before it is started
 *
 * If there is no memory, it gives TCP everything.
 *
 * Context: process. srn_direct_leave() undoes it.
 */
void srn_direct_itself(struct srn_stream *s)
{
	struct srn_direct *d = new_direct(s);

	if (!d)
		return;
	d->found = true;
	d->end[0].open = true;
	s->direct_to = 0;
	s->direct = d;
	WRITE_ONCE(s->tx_path, SRN_PATH_DIRECT);
}

/* A dual-stack socket may have a peer that knows IPv4 only. */
static bool over_ipv4(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return ipv6_addr_v4mapped(&sk->sk_v6_daddr);
#endif
	return true;
}

/* Is each socket's own address the peer's address of the other one? */
static bool addresses_meet(const struct sock *a, const struct sock *b)
{
	if (over_ipv4(a) != over_ipv4(b) || inet_sk(a)->inet_sport != inet_sk(b)->inet_dport ||
	    inet_sk(a)->inet_dport != inet_sk(b)->inet_sport)
		return false;
#if IS_ENABLED(CONFIG_IPV6)
	if (!over_ipv4(a))
		return ipv6_addr_equal(&a->sk_v6_rcv_saddr, &b->sk_v6_daddr) &&
		       ipv6_addr_equal(&a->sk_v6_daddr, &b->sk_v6_rcv_saddr);
#endif
	return a->sk_rcv_saddr == b->sk_daddr && a->sk_daddr == b->sk_rcv_saddr;
}

/*
 * Has @to received what @from has sent? Somebody between the two who keeps their addresses has
 * connections, and so sequence numbers, of its own.
 */
static bool receives_from(const struct sock *to, const struct sock *from)
{
	u32 acknowledged, received, written;

	acknowledged = READ_ONCE(tcp_sk(from)->snd_una);
	/* What has been acknowledged was received before. */
	smp_rmb();
	received = READ_ONCE(tcp_sk(to)->rcv_nxt);
	/* What has been received was written before. */
	smp_rmb();
	written = READ_ONCE(tcp_sk(from)->write_seq);
	return !before(received, acknowledged) && !after(received, written);
}

static bool meets(const struct srn_direct *d, const struct srn_stream *s, bool between_namespaces)
{
	const struct sock *a = d->end[0].stream->sock->sk;
	const struct sock *b = s->sock->sk;

	return ((between_namespaces && d->between_namespaces) ||
		net_eq(sock_net(a), sock_net(b))) && addresses_meet(a, b) &&
	       receives_from(a, b) && receives_from(b, a);
}

static void set_stream(struct srn_direct *d, struct srn_direct_end *end, struct srn_stream *s)
{
	spin_lock_bh(&end->lock);
	spin_lock(&d->lock);
	WRITE_ONCE(end->stream, s);
	spin_unlock(&d->lock);
	spin_unlock_bh(&end->lock);
}

static struct srn_direct *take_offer(const struct srn_stream *s, u64 nonce, bool between_namespaces)
{
	struct srn_direct *d;

	lockdep_assert_held(&offers_lock);
	hash_for_each_possible(offers, d, node, nonce) {
		if (d->nonce != nonce || !meets(d, s, between_namespaces))
			continue;
		hash_del(&d->node);
		return d;
	}
	return NULL;
}

/**
 * srn_direct_find - find the initiator of a stream in this kernel
 * @s: responder's stream, which receives
 * @nonce: what the initiator has told
 * @between_namespaces: it may be in another network namespace, if it agrees
 *
 * A nonce may have been handed on by somebody between the two, so the addresses and the sequence
 * numbers of both sockets have to match as well.
 *
 * Context: the receiver. srn_direct_leave() undoes it.
 *
 * Return: true if it was found; it is @s's peer from now on.
 */
bool srn_direct_find(struct srn_stream *s, u64 nonce, bool between_namespaces)
{
	struct srn_direct *d;

	spin_lock_bh(&offers_lock);
	d = take_offer(s, nonce, between_namespaces);
	if (d) {
		refcount_inc(&d->refs);
		WRITE_ONCE(d->found, true);
		set_stream(d, &d->end[1], s);
	}
	spin_unlock_bh(&offers_lock);
	if (!d)
		return false;
	s->direct_end = 1;
	s->direct_to = 0;
	/* Release: pairs with srn_direct_own_end(). */
	smp_store_release(&s->direct, d);
	return true;
}

/**
 * srn_direct_move - give TCP nothing more than the message in hand
 * @s: stream with a peer in this kernel
 *
 * Context: the active transmitter, from its operation tx_next.
 */
void srn_direct_move(struct srn_stream *s)
{
	WRITE_ONCE(s->tx_path, SRN_PATH_MOVING);
}

/**
 * srn_direct_return - give everything to TCP again, from the next segment on
 * @s: stream, on whichever path
 *
 * All that went by the direct path has arrived, so nothing is overtaken.
 *
 * Context: any.
 */
void srn_direct_return(struct srn_stream *s)
{
	WRITE_ONCE(s->tx_path, SRN_PATH_TCP);
}

/**
 * srn_direct_open - let the peer deliver
 * @s: stream with a peer in this kernel, all of whose messages by TCP have come
 *
 * Context: the receiver.
 */
void srn_direct_open(struct srn_stream *s)
{
	struct srn_direct *d = s->direct;
	struct srn_direct_end *end = &d->end[s->direct_end];
	struct srn_stream *peer;

	/*
	 * @by_tcp may be read without the lock: it is false if this pass began before there was a
	 * pair. No peer of ours is so quick.
	 */
	if (!end->by_tcp)
		return;
	end->open = true;
	spin_lock(&d->lock);
	peer = srn_direct_peer_end(s)->stream;
	if (peer)
		srn_worker_transmit(peer);
	spin_unlock(&d->lock);
}

/**
 * srn_direct_withdraw - the peer is not in this kernel: nobody needs to find the stream
 * @s: initiator's stream
 *
 * Context: the receiver.
 */
void srn_direct_withdraw(struct srn_stream *s)
{
	struct srn_direct *d = s->direct;

	if (!d)
		return;
	spin_lock_bh(&offers_lock);
	hash_del(&d->node);
	spin_unlock_bh(&offers_lock);
}

/**
 * srn_direct_alone - has the peer left?
 * @s: stream with a peer in this kernel
 *
 * Context: any, bottom halves disabled.
 *
 * Return: true if it has.
 */
bool srn_direct_alone(struct srn_stream *s)
{
	struct srn_direct *d = s->direct;
	bool alone;

	spin_lock(&d->lock);
	alone = !srn_direct_peer_end(s)->stream;
	spin_unlock(&d->lock);
	return alone;
}

/* Has TCP nothing on the way, and will be given nothing? */
static bool is_past_tcp(const struct srn_stream *s)
{
	const struct tcp_sock *tp = tcp_sk(s->sock->sk);

	return READ_ONCE(s->tx_path) == SRN_PATH_DIRECT &&
	       READ_ONCE(tp->snd_una) == READ_ONCE(tp->write_seq);
}

/**
 * srn_direct_bypasses_tcp - does a stream wait for nothing that only TCP can bring?
 * @s: stream with a socket
 *
 * Context: process; @s is neither halted nor detached meanwhile.
 *
 * Return: true if it has a peer in this kernel, and both directions bypass TCP.
 */
bool srn_direct_bypasses_tcp(struct srn_stream *s)
{
	/* Acquire: pairs with srn_direct_find(). */
	struct srn_direct *d = smp_load_acquire(&s->direct);
	struct srn_stream *peer;
	bool bypasses;

	if (!d || !is_past_tcp(s))
		return false;
	spin_lock_bh(&d->lock);
	peer = srn_direct_peer_end(s)->stream;
	bypasses = peer && is_past_tcp(peer);
	spin_unlock_bh(&d->lock);
	return bypasses;
}

/* It gives TCP what it still has, and takes from TCP what comes last. */
static void tell_peer(struct srn_direct *d, struct srn_direct_end *end)
{
	struct srn_stream *peer;

	spin_lock_bh(&d->lock);
	peer = end->stream;
	if (peer) {
		srn_worker_transmit(peer);
		if (READ_ONCE(peer->rx_segment_waits))
			srn_worker_receive(peer, 0);
	}
	spin_unlock_bh(&d->lock);
}

/**
 * srn_direct_part - receive nothing more from a peer in this kernel
 * @s: stream without callbacks
 *
 * When it returns, the peer does not deliver any more. srn_direct_leave() has to follow.
 *
 * Context: process.
 */
void srn_direct_part(struct srn_stream *s)
{
	struct srn_direct *d = s->direct;

	if (!d)
		return;
	srn_direct_withdraw(s);
	set_stream(d, &d->end[s->direct_end], NULL);
	tell_peer(d, srn_direct_peer_end(s));
}

/**
 * srn_direct_leave - a stream has no peer in this kernel any more
 * @s: stream after srn_direct_part(), whose engines have ended or were not started
 *
 * Context: process.
 */
void srn_direct_leave(struct srn_stream *s)
{
	struct srn_direct *d = s->direct;

	if (!d)
		return;
	WRITE_ONCE(s->tx_path, SRN_PATH_TCP);
	s->direct = NULL;
	if (refcount_dec_and_test(&d->refs))
		kfree(d);
}
