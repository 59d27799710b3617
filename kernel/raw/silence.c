// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sends of a queue pair that was brought up by hand fail soon after its peer's host has vanished.
 *
 * TCP would find out much later, or never: it probes an idle connection once a minute, and the
 * answer to a Read, or the news that a message was placed, may be all that is missing. A time limit
 * of TCP's own (user time-out) would also end a connection whose peer is there and keeps its window
 * closed, as it has no receive for a Send that may wait for ever. So what counts here is for how
 * long the peer's host has left something unanswered, and while sends wait it is asked.
 */
#include <linux/tcp.h>
#include <net/tcp.h>

#include "../device/workqueues.h"
#include "../stream/direct.h"
#include "../stream/keepalive.h"
#include "send_timeout.h"
#include "silence.h"

/* How often to look at sends that wait, and at whether there are any. */
#define BUSY_PERIOD	HZ
#define IDLE_PERIOD	(5 * HZ)
/* How often the peer is asked within the time that sends may wait. */
#define PROBES		8
/* How often it was looked at before that time counts: this host may have stood still. */
#define MIN_LOOKS	4

static void queue(struct srn_raw *raw, unsigned long delay)
{
	srn_raw_get(raw);
	if (!queue_delayed_work(srn_wq, &raw->watch, delay))
		srn_raw_put(raw);
}

/**
 * srn_raw_silence_begin - watch the peer's host from now on
 * @raw: bring-up that is ESTABLISHED
 *
 * Nothing happens before the program has gone to RTS, nor if it has set no time limit.
 *
 * Context: process, raw->lock held.
 */
void srn_raw_silence_begin(struct srn_raw *raw)
{
	lockdep_assert_held(&raw->lock.mutex);
	if (raw->rts && raw->attr.timeout)
		queue(raw, round_jiffies_relative(IDLE_PERIOD));
}

/**
 * srn_raw_silence_end - watch it no more
 * @raw: bring-up that has ENDED
 *
 * Context: process.
 */
void srn_raw_silence_end(struct srn_raw *raw)
{
	if (cancel_delayed_work(&raw->watch))
		srn_raw_put(raw);
}

/* Return: the queue pair, with a reference; or NULL if there is nothing to watch any more. */
static struct srn_qp *watched(struct srn_raw *raw)
{
	struct srn_qp *qp = NULL;

	mutex_lock(&raw->lock.mutex);
	if (raw->state == SRN_RAW_ESTABLISHED && !READ_ONCE(raw->gone)) {
		qp = raw->qp;
		srn_qp_get(qp);
	}
	srn_raw_unlock(raw);
	return qp;
}

static void ask_often(struct srn_raw *raw, struct socket *sock, bool often)
{
	if (raw->asks_often == often)
		return;
	raw->asks_often = often;
	if (often)
		srn_keepalive_often(sock, srn_raw_send_timeout(raw) / HZ / PROBES);
	else
		srn_keepalive_usual(sock);
}

/*
 * Has TCP asked the peer for anything, data or a probe, that it has not answered yet? TCP asks ever
 * more seldom while the peer keeps its window closed, and seldom where it must keep to a low rate.
 */
static bool owes_an_answer(const struct sock *sk)
{
	return READ_ONCE(tcp_sk(sk)->packets_out) || READ_ONCE(inet_csk(sk)->icsk_probes_out);
}

/* Has the peer been silent for too long? */
static bool is_silent(struct srn_raw *raw, struct sock *sk)
{
	unsigned long answer = jiffies - (tcp_jiffies32 - READ_ONCE(tcp_sk(sk)->rcv_tstamp));

	if (!raw->looks || !owes_an_answer(sk)) {
		raw->silent_since = jiffies;
		raw->looks = 0;
	}
	if (time_after(answer, raw->silent_since)) {
		raw->silent_since = answer;
		raw->looks = 0;
	}
	if (raw->looks < MIN_LOOKS)
		raw->looks++;
	return raw->looks == MIN_LOOKS &&
	       time_after_eq(jiffies, raw->silent_since + srn_raw_send_timeout(raw));
}

static bool look(struct srn_raw *raw, struct srn_qp *qp, struct socket *sock)
{
	/*
	 * On the path inside this host the peer's host cannot vanish, and TCP has nothing to
	 * acknowledge. If the peer leaves, its stream tells, and TCP carries all again. It also
	 * does so in a direction that has got a limit of its rate.
	 */
	bool wait = !srn_direct_bypasses_tcp(&qp->stream) && srn_raw_sends_wait(qp);

	ask_often(raw, sock, wait);
	if (!wait)
		raw->looks = 0;
	return wait && is_silent(raw, sock->sk);
}

/* The queue pair's socket, if it still has the bring-up's; conn_mutex is held. */
static struct socket *socket_of(struct srn_raw *raw, struct srn_qp *qp)
{
	lockdep_assert_held(&qp->conn_mutex);
	return READ_ONCE(qp->conn) == &raw->conn ? qp->stream.sock : NULL;
}

/* Its stream learns it as if the peer had reset the connection. */
static void give_up(struct srn_raw *raw, struct srn_qp *qp)
{
	struct socket *sock;

	mutex_lock(&raw->lock.mutex);
	raw->sends_since = raw->silent_since ?: 1;
	srn_raw_unlock(raw);
	mutex_lock(&qp->conn_mutex);
	sock = socket_of(raw, qp);
	if (sock)
		tcp_abort(sock->sk, ETIMEDOUT);
	mutex_unlock(&qp->conn_mutex);
}

static void go_on(struct srn_raw *raw)
{
	mutex_lock(&raw->lock.mutex);
	if (raw->state == SRN_RAW_ESTABLISHED)
		queue(raw, raw->looks ? BUSY_PERIOD : round_jiffies_relative(IDLE_PERIOD));
	srn_raw_unlock(raw);
}

/**
 * srn_raw_silence_work - end the TCP connection if the peer's host has been silent for too long
 * @work: in struct srn_raw
 *
 * The queue pair then learns that its peer is gone, and the sends have waited long enough.
 *
 * Context: srn_wq; sleeps for the queue pair's conn_mutex and the socket lock.
 */
void srn_raw_silence_work(struct work_struct *work)
{
	struct srn_raw *raw = container_of(to_delayed_work(work), struct srn_raw, watch);
	struct srn_qp *qp = watched(raw);
	struct socket *sock;
	bool silent;

	if (qp) {
		mutex_lock(&qp->conn_mutex);
		sock = socket_of(raw, qp);
		silent = sock && look(raw, qp, sock);
		mutex_unlock(&qp->conn_mutex);
		if (silent)
			give_up(raw, qp);
		else if (sock)
			go_on(raw);
		srn_qp_put(qp);
	}
	srn_raw_put(raw);
}
