/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The send queue of a queue pair. The kernel works on its own copies (struct srn_send), made once
 * per work request. There are four free-running indices, each at or behind the one listed before
 * it:
 *
 *	prod	work requests that have been copied in
 *	next	work requests whose transmission has begun
 *	sent	work requests whose bytes are all in the socket
 *	cons	work requests that are complete, so their slots are free; they complete in
 *		order, so a Read holds back what is behind it, and so does a Send or Write that
 *		has to be placed at the peer first (placed.h)
 *
 * The transmitter owns next (and prod, for a process); sq.lock protects the rest. Before a
 * connection sends, what begins anew with it is set without the lock: ord, requested, answered,
 * placed, messages, await_placement, failed and refused_as.
 *
 * Outstanding RDMA Reads have a data sink STag that only this queue pair knows, above the range of
 * registered memory: the peer can write to it with nothing but the response to that Read, and the
 * consumer's buffer needs no remote access rights.
 */
#ifndef SRN_SQ_H
#define SRN_SQ_H

#include <linux/spinlock.h>

#include "coalesce.h"
#include "wr_table.h"

struct ib_mr;

/* At most this many complete in one go, before the lock is dropped and interrupts are let in. */
#define SRN_COMPLETE_AT_ONCE	64

/* A send work request: the kernel's copy and what it knows of it. */
struct srn_send {
	u32 length;		/* payload bytes */
	u8 status;		/* enum ib_wc_status that it will complete with */
	bool finished;		/* a Read or atomic whose response is complete */
	u16 number;		/* messages before it, by the count of tx.messages */
	union {
		struct ib_mr *mr;	/* region of a fast registration, or NULL */
		u32 next_request;	/* Read or atomic: index of the next one */
	};
	struct srn_send_wqe wqe;	/* its tail extends to the stride */
};

struct srn_sq {
	void *sends;		/* struct srn_send, @stride apart; see srn_fetch_prepare() */
	void *user_ring;	/* struct srn_send_wqe of a process, or NULL */
	u32 stride;
	u32 user_stride;
	u32 depth;		/* slots, a power of two, at least 1 */
	u32 capacity;		/* work requests that were asked for */
	u32 max_sge;
	u32 max_inline;
	bool signal_all;
	/* a signaled Send or Write completes when it is placed; @lock protects it */
	bool await_placement;
	/* status of the first flushed request, 0 for the usual one; under @lock */
	u8 flush_first_as;
	/* a request completed with an error, so none behind it succeeds; under @lock */
	bool failed;
	/* status of a Send or Write that the peer has refused, 0 if it has not; under @lock */
	u8 refused_as;
	/* the Terminate in rx.control tells which one; under @lock */
	bool refused_by_header;
	/* index behind those that may be meant; under @lock */
	u32 refused_end;

	spinlock_t lock;	/* protects what follows, but see top of file */
	u32 prod;
	u32 next;
	u32 sent;
	u32 cons;
	u32 silent;		/* work requests of a process that completed without a CQE */
	u32 messages;		/* number of messages of completed work requests, see placed.h */
	u32 placed;		/* index up to which the peer has placed all, see placed.h */

	/* Reads and atomics, which are answered in order. */
	u32 requested;		/* number of them whose transmission has begun */
	u32 answered;
	u32 oldest;		/* index in the send queue of the oldest unanswered one */
	u32 newest;		/* index of the newest unanswered one */
	u32 ord;
	struct srn_coalesce coalesce;
};

static inline struct srn_send *srn_sq_slot(const struct srn_sq *sq, u32 index)
{
	return sq->sends + (size_t)(index & (sq->depth - 1)) * sq->stride;
}

/* The opcode of a copy in the send queue is always valid. */
static inline const struct srn_wr_info *srn_wr_info(const struct srn_send *send)
{
	return &srn_wr_table[send->wqe.opcode];
}

/* Does the work request complete only when the peer has responded? */
static inline bool srn_is_request(const struct srn_send *send)
{
	u8 kind = srn_wr_info(send)->kind;

	return kind == SRN_WR_KIND_READ || kind == SRN_WR_KIND_ATOMIC;
}

static inline bool srn_is_atomic(const struct srn_send *send)
{
	return srn_wr_info(send)->kind == SRN_WR_KIND_ATOMIC;
}

/* Messages that a work request consists of. A Write without payload is none. */
static inline u32 srn_send_messages(const struct srn_send *send)
{
	const struct srn_wr_info *info = srn_wr_info(send);

	return info->messages - (info->kind == SRN_WR_KIND_WRITE && !send->length);
}

/* The part of a data sink STag that names a slot. */
#define SRN_SINK_INDEX	0xffffffu

/* Data sink STag of the Read in slot @index. */
static inline u32 srn_sink_stag(u32 index)
{
	return ~SRN_SINK_INDEX | (index & SRN_SINK_INDEX);
}

#endif /* SRN_SQ_H */
