/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The connection manager's driver half: iw_cm operations and the MPA set-up.
 *
 * An endpoint is one connection from its first SYN to the last event. Everything that
 * happens to it before it is established happens in its work, which is queued by the
 * socket's callbacks and by its timer, looks at the socket, and goes as far as it can:
 * no callback is ever missed, and nothing blocks but the work.
 *
 *	active				passive
 *	CONNECTING	SYN sent	WAIT_REQUEST	accepted
 *	WAIT_REPLY	request sent	REQUESTED	told the consumer
 *	ESTABLISHED	the socket belongs to the QP's stream
 *	ENDED		the socket is gone; the consumer has to be told
 *	CLOSED
 *
 * The core gets exactly one CONNECT_REPLY or ESTABLISHED, then one CLOSE. report.c says what the
 * consumer hears of them, reporter.c from whom.
 *
 * Lock order: ep->lock of a connection, that of its listener; ep->lock, qp->conn_mutex.
 * ports_mutex is taken before either.
 */
#ifndef SRN_CM_H
#define SRN_CM_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/iw_cm.h>

#include "../verbs/device.h"
#include "../wire/mpa.h"

struct srn_qp;
struct srn_port;
struct srn_reporter;

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

/* An address of a connection, in a quarter of the room of a sockaddr_storage. */
union srn_address {
	sa_family_t family;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

struct srn_ep {
	struct srn_device *dev;
	struct kref ref;
	struct list_head node;		/* dev->endpoints, under dev->lock */
	struct mutex lock;		/* protects what follows */
	enum srn_ep_state state;
	struct iw_cm_id *cm_id;		/* with a reference */
	iw_cm_handler consumer;		/* whose place at @cm_id report.c has taken */
	struct srn_reporter *reporter;	/* with a reference; does not change */
	struct list_head report_node;	/* in its list, under dev->lock */
	bool core_knows;		/* the core has taken the event that came first */
	bool forwarded;			/* passive: the core has taken the request */
	bool orphan;			/* passive: at the last look its listener was gone */
	struct iw_cm_id *request;	/* passive: its id, once the core has taken the request */
	bool tell_connected;		/* the consumer has to be told that it is there */
	int status;			/* in ENDED: why no connection came of it, or 0 */
	struct srn_qp *qp;		/* with a reference */
	struct socket *sock;		/* until the stream has it */
	struct delayed_work work;	/* holds a reference while queued */
	unsigned long deadline;		/* jiffies; 0: none */

	u32 id;				/* in dev->requests, 0: not there */
	union srn_address local;	/* once known */
	union srn_address remote;

	bool crc;			/* active: what the request asks for */
	bool markers;
	u8 revision;			/* active: MPA revision that is offered */
	u32 ird;
	u32 ord;
	u16 private_len;		/* active: ULP private data for the request */
	u8 *private_data;

	/* The peer's frame, as it comes in. */
	struct srn_mpa_frame frame;
	u32 have;
	u8 *in;				/* until the consumer has been told of the connection */

	/* Passive: where it came from. Listener: its port. */
	struct srn_ep *listener;	/* with a reference */
	struct srn_port *port;
	struct list_head half_open;	/* listener: children before REQUESTED, oldest first */
	struct list_head half_open_node;	/* child: there; both under dev->lock */
	u32 num_half_open;
	struct list_head untold;	/* listener: requests that no consumer knows of yet */
	struct list_head untold_node;	/* child: there; both under dev->lock */
	u32 num_untold;			/* those, and the one that its consumer is being told of */
	u32 backlog;
};

/* ep.c */
struct srn_ep *srn_ep_alloc(struct srn_device *dev, enum srn_ep_state state,
			    struct srn_ep *listener);
struct srn_ep *srn_ep_get(struct srn_ep *ep);
void srn_ep_put(struct srn_ep *ep);
void srn_ep_hook(struct srn_ep *ep);
void srn_ep_queue(struct srn_ep *ep, unsigned long delay);
void srn_ep_wait(struct srn_ep *ep);
void srn_ep_set_deadline(struct srn_ep *ep, unsigned long delay);
void srn_ep_note_addresses(struct srn_ep *ep);
void srn_ep_end(struct srn_ep *ep, int status, bool polite);
void srn_ep_close(struct srn_ep *ep, bool polite);
int srn_ep_take_qp(struct srn_ep *ep, u32 qpn);
struct srn_ep *srn_ep_find_request(struct iw_cm_id *cm_id);
void srn_ep_take_cm_id(struct srn_ep *ep, struct iw_cm_id *cm_id);
int srn_ep_read_frame(struct srn_ep *ep, bool reply);
int srn_ep_send_frame(struct srn_ep *ep, const struct srn_mpa_frame *frame, const void *data,
		      u32 len);
void srn_ep_qp_ended(struct srn_ep *ep);
void srn_cm_device_gone(struct srn_device *dev);

/* report.c */
void srn_report_init(struct srn_ep *ep);
int srn_report_request(struct srn_ep *ep);
int srn_report_connecting(struct srn_ep *ep);
void srn_report_accepted(struct srn_ep *ep);
void srn_report_connected(struct srn_ep *ep);
void srn_report_ended(struct srn_ep *ep);
void srn_report_wait(struct srn_ep *ep);
void srn_report_listener_gone(struct srn_ep *listener);
void srn_report_tell(struct srn_ep *ep);
struct ib_qp *srn_report_get_qp(struct ib_device *ibdev, int qpn);
void srn_report_claim(struct srn_qp *qp, struct srn_ep *ep);
void srn_report_rem_ref(struct ib_qp *ibqp);

/* reporter.c */
struct srn_reporter *srn_reporter_get(struct srn_device *dev);
struct srn_reporter *srn_reporter_share(struct srn_reporter *r);
void srn_reporter_put(struct srn_reporter *r);
void srn_reporter_queue(struct srn_ep *ep);

/* active.c */
int srn_cm_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
void srn_ep_active_work(struct srn_ep *ep);
void srn_ep_connect_failed(struct srn_ep *ep, int status);

/* passive.c */
int srn_cm_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int srn_cm_reject(struct iw_cm_id *cm_id, const void *data, u8 len);
void srn_ep_passive_start(struct srn_ep *listener, struct socket *sock);
void srn_ep_passive_work(struct srn_ep *ep);
void srn_ep_leave_half_open(struct srn_ep *ep);

/* listen.c */
int srn_cm_create_listen(struct iw_cm_id *cm_id, int backlog);
int srn_cm_destroy_listen(struct iw_cm_id *cm_id);

#define srn_ep_notice(ep, fmt, ...)	srn_notice((ep)->dev, fmt, ##__VA_ARGS__)

#endif /* SRN_CM_H */
