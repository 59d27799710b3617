/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A queue pair that a program brings up by hand, for kernel/raw only.
 *
 * The GIDs are IP addresses. Of the two ends the one with the lower GID connects, or with equal
 * GIDs the one with the lower number; it connects by TCP to the port that the other's link has for
 * this. Its MPA request carries both ends' GIDs, numbers and sequence numbers, as it knows them,
 * and the other end compares them with its own. Whoever comes too early is reset and tries again,
 * so nothing is kept for a peer that has no queue pair here. A queue pair that is connected to
 * itself has a socket that is connected to itself.
 *
 * The state changes in the bring-up's own work or in the listener's, both on the link's raw_wq.
 * Only ENDED is set elsewhere:
 *
 *	WAITING		for the other end, or for the time of the next attempt
 *	CONNECTING	SYN sent
 *	WAIT_REPLY	request sent, perhaps a second one with a proof
 *	ESTABLISHED	the socket belongs to the queue pair's stream
 *	ENDED		the queue pair has let go of it
 *
 * The queue pair is in RTR until it is connected, and in RTS from then on, as with rdma_cm. What
 * the program has made of it is @rts, and that is what ibv_query_qp() tells.
 *
 * Lock order: listeners_mutex (listener.c), raw->lock, qp->conn_mutex. A listener is closed without
 * raw->lock, since that waits for the listener's work, which takes raw->lock.
 */
#ifndef SRN_RAW_H
#define SRN_RAW_H

#include <linux/kref.h>
#include <linux/workqueue.h>

#include "../device/device.h"
#include "../device/worker_lock.h"
#include "../qp/connection.h"
#include "../qp/qp.h"
#include "../stream/address.h"
#include "../stream/handshake.h"
#include "../wire/bring_up.h"

#define SRN_MAX_PSN	0xffffff

/*
 * Delay before the second attempt; it doubles each time. Usually both ends come within a few
 * milliseconds of each other.
 */
#define SRN_RAW_MIN_DELAY	msecs_to_jiffies(5)

enum srn_raw_state {
	SRN_RAW_WAITING,
	SRN_RAW_CONNECTING,
	SRN_RAW_WAIT_REPLY,
	SRN_RAW_ESTABLISHED,
	SRN_RAW_ENDED,
};

struct srn_raw_listener;

struct srn_raw {
	struct srn_conn conn;		/* to its queue pair */
	struct kref ref;
	struct srn_device *dev;
	struct srn_qp *qp;		/* with a reference, until ENDED */
	struct srn_raw_listener *listener;	/* where the other end comes to, or NULL */
	union srn_address local;	/* without a port */
	union srn_address remote;	/* without a port */
	union ib_gid sgid;
	u16 port;			/* of both ends' links */
	bool active;			/* this end connects */
	bool self;			/* both ends are this queue pair */
	struct ib_qp_attr attr;		/* what the program has set; under @lock once it is bound */

	/* protects the fields below, unless they say otherwise; given back by srn_raw_unlock() */
	struct srn_worker_lock lock;
	enum srn_raw_state state;
	bool rts;			/* the program has gone to RTS, so it may send */
	struct socket *sock;		/* while CONNECTING or in WAIT_REPLY */
	struct srn_handshake reply;	/* as it comes in WAIT_REPLY */
	bool proof_due;			/* we have asked for a challenge, see proof.h */
	u8 request[SRN_BRING_UP_PROVEN];	/* private data of our first request */
	unsigned long deadline;		/* of CONNECTING or WAIT_REPLY, in jiffies */
	bool crc;			/* our frame asks for CRC */
	bool markers;			/* our frame asks for markers */
	bool answers;			/* our frame says that we tell what we have placed */
	unsigned long delay;		/* before the next attempt, in jiffies */
	bool gone;			/* the peer has closed or is lost; set under state_lock */
	unsigned long sends_since;	/* when sends were first seen to wait; 0: they were not */
	struct delayed_work work;	/* holds a reference while queued */

	/* while ESTABLISHED, see silence.c; only @watch uses what is behind it */
	struct delayed_work watch;	/* holds a reference while queued; queued under @lock */
	unsigned long silent_since;	/* when the peer answered last, while sends wait */
	u8 looks;			/* how often it was looked at since then */
	bool asks_often;		/* TCP probes the peer often */
};

/* How often a Send is tried that finds no receive. 7 retries stand for any number. */
static inline u8 srn_raw_rnr_tries(const struct srn_raw *raw)
{
	return raw->attr.rnr_retry == 7 ? 0 : raw->attr.rnr_retry + 1;
}

struct srn_raw *srn_raw_alloc(struct srn_qp *qp, const struct srn_conn_ops *ops,
			      work_func_t work);
struct srn_raw *srn_raw_get(struct srn_raw *raw);
void srn_raw_put(struct srn_raw *raw);
void srn_raw_unlock(struct srn_raw *raw);
void srn_raw_queue(struct srn_raw *raw, unsigned long delay);
void srn_raw_queue_unless_pending(struct srn_raw *raw, unsigned long delay);

#endif /* SRN_RAW_H */
