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
 * Lock order: conn_mutex, those of stream/direct.h, sq.lock, waiters_lock of an SRQ, state_lock,
 * then CQ and RQ locks.
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
#include "binding.h"
#include "cm_handle.h"
#include "cq.h"
#include "doorbell.h"
#include "inbound.h"
#include "qp_rx.h"
#include "qp_tx.h"
#include "sq.h"
#include "srq.h"

/* Most of the memory of an idle connection. Above 2 KiB, the slab would use 4 KiB for it. */
struct srn_qp {
	struct ib_qp ibqp;
	struct srn_device *dev;
	refcount_t refs;		/* keeps it from being destroyed, see srn_qp_get() */
	kuid_t owner_uid;		/* user that created it */
	struct pid *owner;		/* process that created it */
	struct srn_cm_handle *cm_handle;	/* what the core's iWARP CM gets in its place */

	struct mutex conn_mutex;	/* start and stop of the stream */
	u32 rate_limit;			/* limit in kbit/s, 0 for none; conn_mutex protects it */
	spinlock_t state_lock;		/* protects what follows, up to end_term */
	enum ib_qp_state state;
	u32 access;			/* IB_ACCESS_REMOTE_* granted to peers; needs no lock */
	struct srn_conn *conn;		/* connection, with a reference; state_lock protects it */
	struct srn_claim claim;		/* the core's reference; state_lock protects it */
	enum ib_event_type end_event;	/* raised once by end_work; 0: none */
	bool end_terminate;		/* a Terminate tells the peer why */
	/* the peer has closed, or the connection is broken; needs no lock */
	bool peer_closed;
	/* the stream has stopped: whoever posts flushes; state_lock protects it */
	bool ended;
	struct srn_term_code end_term;
	bool kernel;			/* it belongs to a kernel consumer */
	/* its consumer destroys it: outstanding work is dropped, not flushed */
	bool forgotten;
	/* min_rnr_timer that the program has set, see rnr_limit.h */
	u8 rnr_timer;
	/* how often the peer's Sends may find no receive, 0 for any number */
	u8 peer_rnr_tries;
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
	struct srn_inbound_queue inbound;

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

#define srn_qp_notice(qp, fmt, ...)						\
do {										\
	const struct srn_qp *__qp = (qp);					\
										\
	srn_notice(__qp->dev, "QP%u: " fmt, __qp->ibqp.qp_num, ##__VA_ARGS__);	\
} while (0)

/*
 * Context: any. The caller has a reference, or is in an RCU read-side section, as with interrupts
 * off, until it has taken one.
 */
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
