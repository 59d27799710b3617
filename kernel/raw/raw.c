// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The life of a bring-up by hand, see raw.h.
 */
#include <linux/nsproxy.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/tcp_states.h>

#include "../compat/compat.h"
#include "../qp/completion.h"
#include "../qp/connection.h"
#include "../qp/rnr.h"
#include "../qp/state.h"
#include "../stream/charge.h"
#include "../stream/keepalive.h"
#include "../stream/linger.h"
#include "../stream/sock.h"
#include "listener.h"
#include "raw.h"

/* How long an attempt may take to reach the peer, and to get a reply. */
#define CONNECT_TIMEOUT	(5 * HZ)
#define REPLY_TIMEOUT	(5 * HZ)
/*
 * Delays between attempts. Usually both ends come within a few milliseconds of each other. The end
 * that waits for an attempt may have sends that wait, too, so one comes well within its patience.
 */
#define MIN_DELAY	msecs_to_jiffies(5)
#define MAX_DELAY	(2 * HZ)
/* The shortest time for which sends wait, whatever the program has set. */
#define MIN_PATIENCE	(5 * HZ)
/* How often to check whether sends wait for a peer that does not come. */
#define PATIENCE_PERIOD	HZ

static const struct srn_conn_ops raw_conn_ops;

static struct srn_raw *raw_of_conn(struct srn_conn *conn)
{
	return container_of(conn, struct srn_raw, conn);
}

static void raw_free(struct kref *ref)
{
	struct srn_raw *raw = container_of(ref, struct srn_raw, ref);

	srn_handshake_exit(&raw->peer);
	kfree(raw);
}

static void raw_put(struct srn_raw *raw)
{
	kref_put(&raw->ref, raw_free);
}

static void queue_later(struct srn_raw *raw, unsigned long delay)
{
	kref_get(&raw->ref);
	if (mod_delayed_work(raw->dev->raw_wq, &raw->work, delay))
		raw_put(raw);
}

static void queue_unless_pending(struct srn_raw *raw, unsigned long delay)
{
	kref_get(&raw->ref);
	if (!queue_delayed_work(raw->dev->raw_wq, &raw->work, delay))
		raw_put(raw);
}

static void wake(struct sock *sk)
{
	struct srn_raw *raw;

	read_lock_bh(&sk->sk_callback_lock);
	raw = sk->sk_user_data;
	if (raw)
		queue_later(raw, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void give_up_socket(struct srn_raw *raw)
{
	lockdep_assert_held(&raw->lock.mutex);
	if (!raw->sock)
		return;
	srn_sock_unhook(raw->sock->sk);
	srn_sock_abort(raw->sock);
	raw->sock = NULL;
}

static void attempt_failed(struct srn_raw *raw)
{
	give_up_socket(raw);
	raw->state = SRN_RAW_WAITING;
	queue_later(raw, raw->delay);
	raw->delay = min_t(unsigned long, 2 * raw->delay, MAX_DELAY);
}

/* How often a Send is tried that finds no receive. 7 retries stand for any number. */
static u8 rnr_tries(const struct srn_raw *raw)
{
	return raw->attr.rnr_retry == 7 ? 0 : raw->attr.rnr_retry + 1;
}

static struct srn_conn_params conn_params(const struct srn_raw *raw,
					  const struct srn_mpa_frame *peer, bool answers)
{
	struct srn_conn_params conn = {
		.crc = raw->crc || peer->crc,
		.tx_markers = peer->markers,
		.rx_markers = raw->markers,
		.peer_answers = raw->answers && answers,
		.ird = raw->attr.max_dest_rd_atomic,
		.ord = min_t(u32, peer->ird, SRN_MAX_READ_DEPTH),
		.rnr_timer = raw->attr.min_rnr_timer,
	};

	if (raw->rts) {
		conn.ord = min_t(u32, conn.ord, raw->attr.max_rd_atomic);
		conn.rnr_tries = rnr_tries(raw);
	}
	return conn;
}

/* Context: raw->lock held. Return: 0, the socket is the queue pair's; or a negative errno. */
static int start(struct srn_raw *raw, struct socket *sock, const struct srn_conn_params *conn)
{
	int ret;

	ret = srn_connection_start(raw->qp, &raw->conn, sock, conn);
	if (ret)
		return ret;
	raw->state = SRN_RAW_ESTABLISHED;
	raw->sends_since = 0;
	srn_handshake_exit(&raw->peer);
	/* A program that waits in RTR may go on. */
	if (!raw->rts)
		srn_connection_event(raw->qp, IB_EVENT_COMM_EST);
	srn_count(raw->dev->counters, raw->active ? SRN_COUNT_CONNECTS : SRN_COUNT_ACCEPTS);
	return 0;
}

/* The attempt has got as far as the queue pair's stream. */
static void start_or_fail(struct srn_raw *raw, const struct srn_conn_params *conn)
{
	srn_sock_unhook(raw->sock->sk);
	if (start(raw, raw->sock, conn))
		attempt_failed(raw);
	else
		raw->sock = NULL;
}

static struct srn_mpa_frame our_frame(const struct srn_raw *raw, bool reply)
{
	return (struct srn_mpa_frame) {
		.reply = reply, .crc = raw->crc, .revision = 2, .enhanced = true,
		.markers = raw->markers, .peer_to_peer = true, .rtr_write = true,
		.ird = raw->attr.max_dest_rd_atomic, .ord = SRN_MAX_READ_DEPTH,
	};
}

static int send_frame(struct srn_raw *raw, struct socket *sock, const struct srn_mpa_frame *frame)
{
	struct srn_bring_up b = {
		.has_sq_psn = raw->rts,
		.answers = raw->answers,
		.source_qpn = raw->qp->ibqp.qp_num,
		.dest_qpn = raw->attr.dest_qp_num,
		.sq_psn = raw->attr.sq_psn,
		.rq_psn = raw->attr.rq_psn,
	};
	u8 data[SRN_BRING_UP_LEN];

	memcpy(b.source_gid, raw->sgid.raw, SRN_GID_LEN);
	memcpy(b.dest_gid, raw->attr.ah_attr.grh.dgid.raw, SRN_GID_LEN);
	srn_bring_up_put(data, &b);
	return srn_handshake_send(sock, frame, data, sizeof(data));
}

/*
 * Each end tells the sequence number that it expects, and the one with which it begins if it is in
 * RTS. One of the two at least has to be known, and to be right: programs that do not choose them
 * at random all use the same ones.
 */
static bool same_pair(const struct srn_raw *raw, const struct srn_bring_up *b)
{
	if (b->source_qpn != raw->attr.dest_qp_num || b->dest_qpn != raw->qp->ibqp.qp_num ||
	    memcmp(b->dest_gid, raw->sgid.raw, SRN_GID_LEN) ||
	    memcmp(b->source_gid, raw->attr.ah_attr.grh.dgid.raw, SRN_GID_LEN))
		return false;
	if (b->has_sq_psn && b->sq_psn != raw->attr.rq_psn)
		return false;
	if (raw->rts && b->rq_psn != raw->attr.sq_psn)
		return false;
	return b->has_sq_psn || raw->rts;
}

/* Does a frame come from a queue pair that is brought up by hand? @b: what it says then. */
static bool read_frame(const struct srn_handshake *peer, struct srn_bring_up *b)
{
	const struct srn_mpa_frame *f = &peer->frame;
	u32 len;
	const u8 *data = srn_handshake_private(peer, &len);

	return f->enhanced && f->peer_to_peer && f->rtr_write && data &&
	       !srn_bring_up_get(data, len, b);
}

static int bind_local(struct srn_raw *raw)
{
	union srn_address local = raw->local;
	int yes = 1;

	/*
	 * The port may serve connections to other peers as well. One that names itself needs it
	 * now.
	 */
	if (!raw->self)
		ip_setsockopt(raw->sock->sk, SOL_IP, IP_BIND_ADDRESS_NO_PORT, KERNEL_SOCKPTR(&yes),
			      sizeof(yes));
	return kernel_bind(raw->sock, srn_sockaddr(&local), srn_address_len(local.family));
}

/* Where to connect to. A queue pair that is its own peer connects its socket to itself. */
static int target(struct srn_raw *raw, union srn_address *to)
{
	if (raw->self)
		return min(kernel_getsockname(raw->sock, (struct sockaddr *)to), 0);
	*to = raw->remote;
	srn_address_set_port(to, raw->port);
	return 0;
}

static void begin_attempt(struct srn_raw *raw)
{
	static const struct srn_sock_hooks hooks = { .data_ready = wake, .state_change = wake };
	union srn_address to = {};
	int ret;

	raw->peer.have = 0;
	ret = srn_sock_create(raw->dev->net, raw->local.family, &raw->sock);
	if (ret) {
		raw->sock = NULL;
		attempt_failed(raw);
		return;
	}
	srn_charge_sock(raw->sock->sk, raw->qp->stream.payer);
	raw->state = SRN_RAW_CONNECTING;
	raw->deadline = jiffies + CONNECT_TIMEOUT;
	srn_sock_hook(raw->sock->sk, &hooks, raw);
	/* Before there can be a callback, which queues it for an earlier time. */
	queue_later(raw, CONNECT_TIMEOUT);
	ret = bind_local(raw) ?: target(raw, &to);
	if (!ret)
		ret = kernel_connect(raw->sock, srn_sockaddr(&to), srn_address_len(to.family),
				     O_NONBLOCK);
	if (ret && ret != -EINPROGRESS)
		attempt_failed(raw);
}

static void start_with_itself(struct srn_raw *raw)
{
	const struct srn_mpa_frame self = {
		.crc = raw->crc, .ird = raw->attr.max_dest_rd_atomic, .markers = raw->markers,
	};
	struct srn_conn_params conn = conn_params(raw, &self, true);

	conn.itself = true;
	start_or_fail(raw, &conn);
}

static void connecting(struct srn_raw *raw)
{
	struct sock *sk = raw->sock->sk;
	struct srn_mpa_frame frame;

	if (sk->sk_state == TCP_SYN_SENT || sk->sk_state == TCP_SYN_RECV)
		return;
	if (sk->sk_state != TCP_ESTABLISHED && sk->sk_state != TCP_CLOSE_WAIT) {
		attempt_failed(raw);
		return;
	}
	srn_keepalive_start(raw->sock);
	if (raw->self) {
		start_with_itself(raw);
		return;
	}
	raw->state = SRN_RAW_WAIT_REPLY;
	raw->deadline = jiffies + REPLY_TIMEOUT;
	queue_later(raw, REPLY_TIMEOUT);
	frame = our_frame(raw, false);
	if (send_frame(raw, raw->sock, &frame))
		attempt_failed(raw);
}

static void wait_reply(struct srn_raw *raw)
{
	const struct srn_mpa_frame *f = &raw->peer.frame;
	int ret = srn_handshake_read(&raw->peer, raw->sock, true);
	struct srn_conn_params conn;
	struct srn_bring_up b;

	if (ret == -EAGAIN)
		return;
	if (ret || f->reject || !read_frame(&raw->peer, &b) || !same_pair(raw, &b)) {
		attempt_failed(raw);
		return;
	}
	conn = conn_params(raw, f, b.answers);
	conn.initiator = true;
	conn.rtr = SRN_RTR_WRITE;
	start_or_fail(raw, &conn);
}

/* As InfiniBand's: so long without an answer, so many times; but 5 seconds at least. */
static unsigned long patience(const struct srn_raw *raw)
{
	u64 ns = 4ULL * 4096 << raw->attr.timeout;

	return max_t(unsigned long, nsecs_to_jiffies(ns * (raw->attr.retry_cnt + 1)), MIN_PATIENCE);
}

static bool sends_wait(struct srn_qp *qp)
{
	struct srn_sq *sq = &qp->sq;
	bool wait;

	spin_lock_irq(&sq->lock);
	wait = sq->cons != (qp->map ? READ_ONCE(qp->ctrl->sq_prod) : sq->prod);
	spin_unlock_irq(&sq->lock);
	return wait;
}

/*
 * There is no connection, or none any more. A program that sends nothing may wait for ever, and so
 * may one that has set no limit. Return: true if it goes on.
 */
static bool be_patient(struct srn_raw *raw)
{
	if (!raw->rts || !raw->attr.timeout || !sends_wait(raw->qp)) {
		raw->sends_since = 0;
		return true;
	}
	if (!raw->sends_since)
		raw->sends_since = jiffies ?: 1;
	if (time_before(jiffies, raw->sends_since + patience(raw)))
		return true;
	srn_completion_flush_first_as(raw->qp, IB_WC_RETRY_EXC_ERR);
	srn_state_fail(raw->qp, 0, NULL, raw->gone ? "its peer is gone" : "its peer does not come");
	return false;
}

/*
 * The other end gave up when our reply was on its way, and comes again, but a queue pair is
 * connected only once. Return: true if that has happened.
 */
static bool lost_reply(struct srn_raw *raw)
{
	if (!raw->gone || raw->active || raw->self || READ_ONCE(raw->qp->rx.segments))
		return false;
	srn_state_fail(raw->qp, IB_EVENT_QP_FATAL, NULL, "its peer gave up while it connected");
	return true;
}

static void waiting(struct srn_raw *raw)
{
	if (lost_reply(raw) || !be_patient(raw))
		return;
	if (!raw->gone && (raw->active || raw->self))
		begin_attempt(raw);
	else if (raw->rts && raw->attr.timeout)
		queue_later(raw, PATIENCE_PERIOD);
}

static void look(struct srn_raw *raw)
{
	bool attempting;

	if (raw->state == SRN_RAW_CONNECTING)
		connecting(raw);
	if (raw->state == SRN_RAW_WAIT_REPLY)
		wait_reply(raw);
	attempting = raw->state == SRN_RAW_CONNECTING || raw->state == SRN_RAW_WAIT_REPLY;
	if (attempting && time_after_eq(jiffies, raw->deadline))
		attempt_failed(raw);
	else if (attempting)
		/* What woke this work took the deadline's timer with it. */
		queue_unless_pending(raw, raw->deadline - jiffies);
	else if ((raw->state == SRN_RAW_WAITING || raw->gone) && raw->state != SRN_RAW_ENDED &&
		 !delayed_work_pending(&raw->work))
		waiting(raw);
}

static void unlock(struct srn_raw *raw)
{
	if (srn_worker_lock_release(&raw->lock) && READ_ONCE(raw->state) != SRN_RAW_ENDED)
		queue_later(raw, 0);
}

/* If a process holds the lock, the link's other bring-ups must not wait for that. */
static void raw_work(struct work_struct *work)
{
	struct srn_raw *raw = container_of(to_delayed_work(work), struct srn_raw, work);
	unsigned int noio = memalloc_noio_save();

	if (srn_worker_lock_try(&raw->lock)) {
		look(raw);
		unlock(raw);
	}
	memalloc_noio_restore(noio);
	raw_put(raw);
}

static void raw_end(struct srn_raw *raw)
{
	bool first;

	mutex_lock(&raw->lock.mutex);
	first = raw->state != SRN_RAW_ENDED;
	raw->state = SRN_RAW_ENDED;
	give_up_socket(raw);
	unlock(raw);
	if (!first)
		return;
	if (cancel_delayed_work(&raw->work))
		raw_put(raw);
	if (raw->listener)
		srn_raw_listener_put(raw->listener);
	srn_qp_put(raw->qp);
	raw_put(raw);
}

static void conn_get(struct srn_conn *conn)
{
	kref_get(&raw_of_conn(conn)->ref);
}

static void conn_put(struct srn_conn *conn)
{
	raw_put(raw_of_conn(conn));
}

static void conn_ended(struct srn_conn *conn)
{
	raw_end(raw_of_conn(conn));
}

static int conn_to_rts(struct srn_conn *conn, const struct ib_qp_attr *attr, int mask)
{
	struct srn_raw *raw = raw_of_conn(conn);
	int ret = -EINVAL;

	mutex_lock(&raw->lock.mutex);
	if (raw->state == SRN_RAW_ENDED || READ_ONCE(raw->qp->state) > IB_QPS_RTS) {
		srn_qp_notice(raw->qp, "RTS: its connection has ended\n");
		goto out;
	}
	if (!ib_modify_qp_is_ok(raw->rts ? IB_QPS_RTS : IB_QPS_RTR, IB_QPS_RTS, IB_QPT_RC,
				mask & ~IB_QP_RATE_LIMIT)) {
		srn_qp_notice(raw->qp, "RTS: an attribute is missing, or has no place there\n");
		goto out;
	}
	if (mask & IB_QP_MIN_RNR_TIMER) {
		raw->attr.min_rnr_timer = attr->min_rnr_timer;
		if (raw->state == SRN_RAW_ESTABLISHED)
			srn_rnr_set_timer(raw->qp, attr->min_rnr_timer);
	}
	if (!raw->rts) {
		raw->attr.sq_psn = attr->sq_psn & SRN_MAX_PSN;
		raw->attr.timeout = attr->timeout & 31;
		raw->attr.retry_cnt = attr->retry_cnt & 7;
		raw->attr.rnr_retry = attr->rnr_retry & 7;
		raw->attr.max_rd_atomic = min_t(u8, attr->max_rd_atomic, SRN_MAX_READ_DEPTH);
		raw->rts = true;
		/* Nothing is sent before that, so nobody looks at it yet. */
		if (raw->state == SRN_RAW_ESTABLISHED) {
			raw->qp->sq.ord = min_t(u32, raw->qp->sq.ord, raw->attr.max_rd_atomic);
			srn_rnr_limit_tries(raw->qp, rnr_tries(raw));
		}
		srn_state_open_sends(raw->qp);
	}
	raw->delay = MIN_DELAY;
	if (raw->state == SRN_RAW_WAITING || raw->gone)
		queue_later(raw, 0);
	ret = 0;
out:
	unlock(raw);
	return ret;
}

static void conn_query(struct srn_conn *conn, struct ib_qp_attr *attr)
{
	struct srn_raw *raw = raw_of_conn(conn);

	mutex_lock(&raw->lock.mutex);
	if (attr->qp_state == IB_QPS_RTR || attr->qp_state == IB_QPS_RTS)
		attr->qp_state = raw->rts ? IB_QPS_RTS : IB_QPS_RTR;
	attr->cur_qp_state = attr->qp_state;
	attr->path_mtu = raw->attr.path_mtu;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->rq_psn = raw->attr.rq_psn;
	attr->sq_psn = raw->attr.sq_psn;
	attr->dest_qp_num = raw->attr.dest_qp_num;
	attr->ah_attr = raw->attr.ah_attr;
	attr->pkey_index = raw->attr.pkey_index;
	attr->max_rd_atomic = raw->attr.max_rd_atomic;
	attr->max_dest_rd_atomic = raw->attr.max_dest_rd_atomic;
	attr->min_rnr_timer = raw->attr.min_rnr_timer;
	attr->timeout = raw->attr.timeout;
	attr->retry_cnt = raw->attr.retry_cnt;
	attr->rnr_retry = raw->attr.rnr_retry;
	unlock(raw);
}

static void conn_peer_gone(struct srn_conn *conn)
{
	struct srn_raw *raw = raw_of_conn(conn);

	if (READ_ONCE(raw->gone))
		return;
	WRITE_ONCE(raw->gone, true);
	queue_later(raw, 0);
}

static const struct srn_conn_ops raw_conn_ops = {
	.get = conn_get, .put = conn_put, .ended = conn_ended,
	.to_rts = conn_to_rts, .query = conn_query, .peer_gone = conn_peer_gone,
};

/* Return: false if @gid is no address that a peer can have. */
static bool address_of(const struct srn_device *dev, const union ib_gid *gid, union srn_address *a)
{
	const struct in6_addr *in6 = (const struct in6_addr *)gid;

	memset(a, 0, sizeof(*a));
	if (ipv6_addr_v4mapped(in6)) {
		a->in.sin_family = AF_INET;
		a->in.sin_addr.s_addr = in6->s6_addr32[3];
		return !ipv4_is_zeronet(a->in.sin_addr.s_addr) &&
		       !ipv4_is_multicast(a->in.sin_addr.s_addr) &&
		       !ipv4_is_lbcast(a->in.sin_addr.s_addr);
	}
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_addr = *in6;
	if (ipv6_addr_type(in6) & IPV6_ADDR_LINKLOCAL)
		a->in6.sin6_scope_id = dev->netdev->ifindex;
	return ipv6_addr_type(in6) & IPV6_ADDR_UNICAST && memcmp(gid, &dev->gid, sizeof(*gid));
}

static bool same_host(const union srn_address *a, const union srn_address *b)
{
	if (a->family != b->family)
		return false;
	if (a->family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return ipv6_addr_equal(&a->in6.sin6_addr, &b->in6.sin6_addr);
}

static int get_addresses(struct srn_raw *raw, const struct ib_qp_attr *attr, const char **reason)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&attr->ah_attr);

	*reason = "there is no GRH, whose GIDs tell the peer's address";
	if (!(rdma_ah_get_ah_flags(&attr->ah_attr) & IB_AH_GRH) || !grh->sgid_attr)
		return -EINVAL;
	raw->sgid = grh->sgid_attr->gid;
	*reason = "the GID at sgid_index is no IP address";
	if (!address_of(raw->dev, &raw->sgid, &raw->local))
		return -EINVAL;
	*reason = "the destination's GID is no IP address";
	if (!address_of(raw->dev, &grh->dgid, &raw->remote))
		return -EINVAL;
	*reason = "one GID is an IPv4 address and the other one is not";
	return raw->local.family == raw->remote.family ? 0 : -EINVAL;
}

/* Who connects. Two attempts to connect would meet otherwise. */
static void choose_role(struct srn_raw *raw)
{
	u32 qpn = raw->qp->ibqp.qp_num;
	int order = memcmp(&raw->sgid, &raw->attr.ah_attr.grh.dgid, sizeof(raw->sgid));

	raw->self = !order && qpn == raw->attr.dest_qp_num;
	raw->active = order < 0 || (!order && qpn < raw->attr.dest_qp_num);
}

/* Return: the bring-up that is under way for that queue pair, with a reference, or NULL. */
static struct srn_raw *find(struct srn_device *dev, u32 qpn)
{
	struct srn_conn *conn = NULL;
	struct srn_qp *qp;

	rcu_read_lock();
	qp = srn_qp_find(dev, qpn);
	if (qp) {
		spin_lock_irq(&qp->state_lock);
		if (qp->conn && qp->conn->ops == &raw_conn_ops)
			conn = qp->conn;
		if (conn)
			conn_get(conn);
		spin_unlock_irq(&qp->state_lock);
	}
	rcu_read_unlock();
	return conn ? raw_of_conn(conn) : NULL;
}

static bool comes_from_peer(const struct srn_raw *raw, struct socket *sock)
{
	union srn_address local = {}, remote = {};

	return kernel_getsockname(sock, (struct sockaddr *)&local) >= 0 &&
	       kernel_getpeername(sock, (struct sockaddr *)&remote) >= 0 &&
	       same_host(&local, &raw->local) && same_host(&remote, &raw->remote);
}

static bool accept(struct srn_raw *raw, struct socket *sock, const struct srn_handshake *request,
		   bool answers)
{
	struct srn_conn_params conn = conn_params(raw, &request->frame, answers);
	struct srn_mpa_frame f = our_frame(raw, true);

	conn.hold_tx = SRN_HOLD;
	f.crc = conn.crc;
	return !send_frame(raw, sock, &f) && !start(raw, sock, &conn);
}

/* As srn_raw_offer, in listener.h. */
static int offer(struct srn_device *dev, struct socket *sock,
		 const struct srn_handshake *request, const char **reason)
{
	struct srn_bring_up b;
	struct srn_raw *raw;
	int ret = -ECONNREFUSED;

	*reason = "it is not for a queue pair that is brought up by hand";
	if (request->frame.revision != 2 || !read_frame(request, &b))
		return ret;
	*reason = NULL;
	raw = find(dev, b.dest_qpn);
	if (!raw)
		return ret;
	if (!mutex_trylock(&raw->lock.mutex)) {
		ret = -EAGAIN;
		goto put;
	}
	if (raw->state == SRN_RAW_WAITING && !raw->active && !raw->self) {
		*reason = "the queue pair waits for another peer";
		if (!comes_from_peer(raw, sock))
			goto out;
		*reason = NULL;
		if (same_pair(raw, &b) && accept(raw, sock, request, b.answers))
			ret = 0;
	}
out:
	unlock(raw);
put:
	raw_put(raw);
	return ret;
}

static int prepare_role(struct srn_raw *raw)
{
	struct srn_raw_listener *listener;
	union srn_address local = raw->local;

	if (raw->self)
		return 0;
	if (raw->active)
		return srn_handshake_init(&raw->peer, GFP_KERNEL_ACCOUNT);
	srn_address_set_port(&local, raw->port);
	listener = srn_raw_listener_get(raw->dev, &local, offer);
	if (IS_ERR(listener))
		return PTR_ERR(listener);
	raw->listener = listener;
	return 0;
}

static struct srn_raw *raw_new(struct srn_qp *qp, const struct ib_qp_attr *attr, u16 port)
{
	struct srn_raw *raw = kzalloc(sizeof(*raw), GFP_KERNEL_ACCOUNT);

	if (!raw)
		return NULL;
	kref_init(&raw->ref);
	srn_worker_lock_init(&raw->lock);
	INIT_DELAYED_WORK(&raw->work, raw_work);
	raw->conn.ops = &raw_conn_ops;
	raw->dev = qp->dev;
	raw->qp = qp;
	raw->crc = READ_ONCE(qp->dev->crc);
	raw->markers = READ_ONCE(qp->dev->markers);
	raw->answers = READ_ONCE(qp->dev->greeting);
	raw->port = port;
	raw->delay = MIN_DELAY;
	raw->attr = *attr;
	/* The core has a reference to it for the time of the call only. */
	raw->attr.ah_attr.grh.sgid_attr = NULL;
	raw->attr.max_dest_rd_atomic = min_t(u8, attr->max_dest_rd_atomic, SRN_MAX_READ_DEPTH);
	raw->attr.max_rd_atomic = 0;
	raw->attr.rq_psn &= SRN_MAX_PSN;
	raw->attr.sq_psn = 0;
	raw->attr.timeout = 0;
	raw->attr.retry_cnt = 0;
	raw->attr.rnr_retry = 0;
	return raw;
}

static int bind_qp(struct srn_raw *raw)
{
	struct srn_qp *qp = raw->qp;
	int ret = 0;

	if (srn_state_bind(qp, &raw->conn))
		return -EINVAL;
	spin_lock_irq(&qp->state_lock);
	if (qp->state != IB_QPS_INIT || !srn_state_set(qp, IB_QPS_RTR))
		ret = -EINVAL;
	spin_unlock_irq(&qp->state_lock);
	if (ret)
		srn_state_unbind(qp, &raw->conn);
	return ret;
}

/**
 * srn_raw_bring_up - take a queue pair from INIT to RTR by hand
 * @qp: queue pair
 * @attr: who the peer is
 * @mask: which attributes
 *
 * Context: process, sleeps.
 *
 * A process brings up queue pairs in the network namespace of the link, as with rdma_cm.
 *
 * Return: 0; -EOPNOTSUPP if the link has no port for this, or the kernel's own queue pair is meant;
 * -EPERM for another namespace's process; -EINVAL if attributes are missing or
 * wrong, or the queue pair is not in INIT, or rdma_cm connects it; another negative errno.
 */
int srn_raw_bring_up(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	const char *reason = "the link's setting raw/port is 0";
	u16 port = READ_ONCE(qp->dev->raw_port);
	struct srn_raw *raw;
	int ret = -EOPNOTSUPP;

	if (qp->kernel || !port)
		goto refuse;
	ret = -EPERM;
	reason = "the process is in another network namespace than the link";
	if (!net_eq(current->nsproxy->net_ns, qp->dev->net))
		goto refuse;
	ret = -EINVAL;
	reason = "an attribute is missing, or has no place there";
	if (!ib_modify_qp_is_ok(IB_QPS_INIT, IB_QPS_RTR, IB_QPT_RC, mask))
		goto refuse;
	raw = raw_new(qp, attr, port);
	if (!raw)
		return -ENOMEM;
	srn_qp_get(qp);
	kref_get(&raw->ref);
	ret = get_addresses(raw, attr, &reason);
	if (ret)
		goto end;
	choose_role(raw);
	reason = "there is no memory, or the link's port is not free";
	ret = prepare_role(raw);
	if (ret)
		goto end;
	mutex_lock(&raw->lock.mutex);
	reason = "it is not in INIT, or rdma_cm connects it";
	ret = bind_qp(raw);
	if (!ret && raw->state == SRN_RAW_WAITING && (raw->active || raw->self))
		queue_later(raw, 0);
	unlock(raw);
end:
	if (ret)
		raw_end(raw);
	raw_put(raw);
refuse:
	if (ret)
		srn_qp_notice(qp, "RTR: %s\n", reason);
	return ret;
}
