// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The transmit engine: who transmits, and when. One pending batch goes to the socket.
 */
#include <linux/delay.h>
#include <linux/sched/mm.h>
#include <linux/tcp.h>
#include <net/tcp.h>

#include "batch.h"
#include "direct.h"
#include "direct_tx.h"
#include "engines.h"
#include "frame.h"
#include "sock.h"
#include "stream_trace.h"
#include "tx.h"
#include "worker.h"

/*
 * A caller transmits for so many rounds before a worker takes over, and a worker before others on
 * its CPU have their turn. There are fewer in softirq, which no task can interrupt, and fewest
 * where a caller keeps bottom halves disabled for it.
 */
#define MAX_ROUNDS	64
#define MAX_ROUNDS_SOFTIRQ 8
#define MAX_ROUNDS_ATOMIC 2
#define TERMINATE_TIMEOUT (2 * HZ)

/*
 * Softirqs are let in after so many work requests, or the same in scatter entries. If the
 * transmitter may not sleep, the batch also ends there, and counts as two rounds.
 */
#define MAX_IN_A_ROW	64

/*
 * A batch is closed at the size of one TCP buffer. Where all payload is copied, it has to fit into
 * linear memory as well. Either way it consists of whole segments, so that no remainder of it goes
 * through the stack by itself.
 */
static u32 batch_limit(const struct srn_stream *s)
{
	const struct sock *sk = s->sock->sk;
	u32 mss = max(READ_ONCE(tcp_sk(sk)->mss_cache), 1u);
	u32 room = READ_ONCE(sk->sk_gso_max_size);
	u32 segments;

	room = room > MAX_TCP_HEADER + 1 ? room - MAX_TCP_HEADER - 1 : 0;
	if (srn_framer_copies(&s->framer))
		room = min_t(u32, room, SRN_BATCH_BUF);
	segments = min_t(u32, room / mss, READ_ONCE(sk->sk_gso_max_segs));
	return min_t(u32, max(segments, 1u) * mss, SRN_BATCH_BYTES);
}

/* Called between two messages, with no memory access open. */
static void let_softirqs_in(void)
{
	rcu_read_unlock();
	local_bh_enable();
	local_bh_disable();
	rcu_read_lock();
}

/*
 * Get the next message. After many requests in a row that need no bytes the batch is closed, so
 * that others have their turn. Return: SRN_TX_MESSAGE, or why there is no message.
 */
static enum srn_tx_verdict next_message(struct srn_stream *s, bool may_sleep, u32 *asked)
{
	enum srn_tx_verdict verdict;
	int left = MAX_IN_A_ROW;

	srn_cursor_release(&s->msg.source);
	do {
		if (may_sleep && *asked >= MAX_IN_A_ROW) {
			let_softirqs_in();
			*asked = 0;
		}
		++*asked;
		verdict = s->ops->tx_next(s, &s->msg, !s->batch->bytes);
	} while (verdict == SRN_TX_AGAIN && --left);
	s->msg.done = 0;
	s->msg.open = verdict == SRN_TX_MESSAGE;
	if (s->msg.open)
		*asked += s->msg.source.num / SRN_ENTRIES_AS_ONE;
	return verdict == SRN_TX_AGAIN ? SRN_TX_FLUSH : verdict;
}

/*
 * Fill the batch. @left: rounds, of which a batch that is closed before it is full takes one more.
 * Return: 0 or a negative errno; *verdict is why it was closed.
 */
static int batch_build(struct srn_stream *s, enum srn_tx_verdict *verdict, int *left,
		       bool may_sleep)
{
	struct srn_tx_batch *b = s->batch;
	u32 limit = batch_limit(s), asked = 0;
	int ret = 0;

	*verdict = SRN_TX_MESSAGE;
	local_bh_disable();
	rcu_read_lock();
	while (b->bytes < limit) {
		if (!s->msg.open) {
			if (unlikely(READ_ONCE(s->tx_path) == SRN_PATH_MOVING)) {
				/* It may have been told to return just now. */
				cmpxchg(&s->tx_path, SRN_PATH_MOVING, SRN_PATH_DIRECT);
				*verdict = SRN_TX_FLUSH;
				break;
			}
			if (!may_sleep && asked >= MAX_IN_A_ROW) {
				--*left;
				break;
			}
			*verdict = next_message(s, may_sleep, &asked);
			if (*verdict != SRN_TX_MESSAGE)
				break;
		}
		ret = srn_frame_build(s, &s->msg, limit);
		if (ret)
			break;
		if (!s->msg.open)
			s->ops->tx_built(s);
	}
	srn_cursor_release(&s->msg.source);
	rcu_read_unlock();
	local_bh_enable();
	if (ret == -ENOBUFS)
		ret = 0;
	srn_tally_flush(s->counters, SRN_TX, &s->tx_tally);
	srn_batch_close(b);
	return ret;
}

static void tx_fail(struct srn_stream *s, int err)
{
	WRITE_ONCE(s->tx_stopped, true);
	s->ops->ended(s, err == -EFAULT ? SRN_END_LOCAL : SRN_END_BROKEN);
}

/* ROUND_SLEEP: there is more to do, but only where the transmitter may sleep. */
enum round_result { ROUND_MORE, ROUND_STOP, ROUND_SLEEP, ROUND_NO_MEMORY };

static enum round_result tx_push(struct srn_stream *s, bool may_sleep)
{
	int ret = 0;

	if (iov_iter_count(&s->batch->iter)) {
		ret = srn_batch_push(s->batch, s->sock, may_sleep);
		if (ret == -EBUSY)
			return ROUND_SLEEP;
		srn_count(s->counters, SRN_COUNT_SENDMSG);
	}
	/*
	 * Either the socket is full, and the peer will make room, or TCP had no memory. TCP calls
	 * sk_write_space() in both cases, even if nothing is in flight.
	 */
	if (ret == -EAGAIN) {
		srn_count(s->counters, SRN_COUNT_SOCKET_FULL);
		return ROUND_STOP;
	}
	if (ret) {
		tx_fail(s, ret);
		return ROUND_STOP;
	}
	s->ops->tx_pushed(s);
	if (may_sleep)
		srn_batch_put(s->batch);
	else if (!srn_batch_put_atomic(s->batch))
		return ROUND_SLEEP;
	s->batch = NULL;
	return ROUND_MORE;
}

/**
 * srn_tx_refers - does a batch that is being built refer to a region?
 * @s: stream
 * @mem: region
 *
 * Context: a tx operation with bottom halves disabled.
 *
 * Return: true if it does.
 */
bool srn_tx_refers(const struct srn_stream *s, const struct srn_mem *mem)
{
	return s->batch && srn_batch_refers(s->batch, mem);
}

/* What was handed out has been transmitted. @verdict: why there was no more of it. */
static enum round_result after_round(struct srn_stream *s, enum srn_tx_verdict verdict,
				     bool may_sleep)
{
	if (verdict == SRN_TX_MESSAGE || verdict == SRN_TX_FLUSH)
		return ROUND_MORE;
	if (verdict == SRN_TX_WAIT)
		return ROUND_STOP;
	verdict = s->ops->tx_idle(s, may_sleep);
	if (verdict == SRN_TX_NONE)
		return ROUND_STOP;
	return verdict == SRN_TX_SLEEP ? ROUND_SLEEP : ROUND_MORE;
}

/* Deliver to a peer in this kernel. */
static enum round_result direct_round(struct srn_stream *s, bool may_sleep)
{
	enum srn_tx_verdict verdict;
	int ret;

	/* The consumer of the peer is told at once, and the caller may hold locks of a consumer. */
	if (!may_sleep && !in_serving_softirq())
		return ROUND_SLEEP;
	ret = srn_direct_tx(s, &verdict);
	s->ops->tx_pushed(s);
	if (ret == -EAGAIN)
		return ROUND_STOP;
	if (ret == -EPIPE) {
		/* As if it had left while TCP carries everything. */
		srn_direct_return(s);
		return ROUND_MORE;
	}
	if (ret) {
		tx_fail(s, ret);
		return ROUND_STOP;
	}
	return after_round(s, verdict, may_sleep);
}

/* Build one batch and push it as far as it goes. */
static enum round_result tx_round(struct srn_stream *s, int *left, bool may_sleep)
{
	enum srn_tx_verdict verdict;
	enum round_result result;
	struct srn_framer before;
	int ret;

	if (s->batch) {
		result = tx_push(s, may_sleep);
		if (result != ROUND_MORE)
			return result;
	}
	if (READ_ONCE(s->tx_hold) || s->tx_shut)
		return ROUND_STOP;
	if (READ_ONCE(s->tx_path) == SRN_PATH_DIRECT)
		return direct_round(s, may_sleep);
	s->batch = srn_batch_get(s->payer, may_sleep);
	if (!s->batch) {
		srn_count(s->counters, SRN_COUNT_NO_MEMORY);
		/* A worker may sleep in order to get memory. */
		return may_sleep ? ROUND_NO_MEMORY : ROUND_SLEEP;
	}
	/* Written only if it changes: the receiver writes to the same cache line. */
	if (unlikely(s->tx_retry))
		s->tx_retry = 0;
	before = s->framer;
	ret = batch_build(s, &verdict, left, may_sleep);
	if (ret) {
		/* The last FPDU is not whole: nothing of this batch may leave. */
		s->framer = before;
		srn_batch_void(s->batch);
		tx_fail(s, ret);
		return ROUND_STOP;
	}
	result = tx_push(s, may_sleep);
	return result == ROUND_MORE ? after_round(s, verdict, may_sleep) : result;
}

/* Run rounds until there is no more to do, or until somebody else has to go on. */
static enum round_result tx_rounds(struct srn_stream *s, int *left, bool may_sleep)
{
	enum round_result result;

	while (!READ_ONCE(s->tx_stopped)) {
		if (--*left < 0)
			return ROUND_SLEEP;
		result = tx_round(s, left, may_sleep);
		if (result != ROUND_MORE)
			return result;
		if (may_sleep)
			cond_resched();
		else if (need_resched())
			return ROUND_SLEEP;
	}
	return ROUND_STOP;
}

/* Whoever found no transmitter calls this, and is the transmitter from then on. */
static void tx_run(struct srn_stream *s, int left, bool may_sleep)
{
	enum round_result result;

	do {
		/* A full barrier: the work that an earlier kick announced is seen from here on. */
		atomic_xchg(&s->tx_role, SRN_TX_TAKEN);
		result = tx_rounds(s, &left, may_sleep);
		if (result != ROUND_STOP) {
			s->ops->tx_deferred(s);
			srn_worker_inherit(s, result == ROUND_NO_MEMORY ?
					   srn_stream_retry_delay(&s->tx_retry) : 0);
			return;
		}
	} while (atomic_cmpxchg(&s->tx_role, SRN_TX_TAKEN, SRN_TX_FREE) != SRN_TX_TAKEN);
	/* Only the address is used: srn_tx_take_role() may be done with the stream. */
	wake_up_var(&s->tx_role);
}

/* Memory may be written back through a stream, so no stream may wait for write-back. */
static void tx_run_here(struct srn_stream *s)
{
	unsigned int noio = memalloc_noio_save();

	tx_run(s, MAX_ROUNDS, true);
	memalloc_noio_restore(noio);
}

/**
 * srn_tx_kick - there is something to transmit; do it here
 * @s: stream
 *
 * Context: process, no locks held; sleeps for the socket lock.
 */
void srn_tx_kick(struct srn_stream *s)
{
	if (srn_tx_take_if_free(s))
		tx_run_here(s);
}

static void tx_run_softirq(struct srn_stream *s, int rounds)
{
	srn_count(s->counters, SRN_COUNT_SOFTIRQ);
	tx_run(s, rounds, false);
}

/**
 * srn_tx_kick_async - there is something to transmit; do it as soon as possible
 * @s: stream
 *
 * If a softirq could run right now, the caller transmits as if in one, whatever locks it holds; on
 * the direct path a tasklet does so, because the consumer of the peer is told from there. A batch
 * that is only partly in the socket is left to a worker: it may have many work requests, which then
 * complete. If bottom halves are disabled, perhaps for the socket's own lock, a tasklet transmits
 * when they are enabled again. If interrupts are disabled, a tasklet would need a thread to be
 * woken, so a worker transmits. With PREEMPT_RT a worker transmits, too: there softirqs stay
 * enabled while a lock is held that they take.
 *
 * Context: any.
 */
void srn_tx_kick_async(struct srn_stream *s)
{
	if (!srn_tx_take_if_free(s))
		return;
	if (irqs_disabled() || (!in_softirq() && (IS_ENABLED(CONFIG_PREEMPT_RT) || s->batch))) {
		srn_worker_inherit(s, 0);
	} else if (in_softirq()) {
		tasklet_schedule(&s->tx_tasklet);
	} else if (READ_ONCE(s->tx_path) == SRN_PATH_DIRECT) {
		/* It runs when bottom halves are enabled. */
		s->tx_brief = true;
		local_bh_disable();
		tasklet_schedule(&s->tx_tasklet);
		local_bh_enable();
	} else {
		local_bh_disable();
		tx_run_softirq(s, MAX_ROUNDS_ATOMIC);
		local_bh_enable();
	}
}

/**
 * srn_tx_take_over - do what a worker was asked to do, unless it has begun
 * @s: stream
 *
 * Context: process, no locks held; sleeps for the socket lock.
 */
void srn_tx_take_over(struct srn_stream *s)
{
	if (cancel_delayed_work(&s->tx_work))
		tx_run_here(s);
}

/**
 * srn_tx_softirq - transmit in softirq
 * @t: tx_tasklet of a stream
 *
 * Context: softirq.
 */
void srn_tx_softirq(struct tasklet_struct *t)
{
	struct srn_stream *s = from_tasklet(s, t, tx_tasklet);
	bool brief = s->tx_brief;

	s->tx_brief = false;
	tx_run_softirq(s, brief ? MAX_ROUNDS_ATOMIC : MAX_ROUNDS_SOFTIRQ);
}

/**
 * srn_tx_work - transmit in a worker
 * @work: tx_work of a stream
 *
 * Context: a worker; sleeps.
 */
void srn_tx_work(struct work_struct *work)
{
	struct srn_stream *s = container_of(to_delayed_work(work), struct srn_stream, tx_work);

	srn_count(s->counters, SRN_COUNT_WORKER);
	tx_run_here(s);
}

/**
 * srn_tx_give_role - give up the role of the transmitter, having done its work
 * @s: stream whose transmitter is the caller
 *
 * Context: process, no spinlocks held; sleeps for the socket lock.
 */
void srn_tx_give_role(struct srn_stream *s)
{
	tx_run_here(s);
}

/**
 * srn_tx_stop - transmit nothing more
 * @s: stream, which goes on to receive
 *
 * Context: any.
 */
void srn_tx_stop(struct srn_stream *s)
{
	WRITE_ONCE(s->tx_stopped, true);
}

/**
 * srn_tx_take_role - wait for the transmitter and become it, until srn_tx_give_role()
 * @s: stream after srn_tx_stop()
 *
 * Context: process, but not a worker of srn_tx_wq; sleeps; bounded, since a transmitter never waits
 * for the peer.
 */
void srn_tx_take_role(struct srn_stream *s)
{
	/* It may be waiting for memory. */
	flush_delayed_work(&s->tx_work);
	wait_var_event(&s->tx_role,
		       atomic_cmpxchg(&s->tx_role, SRN_TX_FREE, SRN_TX_TAKEN) == SRN_TX_FREE);
	tasklet_kill(&s->tx_tasklet);
	cancel_delayed_work_sync(&s->tx_work);
}

/**
 * srn_tx_drop_batch - drop the pending batch
 * @s: stream without a transmitter
 *
 * Context: process, sleeps.
 */
void srn_tx_drop_batch(struct srn_stream *s)
{
	if (s->batch)
		srn_batch_put(s->batch);
	s->batch = NULL;
	s->msg.open = false;
}

/* Finish the pending batch. Its memory must not be held while this waits for the peer. */
static int push_until(struct srn_stream *s, unsigned long end)
{
	int ret;

	if (!s->batch)
		return 0;
	while ((ret = srn_batch_push(s->batch, s->sock, true)) == -EAGAIN) {
		if (time_after_eq(jiffies, end))
			return -ETIMEDOUT;
		msleep(20);
	}
	return ret;
}

static int send_until(struct socket *sock, struct iov_iter *iter, unsigned long end)
{
	/* Without a timeout it takes what there is room for. */
	sock->sk->sk_sndtimeo = time_before(jiffies, end) ? end - jiffies : 0;
	return srn_sock_send(sock, iter, 0);
}

/* Is there room for a whole FPDU? The stream must not end within one. */
static bool has_room(const struct sock *sk)
{
	return sk_stream_wspace(sk) > SRN_EMPTY_WRITE_FPDU;
}

static u32 build_last(struct srn_framer *f, const struct srn_tx_last *last, u8 *out)
{
	u32 n = 0;

	if (last->write)
		n = srn_frame_empty_write(f, out, last->stag, last->to);
	if (last->terminate_len)
		n += srn_frame_terminate(f, out + n, last->terminate, last->terminate_len);
	return n;
}

static void count_last(struct srn_stream *s, const struct srn_tx_last *last)
{
	if (last->write) {
		srn_tally_fpdu(s->counters, SRN_TX, &s->tx_tally, SRN_OP_WRITE, 0, true);
		trace_srn_fpdu_built(s, SRN_OP_WRITE, last->stag, 0, last->to, 0, true);
	}
	if (last->terminate_len) {
		srn_tally_fpdu(s->counters, SRN_TX, &s->tx_tally, SRN_OP_TERMINATE,
			       last->terminate_len, true);
		trace_srn_fpdu_built(s, SRN_OP_TERMINATE, 0, 1, 0, last->terminate_len, true);
	}
	srn_tally_flush(s->counters, SRN_TX, &s->tx_tally);
}

/**
 * srn_tx_last - finish what is pending and send what comes last
 * @s: stream without a transmitter
 * @last: what comes last, perhaps nothing
 *
 * For a Terminate (RFC 5040 section 4.8) it waits for room in the socket, up to a limit. If there
 * is no room, @last is missing on the wire.
 *
 * Context: process, sleeps.
 */
void srn_tx_last(struct srn_stream *s, const struct srn_tx_last *last)
{
	unsigned long end = jiffies + (last->terminate_len ? TERMINATE_TIMEOUT : 0);
	u8 fpdus[SRN_EMPTY_WRITE_FPDU + SRN_TERMINATE_FPDU];
	struct iov_iter iter;
	struct kvec iov;
	int ret;

	if (!last->write && !last->terminate_len)
		return;
	ret = push_until(s, end);
	if (ret || (!last->terminate_len && !has_room(s->sock->sk)))
		return;
	iov.iov_base = fpdus;
	iov.iov_len = build_last(&s->framer, last, fpdus);
	iov_iter_kvec(&iter, ITER_SOURCE, &iov, 1, iov.iov_len);
	while (iov_iter_count(&iter) && ret >= 0)
		ret = send_until(s->sock, &iter, end);
	if (ret >= 0)
		count_last(s, last);
}
