/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue pairs.
 *
 * State. Only srn_state_set() changes qp->state once it has a value, and it follows one table. A
 * queue pair of rdma_cm goes to RTS when the connection manager hands over a connected socket. One
 * that is brought up by hand goes there when its process says so, and may get its socket later.
 * Whichever side ends the connection, srn_state_fail() moves the queue pair to ERR and queues
 * end_work, which stops the stream, flushes the queues and tells whoever has set up the connection.
 *
 * Send queue. The kernel works on its own copies (struct srn_send), made once per
 * work request. There are four free-running indices, each at or behind the one listed before it:
 *
 *	prod	work requests that have been copied in
 *	next	work requests whose transmission has begun
 *	sent	work requests whose bytes are all in the socket
 *	cons	work requests that are complete, so their slots are free; they complete in
 *		order, so a Read holds back what is behind it, and so does a Send or Write that
 *		has to be placed at the peer first (placed.h)
 *
 * The transmitter owns next (and prod, for a process); sq.lock protects the rest.
 *
 * Outstanding RDMA Reads have a data sink STag that only this QP knows, above the
 * range of registered memory: the peer can write to it with nothing but the response
 * to that Read, and the consumer's buffer needs no remote access rights.
 *
 * Lock order: socket lock, sk_callback_lock, sq.lock, waiters_lock of an SRQ, state_lock, CQ and RQ
 * locks.
 */
#ifndef SRN_QP_H
#define SRN_QP_H

#include <linux/refcount.h>
#include <linux/wait_bit.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../device/device.h"
#include "../memory/cursor.h"
#include "../stream/stream.h"
#include "../wire/atomic.h"
#include "../wire/greeting.h"
#include "../wire/sequence.h"
#include "cm_handle.h"
#include "coalesce.h"
#include "cq.h"
#include "doorbell.h"
#include "srq.h"
#include "wr_table.h"

/*
 * The connection of a queue pair, as seen by whoever sets it up: the connection manager or another.
 * While the two are bound the queue pair holds a reference, which it takes with @get and drops with
 * @put (any context). It calls @ended once it has let go of the connection and its queues have been
 * flushed (process context).
 */
struct srn_conn;

struct srn_conn_ops {
	void (*get)(struct srn_conn *conn);
	void (*put)(struct srn_conn *conn);
	void (*ended)(struct srn_conn *conn);
	/*
	 * These are only for a queue pair that is brought up by hand: its program goes to RTS, or
	 * asks for its attributes (process context, sleeps); the peer has closed the connection,
	 * or it is broken (any context, state_lock held).
	 */
	int (*to_rts)(struct srn_conn *conn, const struct ib_qp_attr *attr, int mask);
	void (*query)(struct srn_conn *conn, struct ib_qp_attr *attr);
	void (*peer_gone)(struct srn_conn *conn);
};

struct srn_conn {
	const struct srn_conn_ops *ops;
};

/* At most this many complete in one go, before the lock is dropped and interrupts are let in. */
#define SRN_COMPLETE_AT_ONCE	64

/* First FPDU of an initiator, RFC 6581 section 9.2. */
enum srn_rtr {
	SRN_RTR_NONE,
	SRN_RTR_WRITE,
	SRN_RTR_READ,
	SRN_RTR_SEND,
};

/* A send work request: the kernel's copy and what it knows of it. */
struct srn_send {
	u32 length;		/* payload bytes */
	u8 status;		/* enum ib_wc_status that it will complete with */
	bool finished;		/* a Read or atomic whose response is complete */
	struct ib_mr *mr;	/* region of a fast registration, or NULL */
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
	bool await_placement;	/* signaled Sends and Writes complete when they are placed; @lock */
	u8 flush_first_as;	/* status of the first one to be flushed; 0: as the others; @lock */

	spinlock_t lock;	/* protects what follows, but see top of file */
	u32 prod;
	u32 next;
	u32 sent;
	u32 cons;
	u32 silent;		/* work requests of a process that completed without a CQE */
	u32 messages;		/* number of messages of completed work requests, see placed.h */
	u32 placed;		/* index up to which the peer has placed all; answered.c */

	/* Reads and atomics, which are answered in order. */
	u32 requested;		/* number of them whose transmission has begun */
	u32 answered;
	u32 oldest;		/* index in the send queue of the oldest unanswered one */
	u32 ord;
	struct srn_coalesce coalesce;
};

/* An inbound RDMA Read or atomic that waits for its response to be sent. */
struct srn_inbound {
	bool atomic;		/* this is an atomic, which has been executed; else a Read */
	u32 sink_stag;		/* sink STag of a Read; identifier of an atomic */
	u64 sink_to;		/* sink offset of a Read; original value of an atomic */
	struct srn_sge src;	/* source of a Read; lkey is the STag that the peer named */
};

/* Inbound requests: written by the receiver, taken by the transmitter. */
struct srn_irq {
	struct srn_inbound *slots;	/* @depth entries; NULL until the first request */
	u32 depth;		/* power of two */
	u32 ird;
	u32 prod;
	u32 cons;
};

/* State of the transmitter. */
struct srn_qp_tx {
	bool sq_open;		/* the message in hand is that of sq.next */
	bool irq_open;		/* the message in hand answers the request at irq.cons */
	bool irq_turn;		/* this turn is that of answers, if any wait */
	bool awaits_read;	/* the end of a Read or atomic kicks the transmitter */
	bool write_sent;	/* the Immediate Data of a Write with Immediate comes next */
	u8 greeting;		/* enum srn_greeting_kind that is to be sent */
	bool may_ask;		/* the initiator has greeted; the receiver may write it */
	bool answered_alone;	/* the last answer waited for no message; piggyback.c */
	u32 send_msn;
	u32 read_msn;		/* MSN of Read and Atomic Requests */
	u32 atomic_msn;		/* MSN of Atomic Responses */
	union {			/* the control message in hand */
		struct srn_wire_read_request read;
		struct srn_wire_atomic_request atomic;
		struct srn_wire_atomic_response response;
		struct srn_wire_immediate immediate;
	} control;
	u8 rtr;			/* enum srn_rtr that is to be sent */
	bool answer_held;	/* an answer comes behind the message in hand, see placed.h */
	bool unasked;		/* a signaled Send or Write has been sent since the last question */
	bool last_due;		/* the final report of what is placed comes next */
	bool last_told;		/* the final report has been sent */
	u8 rnr_tries;		/* how often Sends may find no receive */
	bool limit_due;		/* the peer is to be told @rnr_tries */
	bool refuse_due;	/* the peer is to be told of a refusal; the receiver sets it */
	u32 asked;		/* index up to which the peer was asked what it has placed */
	u32 asks;		/* number of the peer's questions; the receiver writes it */
	u32 asks_answered;
	u16 ask_index;		/* what the peer asked last; the receiver writes it */
	struct srn_sge sge;	/* source of messages that have no scatter list */
};

/* The longest control message of fixed length has to fit; lengths are checked with the headers. */
static_assert(sizeof(struct srn_wire_atomic_request) <= SRN_TERM_MAX);

struct srn_piggyback;
struct srn_rnr;

/* State of the receiver. */
struct srn_qp_rx {
	u32 segments;			/* number of segments received */
	u32 responses;			/* segments that answered requests and questions */
	struct srn_sequence sequence;
	u32 payload;			/* payload bytes of the segment in hand */
	struct srn_greeting greeting;
	struct srn_rdmap_header header;	/* header of the segment in hand */
	struct srn_cursor *target;	/* where the payload goes; NULL: to @control or @rnr */
	struct srn_rnr *rnr;		/* messages that wait for a receive; NULL: none ever has */
	struct srn_piggyback *piggyback;	/* NULL: the peer has never asked */

	struct srn_cursor write;	/* where RDMA Writes are placed */
	struct srn_sge write_sge;
	u32 write_len;			/* bytes of the Write in hand or the last one */
	bool wr_taken:1;		/* qp->recv holds a receive that is in use */
	bool may_wait:1;		/* the peer's messages may wait for a receive, see rnr.h */
	bool asked:1;			/* the peer has asked what has been placed */
	bool last_word:1;		/* the peer's final report has come */
	/* What the receiver has to do when its pass is over, see srn_delivery_done(). */
	bool notify_send:1;		/* complete requests that were answered */
	bool notify_recv:1;		/* tell the consumer of completed receives */
	bool solicited_recv:1;		/* one of these was solicited, or has failed */
	bool write_open;		/* more segments of the Write in hand will come */
	bool waits;			/* messages wait, or are dropped; under state_lock */
	u8 control_len;			/* bytes in @control */
	struct srn_cursor recv;		/* where Sends are placed */
	struct srn_cursor read;		/* where RDMA Read Responses are placed */

	u8 control[SRN_TERM_MAX];	/* a control message */
	u32 placed;			/* number of the peer's messages so far, see placed.h */
};

/* The reference to a queue pair that the RDMA core holds for a connection, see cm/claim.h. */
struct srn_claim {
	const struct srn_conn *conn;	/* connection whose consumer may be told of it */
	bool held;			/* the core holds the reference */
	bool busy;			/* the consumer is being told something */
	bool ended;			/* the connection has ended */
	/*
	 * Task that has claimed the queue pair for its next connection before the core has dropped
	 * the reference for this one; only compared.
	 */
	const struct task_struct *next;
};

/* Most of the memory of an idle connection. Above 2 KiB, the slab would use 4 KiB for it. */
struct srn_qp {
	struct ib_qp ibqp;
	struct srn_device *dev;
	refcount_t refs;		/* keeps it from being destroyed, see srn_qp_get() */
	kuid_t owner_uid;		/* user that created it */
	struct pid *owner;		/* process that created it */
	struct srn_cm_handle *cm_handle;	/* what the core's iWARP CM gets in its place */

	struct mutex conn_mutex;	/* start and stop of the stream */
	u32 rate_limit;			/* kbit/s, 0: none; conn_mutex */
	spinlock_t state_lock;		/* protects what follows, up to end_term */
	enum ib_qp_state state;
	u32 access;			/* IB_ACCESS_REMOTE_* that peers are granted */
	struct srn_conn *conn;		/* referenced; state_lock */
	struct srn_claim claim;		/* state_lock */
	enum ib_event_type end_event;	/* raised once by end_work; 0: none */
	bool end_terminate;		/* tell the peer */
	bool peer_closed;
	bool ended;			/* stream stopped, queues flushed; state_lock */
	struct srn_term_code end_term;
	bool kernel;			/* it belongs to a kernel consumer */
	bool forgotten;			/* its process destroys it: its work completes silently */
	u8 rnr_timer;			/* min_rnr_timer that its program has set; rnr_limit.c */
	u8 peer_rnr_tries;		/* tx.rnr_tries of the peer, 0: any number; the receiver */
	struct work_struct end_work;
	struct delayed_work close_work;	/* ends an orderly close that takes too long */

	struct srn_qp_ctrl *ctrl;
	struct srn_mmap *map;
	struct srn_sq sq;
	struct srn_rq rq;
	struct srn_srq *srq;
	struct srn_recv *recv;		/* the receive in hand */
	struct srn_cq *scq;
	struct srn_cq *rcq;
	struct srn_irq irq;

	struct srn_qp_tx tx;
	struct srn_doorbell doorbell;
	struct srn_qp_rx rx;
	struct srn_stream stream;
};

static inline struct srn_qp *to_srn_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct srn_qp, ibqp);
}

static inline struct srn_qp *srn_qp_of_stream(struct srn_stream *s)
{
	return container_of(s, struct srn_qp, stream);
}

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

/* Data sink STag of the Read in slot @index. */
static inline u32 srn_sink_stag(u32 index)
{
	return 0xff000000u | (index & 0xffffff);
}

#define srn_qp_notice(qp, fmt, ...)						\
do {										\
	const struct srn_qp *__qp = (qp);					\
										\
	srn_notice(__qp->dev, "QP%u: " fmt, __qp->ibqp.qp_num, ##__VA_ARGS__);	\
} while (0)

/* Context: any. The caller has a reference, or takes one before it lets interrupts in. */
static inline struct srn_qp *srn_qp_find(struct srn_device *dev, u32 qpn)
{
	return xa_load(&dev->qps, qpn);
}

/* Keep a queue pair from being destroyed. Context: any; its end has not begun, or it is held. */
static inline void srn_qp_get(struct srn_qp *qp)
{
	refcount_inc(&qp->refs);
}

static inline void srn_qp_put(struct srn_qp *qp)
{
	if (!refcount_dec_and_test(&qp->refs))
		return;
	/*
	 * A waiter that is not seen here sees 0, and frees the queue pair: from here on only its
	 * address may be used.
	 * Pairs with srn_qp_destroy().
	 */
	smp_mb();
	wake_up_var(&qp->refs);
}

/* A cursor at the start of entries of this queue pair; their regions have to grant @access. */
static inline struct srn_cursor srn_qp_cursor(const struct srn_qp *qp, const struct srn_sge *sge,
					      u32 num, bool kernel, u32 access)
{
	return (struct srn_cursor) {
		.pd = qp->ibqp.pd, .qpn = qp->ibqp.qp_num, .access = access, .kernel = kernel,
		.sge = sge, .num = num,
	};
}

int srn_qp_create(struct ib_qp *ibqp, struct ib_qp_init_attr *attrs, struct ib_udata *udata);
int srn_qp_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata);
int srn_qp_query(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int srn_qp_destroy(struct ib_qp *ibqp, struct ib_udata *udata);

#endif /* SRN_QP_H */
