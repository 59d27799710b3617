// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The initiator: TCP connect, MPA request, MPA reply.
 */
#include <linux/slab.h>
#include <net/ipv6.h>

#include "../compat/compat.h"
#include "../qp/connection.h"
#include "../stream/address.h"
#include "../stream/frame.h"
#include "../stream/handshake.h"
#include "../stream/keepalive.h"
#include "../stream/qos.h"
#include "../stream/sock.h"
#include "active.h"
#include "claim.h"
#include "rdma_id.h"
#include "report.h"

#define CONNECT_TIMEOUT	(15 * HZ)
#define REPLY_TIMEOUT	(30 * HZ)

static enum srn_counter failure_counter(const struct srn_ep *ep, int status)
{
	switch (status) {
	case -ECONNREFUSED:
		return ep->peer.frame.reject ? SRN_COUNT_CONNECT_REJECTED :
					       SRN_COUNT_CONNECT_REFUSED;
	case -ETIMEDOUT:
		return SRN_COUNT_CONNECT_TIMEOUTS;
	default:
		return SRN_COUNT_CONNECT_FAILURES;
	}
}

static void count_failure(const struct srn_ep *ep, int status)
{
	srn_count(ep->dev->counters, failure_counter(ep, status));
}

/* The attempt to connect has failed. Context: ep->lock held. */
static void connect_failed(struct srn_ep *ep, int status)
{
	count_failure(ep, status);
	srn_report_ended(ep, status, false);
}

static void add_scope(struct srn_ep *ep, struct sockaddr_storage *a)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)a;

	if (in6->sin6_family == AF_INET6 && !in6->sin6_scope_id &&
	    ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		in6->sin6_scope_id = ep->dev->netdev->ifindex;
}

/*
 * The core's mapped addresses are not used: they come from the port mapper, which any process can
 * pretend to be. Nor are they needed, since the link's ports are those of TCP.
 *
 * A port of TCP's choice is used by nobody, not even by a connection in TIME-WAIT, so it needs no
 * SO_REUSEADDR.
 */
static int bind_local(struct srn_ep *ep, bool any_port)
{
	struct sockaddr_storage local = ep->cm_id->local_addr;

	add_scope(ep, &local);
	if (any_port)
		srn_address_set_port((union srn_address *)&local, 0);
	else
		sock_set_reuseaddr(ep->sock->sk);
	return kernel_bind(ep->sock, srn_sockaddr(&local), srn_address_len(local.ss_family));
}

static int start_connect(struct srn_ep *ep, bool any_port)
{
	struct sockaddr_storage remote = ep->cm_id->remote_addr;
	int ret;

	ret = srn_sock_create(ep->dev->net, remote.ss_family, &ep->sock);
	if (ret)
		return ret;
	if (ep->cm_id->tos_set)
		srn_qos_set_tos(ep->sock, ep->cm_id->tos);
	add_scope(ep, &remote);
	ret = bind_local(ep, any_port);
	if (ret)
		return ret;
	ep->state = SRN_EP_CONNECTING;
	ep->peer.have = 0;
	srn_ep_hook(ep);
	ret = kernel_connect(ep->sock, srn_sockaddr(&remote), srn_address_len(remote.ss_family),
			     O_NONBLOCK);
	if (ret && ret != -EINPROGRESS)
		return ret;
	/* The socket's callback has queued the endpoint if it is connected already. */
	srn_ep_set_deadline(ep, CONNECT_TIMEOUT);
	return 0;
}

static int connect_from_any_port(struct srn_ep *ep)
{
	if (ep->sock) {
		srn_sock_unhook(ep->sock->sk);
		srn_sock_abort(ep->sock);
		ep->sock = NULL;
	}
	return start_connect(ep, true);
}

/*
 * The core has port numbers of its own: a TCP program may be using this one, or an earlier
 * connection from it to the same peer may not have come to its end yet.
 */
static int first_connect(struct srn_ep *ep)
{
	int ret = start_connect(ep, false);

	if (ret == -EADDRINUSE || ret == -EADDRNOTAVAIL)
		ret = connect_from_any_port(ep);
	return ret;
}

static int send_request(struct srn_ep *ep)
{
	struct srn_mpa_frame f = {
		.crc = ep->crc,
		.markers = ep->markers,
		.revision = ep->revision,
		.enhanced = ep->revision >= 2,
		.peer_to_peer = true,
		.rtr_send = true,
		.rtr_write = true,
		.rtr_read = ep->ord > 0,
		.ird = ep->ird,
		.ord = ep->ord,
	};

	return srn_handshake_send(ep->sock, &f, ep->private_data, ep->private_len);
}

/*
 * A peer that knows only revision 1 closes the connection on a request of revision 2. The pair of
 * ports is in use until the peer has acknowledged our close, for a round trip at least. So the
 * next attempt uses another port.
 */
static bool fall_back(struct srn_ep *ep)
{
	if (ep->revision < 2 || ep->peer.have)
		return false;
	ep->revision = 1;
	return !connect_from_any_port(ep);
}

/* The first FPDU is also the last one and says why there will be no more. RFC 6581 section 8. */
static void refuse_reply(struct srn_ep *ep, u8 ecode)
{
	struct srn_term_code code = SRN_TERM(SRN_LAYER_LLP, SRN_LLP_MPA, ecode);
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	u8 fpdu[SRN_TERMINATE_FPDU], payload[SRN_TERM_MAX];
	struct srn_framer framer;
	struct kvec iov;
	u32 len;

	len = srn_rdmap_put_terminate(payload, code, NULL, 0, NULL);
	srn_framer_init(&framer, ep->crc || ep->peer.frame.crc, ep->peer.frame.markers);
	iov.iov_base = fpdu;
	iov.iov_len = srn_frame_terminate(&framer, fpdu, payload, len);
	kernel_sendmsg(ep->sock, &msg, &iov, 1, iov.iov_len);
	count_failure(ep, -EPROTO);
	srn_report_ended(ep, -EPROTO, true);
}

/* A Read counts among those that the peer has to serve. Return: SRN_RTR_NONE if none fits. */
static enum srn_rtr choose_rtr(const struct srn_mpa_frame *f, u32 ord)
{
	if (f->rtr_write)
		return SRN_RTR_WRITE;
	if (f->rtr_read && ord)
		return SRN_RTR_READ;
	return f->rtr_send ? SRN_RTR_SEND : SRN_RTR_NONE;
}

/*
 * Combine our request with the reply. Return: 0, or the error code of a Terminate, with *reason
 * set.
 */
static u8 negotiate(struct srn_ep *ep, struct srn_conn_params *conn, const char **reason)
{
	const struct srn_mpa_frame *f = &ep->peer.frame;

	*conn = (struct srn_conn_params){
		.initiator = true, .crc = ep->crc || f->crc,
		.tx_markers = f->markers, .rx_markers = ep->markers,
	};
	if (f->enhanced && ep->revision >= 2) {
		if (f->ird != SRN_MPA_NO_DEPTH)
			ep->ord = min_t(u32, ep->ord, f->ird);
		if (f->ord != SRN_MPA_NO_DEPTH)
			ep->ird = max_t(u32, ep->ird, f->ord);
		if (ep->ird > SRN_MAX_READ_DEPTH) {
			*reason = "peer demands too many inbound reads";
			return SRN_MPA_INSUFFICIENT_IRD;
		}
		conn->rtr = f->peer_to_peer ? choose_rtr(f, ep->ord) : SRN_RTR_NONE;
		if (f->peer_to_peer && conn->rtr == SRN_RTR_NONE) {
			*reason = "no common ready-to-receive message";
			return SRN_MPA_NO_MATCHING_RTR;
		}
	}
	conn->ird = ep->ird;
	conn->ord = ep->ord;
	return 0;
}

/* In a Reject the peer may say which depths it would have needed. RFC 6581 section 9.1. */
static void note_depths_of_reject(struct srn_ep *ep)
{
	const struct srn_mpa_frame *f = &ep->peer.frame;

	if (!f->enhanced)
		return;
	if (f->ird != SRN_MPA_NO_DEPTH)
		ep->ord = f->ird;
	if (f->ord != SRN_MPA_NO_DEPTH)
		ep->ird = f->ord;
}

static void handle_reply(struct srn_ep *ep)
{
	const char *reason = NULL;
	struct srn_conn_params conn;
	u8 ecode;
	int ret;

	if (ep->peer.frame.revision > ep->revision) {
		srn_ep_notice(ep, "connect: peer replies with unknown MPA revision %u\n",
			      ep->peer.frame.revision);
		connect_failed(ep, -EPROTO);
		return;
	}
	if (ep->peer.frame.reject) {
		note_depths_of_reject(ep);
		connect_failed(ep, -ECONNREFUSED);
		return;
	}
	ecode = negotiate(ep, &conn, &reason);
	if (ecode) {
		srn_ep_notice(ep, "connect: %s\n", reason);
		refuse_reply(ep, ecode);
		return;
	}
	srn_sock_unhook(ep->sock->sk);
	srn_ep_note_addresses(ep);
	ret = srn_connection_start(ep->qp, &ep->conn, ep->sock, &conn);
	if (ret) {
		connect_failed(ep, ret);
		return;
	}
	ep->sock = NULL;
	ep->state = SRN_EP_ESTABLISHED;
	srn_count(ep->dev->counters, SRN_COUNT_CONNECTS);
	srn_report_connected(ep);
}

/* Errors that the core tells apart: refused, unreachable, anything else. */
static int connect_status(int err)
{
	switch (err) {
	case -ECONNREFUSED:
	case -ECONNRESET:
		return -ECONNREFUSED;
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		return -ETIMEDOUT;
	default:
		return err;
	}
}

static void connecting(struct srn_ep *ep)
{
	int ret = srn_sock_connected(ep->sock->sk);

	if (ret == -EINPROGRESS)
		return;
	if (ret) {
		connect_failed(ep, connect_status(ret));
		return;
	}
	/* Not earlier: the attempt to reach the peer has a time limit of its own. */
	srn_keepalive_start(ep->sock);
	ret = send_request(ep);
	if (ret) {
		connect_failed(ep, connect_status(ret));
		return;
	}
	ep->state = SRN_EP_WAIT_REPLY;
	srn_ep_set_deadline(ep, REPLY_TIMEOUT);
}

static void wait_reply(struct srn_ep *ep)
{
	int ret = srn_handshake_read(&ep->peer, ep->sock, true);

	if (!ret) {
		handle_reply(ep);
	} else if (ret == -EPROTO) {
		srn_ep_notice(ep, "connect: peer does not speak MPA\n");
		connect_failed(ep, -EPROTO);
	} else if (ret != -EAGAIN && !fall_back(ep)) {
		connect_failed(ep, connect_status(ret));
	}
}

static void active_work(struct srn_ep *ep)
{
	if (ep->state == SRN_EP_CONNECTING)
		connecting(ep);
	if (ep->state == SRN_EP_WAIT_REPLY)
		wait_reply(ep);
	if (ep->state != SRN_EP_CONNECTING && ep->state != SRN_EP_WAIT_REPLY)
		return;
	if (time_after_eq(jiffies, ep->deadline))
		connect_failed(ep, -ETIMEDOUT);
}

static void active_qp_ended(struct srn_ep *ep)
{
	if (ep->state == SRN_EP_ESTABLISHED)
		srn_report_ended(ep, 0, false);
	else if (ep->state == SRN_EP_CONNECTING || ep->state == SRN_EP_WAIT_REPLY)
		connect_failed(ep, -ECONNABORTED);
}

static const struct srn_ep_kind active = {
	.work = active_work, .qp_ended = active_qp_ended, .tell = srn_report_tell,
};

/**
 * srn_active_connect - connect, for the core
 * @cm_id: connection
 * @param: queue pair, read depths, private data
 *
 * This does not wait for the peer; srn_report_connected() or srn_report_ended() tells the outcome.
 *
 * Context: process.
 *
 * Return: 0; -EINVAL for too much private data; -EAFNOSUPPORT; -ENETUNREACH if the link is not in
 * the consumer's network namespace; -ENOMEM; as srn_claim_take_qp(); or a negative errno of the
 * socket.
 */
int srn_active_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct srn_device *dev = to_srn_dev(cm_id->device);
	struct srn_ep *ep;
	int ret;

	if (param->private_data_len > SRN_MPA_MAX_PRIVATE - SRN_MPA_ENHANCED)
		return -EINVAL;
	if (cm_id->local_addr.ss_family != cm_id->remote_addr.ss_family)
		return -EAFNOSUPPORT;
	/* For a loopback address rdma_cm takes the first device of the host, wherever that is. */
	if (!net_eq(srn_rdma_id_net(cm_id), dev->net)) {
		srn_notice(dev, "no connection from another network namespace\n");
		return -ENETUNREACH;
	}
	ep = srn_ep_alloc(dev, &active, SRN_EP_CONNECTING, NULL);
	if (!ep)
		return -ENOMEM;
	srn_ep_get(ep);
	mutex_lock(&ep->lock.mutex);
	ep->revision = 2;
	ep->crc = READ_ONCE(dev->crc);
	ep->markers = READ_ONCE(dev->markers);
	ep->ird = min_t(u32, param->ird, SRN_MAX_READ_DEPTH);
	ep->ord = min_t(u32, param->ord, SRN_MAX_READ_DEPTH);
	ep->private_len = param->private_data_len;
	ep->private_data = kmemdup(param->private_data, param->private_data_len, GFP_KERNEL);
	srn_ep_take_cm_id(ep, cm_id);
	ret = ep->private_len && !ep->private_data ? -ENOMEM : srn_claim_take_qp(ep, param->qpn);
	if (!ret) {
		ret = first_connect(ep);
		if (ret)
			count_failure(ep, connect_status(ret));
	}
	if (!ret)
		ret = srn_report_connecting(ep);
	return srn_report_settle(ep, ret);
}
