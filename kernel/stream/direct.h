/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The direct path between two streams that are each other's peers, and both in this kernel.
 *
 * A message goes from region to region: the transmitter of one stream calls the operations of the
 * other one, as if the bytes had come by TCP (direct_tx.c). TCP is left to watch over the
 * connection, and to carry what comes last.
 *
 * The initiator makes an offer, which a responder of this kernel finds by its nonce. Each direction
 * then moves by itself. Its transmitter says so in the last message that it gives to TCP, and stops
 * (srn_direct_move()). When the receiver has come to that message it opens its end and lets the
 * transmitter go on (srn_direct_open()). So nothing overtakes what TCP has.
 *
 * A stream that is its own peer has a pair with one end (srn_direct_itself()), and takes that path
 * from the start.
 *
 * Lock order: socket lock, sk_callback_lock, offers_lock, lock of an end, then the locks of the
 * layer above and the lock of the pair, which is a leaf. Nobody takes the locks of both ends at
 * once.
 */
#ifndef SRN_DIRECT_H
#define SRN_DIRECT_H

#include "stream.h"

/**
 * struct srn_direct_end - a stream, as its peer sees it
 * @lock: whoever receives for the stream holds it
 * @stream: NULL if there is none yet, or no more; written under @lock and that of the pair
 * @open: the peer's transmitter may deliver to @stream; under @lock
 * @by_tcp: the stream receives by TCP just now, under @lock
 */
struct srn_direct_end {
	spinlock_t lock;	/* protects the fields below */
	struct srn_stream *stream;
	bool open;
	bool by_tcp;
};

/**
 * struct srn_direct - an offer, or a pair of streams
 * @node: in the table of offers, under its lock
 * @nonce: by which the responder finds an offer
 * @between_namespaces: the initiator's link allows a peer in another network namespace
 * @refs: streams that refer to it
 * @found: a responder has found the offer, and may have left since; or none is needed
 * @lock: protects @end[].stream for the other end; a leaf
 * @end: the initiator and the responder; a stream that is its own peer has the first one only
 */
struct srn_direct {
	struct hlist_node node;
	u64 nonce;
	bool between_namespaces;
	refcount_t refs;
	bool found;
	spinlock_t lock;	/* protects end[].stream for the other end */
	struct srn_direct_end end[2];
};

bool srn_direct_offer(struct srn_stream *s, u64 nonce, bool between_namespaces);
void srn_direct_itself(struct srn_stream *s);
bool srn_direct_find(struct srn_stream *s, u64 nonce, bool between_namespaces);
void srn_direct_move(struct srn_stream *s);
void srn_direct_return(struct srn_stream *s);
void srn_direct_open(struct srn_stream *s);
void srn_direct_withdraw(struct srn_stream *s);
bool srn_direct_alone(struct srn_stream *s);
bool srn_direct_bypasses_tcp(struct srn_stream *s);
void srn_direct_part(struct srn_stream *s);
void srn_direct_leave(struct srn_stream *s);

static inline struct srn_direct_end *srn_direct_peer_end(const struct srn_stream *s)
{
	return &s->direct->end[s->direct_to];
}

/* Return: the end whose lock a pass over TCP's input has to hold; NULL: none. */
static inline struct srn_direct_end *srn_direct_own_end(struct srn_stream *s)
{
	/* Acquire: pairs with srn_direct_find(). */
	struct srn_direct *d = smp_load_acquire(&s->direct);

	/*
	 * An offer that nobody has found needs no lock. The responder may leave while its
	 * transmitter still delivers, so @found stays.
	 */
	if (likely(!d || !READ_ONCE(d->found)))
		return NULL;
	return &d->end[s->direct_end];
}

#endif /* SRN_DIRECT_H */
