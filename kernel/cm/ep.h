/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * An endpoint is what the connection manager knows of a listener, or of one connection from its
 * first SYN to its last event.
 *
 * Until a connection is established, the work of its endpoint moves it from one state to the next,
 * except that the consumer's call leaves REQUESTED, and whatever ends a connection ends any state.
 * The socket's callbacks and a timer queue that work. It looks at the socket and goes as far as it
 * can, so no wake-up can be missed.
 *
 *	active				passive
 *	CONNECTING	SYN sent	WAIT_REQUEST	accepted
 *	WAIT_REPLY	request sent	REQUESTED	told the consumer
 *	ESTABLISHED	the socket belongs to the QP's stream
 *	ENDED		the socket is gone; the consumer has to be told
 *	CLOSED
 *
 * A listener is in LISTENING until it is CLOSED.
 *
 * The core gets exactly one CONNECT_REPLY or ESTABLISHED, then one CLOSE. report.c says what the
 * consumer hears of them, reporter.c from whom.
 *
 * Lock order: ep->lock of a connection before that of its listener; ep->lock before
 * qp->conn_mutex. open_mutex, then ports_mutex, are taken before any of them.
 */
#ifndef SRN_EP_H
#define SRN_EP_H

#include <linux/kref.h>
#include <linux/workqueue.h>
#include <rdma/iw_cm.h>

#include "../device/device.h"
#include "../device/worker_lock.h"
#include "../qp/qp.h"
#include "../stream/address.h"
#include "../stream/handshake.h"
#include "reporter.h"

struct srn_tcp_port;

enum srn_ep_state {
	SRN_EP_CONNECTING,
	SRN_EP_WAIT_REPLY,
	SRN_EP_WAIT_REQUEST,
	SRN_EP_REQUESTED,
	SRN_EP_ESTABLISHED,
	SRN_EP_ENDED,
	SRN_EP_LISTENING,
	SRN_EP_CLOSED,
};

struct srn_ep;

/*
 * What each kind of endpoint (initiator, responder, listener) does in its own way. All of these
 * are called in process context.
 */
struct srn_ep_kind {
	/*
	 * Something has happened to the socket, or the timer has expired. The endpoint may be in
	 * any state. ep->lock is held.
	 */
	void (*work)(struct srn_ep *ep);
	/* The queue pair is in ERR, and has let go of the endpoint. ep->lock is held. */
	void (*qp_ended)(struct srn_ep *ep);
	/* It is the endpoint's turn at its reporter. No lock is held. */
	void (*tell)(struct srn_ep *ep);
};

/* Must not exceed 512 bytes: the slab would then take 1 KiB. */
struct srn_ep {
	struct srn_device *dev;
	const struct srn_ep_kind *kind;
	struct srn_conn conn;		/* to its queue pair */
	struct kref ref;
	u32 backlog;			/* listener: requests that may wait; does not change */
	struct list_head node;		/* dev->endpoints, under dev->lock */
	/* protects the fields below, unless they say otherwise; given back by srn_ep_unlock() */
	struct srn_worker_lock lock;
	enum srn_ep_state state;
	int status;			/* in ENDED: why no connection came of it, or 0 */
	struct iw_cm_id *cm_id;		/* with a reference */
	iw_cm_handler consumer;		/* the handler that report.c has replaced at @cm_id */
	struct srn_reporter *reporter;	/* with a reference; does not change */
	struct srn_reporter_item report;	/* queues the endpoint at @reporter */
	/* The core's worker sets these two. */
	bool core_knows;		/* the core has taken the endpoint's first event */
	bool request_taken;		/* passive: the core has taken the request */
	bool orphan;			/* passive: at the last look its listener was gone */
	bool tell_connected;		/* the consumer has to be told that it is connected */
	/* passive: id of the request; the core's worker sets it before it is listed */
	struct iw_cm_id *request;
	struct srn_qp *qp;		/* with a reference */
	struct socket *sock;		/* NULL once the stream owns it */
	struct work_struct work;	/* something has happened; holds a reference while queued */
	struct delayed_work timer;	/* @work at a given time; holds a reference if queued */
	unsigned long deadline;		/* jiffies; until the connection is established */

	u32 id;				/* number in dev->requests; 0: none */
	union srn_address local;	/* zero until it is known */
	union srn_address remote;	/* zero until it is known */

	bool crc;			/* active: the request asks for CRC */
	bool markers;			/* our frame asks for markers */
	u8 revision;			/* active: MPA revision that is offered */
	u32 ird;
	u32 ord;
	u16 private_len;		/* active: ULP private data for the request */
	u8 *private_data;

	struct srn_handshake peer;	/* its room is kept until the consumer was told */

	struct srn_ep *listener;	/* passive: where it came from, with a reference */
	struct srn_tcp_port *port;	/* listener: port that it listens at */
	/* dev->lock protects the lists below and the two numbers. */
	struct list_head half_open;	/* listener: children before REQUESTED, oldest first */
	struct list_head half_open_node;	/* child: in its listener's @half_open */
	struct list_head unreported;	/* listener: requests that no consumer knows of yet */
	struct list_head unreported_node;	/* child: in its listener's @unreported */
	u32 num_half_open;
	u32 num_unreported;		/* requests in @unreported, and those being reported */
};

/*
 * How many connections may wait until softrnic accepts them. The consumer has nothing to do with
 * these, and many have a backlog of less than ten: of some clients that come at once, TCP would
 * then ignore a few for a second or more.
 */
static inline u32 srn_ep_tcp_backlog(const struct srn_ep *listener)
{
	return max_t(u32, listener->backlog, 64);
}

struct srn_ep *srn_ep_alloc(struct srn_device *dev, const struct srn_ep_kind *kind,
			    enum srn_ep_state state, struct srn_ep *listener);
struct srn_ep *srn_ep_get(struct srn_ep *ep);
void srn_ep_put(struct srn_ep *ep);
void srn_ep_hook(struct srn_ep *ep);
void srn_ep_unlock(struct srn_ep *ep);
void srn_ep_queue(struct srn_ep *ep);
void srn_ep_queue_later(struct srn_ep *ep, unsigned long delay);
void srn_ep_set_deadline(struct srn_ep *ep, unsigned long delay);
int srn_ep_note_addresses(struct srn_ep *ep);
void srn_ep_end(struct srn_ep *ep, int status, bool polite);
void srn_ep_close(struct srn_ep *ep, bool polite);
void srn_ep_close_all(struct srn_device *dev);
struct srn_ep *srn_ep_find_request(struct iw_cm_id *cm_id);
void srn_ep_leave_half_open(struct srn_ep *ep);
void srn_ep_take_cm_id(struct srn_ep *ep, struct iw_cm_id *cm_id);

#define srn_ep_notice(ep, fmt, ...)	srn_notice((ep)->dev, fmt, ##__VA_ARGS__)

#endif /* SRN_EP_H */
