// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The transmit engine: messages to FPDUs to one pending batch to the socket.
 */
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uio.h>

#include "../verbs/device.h"
#include "stream.h"

/* A batch is closed at the first FPDU that reaches this. */
#define BATCH_BYTES	(64 * 1024)
#define BATCH_IOV	256
#define BATCH_MEMS	32
#define BATCH_BUF	(28 * 1024 - 512)
/* Payload of so few bytes is cheaper to copy than to refer to. */
#define COPY_BREAK	512
/*
 * Rounds by one caller before a worker takes over, and by a worker before the others on
 * its CPU have their turn.
 */
#define MAX_ROUNDS	64
#define RETRY_DELAY	msecs_to_jiffies(10)
#define TERMINATE_TIMEOUT (2 * HZ)

/**
 * struct srn_tx_batch - FPDUs on their way into the socket
 * @bytes: in all
 * @iter: what is left of @iov to be pushed
 * @num_iov: entries of @iov
 * @used: bytes of @buf
 * @num_mems: entries of @mems
 * @mems: regions that @iov refers to, each with a reference
 * @iov: pieces: headers, trailers and copied payload in @buf, other payload in place
 * @buf: linear memory of %BATCH_BUF bytes
 */
struct srn_tx_batch {
	u32 bytes;
	u32 num_iov;
	u32 used;
	u32 num_mems;
	struct iov_iter iter;
	struct srn_mem *mems[BATCH_MEMS];
	struct kvec iov[BATCH_IOV];
	u8 buf[BATCH_BUF];
};

/* kmalloc() would round up to twice as much. */
static_assert(sizeof(struct srn_tx_batch) <= 32 * 1024);

/*
 * One spare batch per CPU: most transmissions take it and give it back at once,
 * and an idle connection owns none.
 */
static struct srn_tx_batch * __percpu *spare;

static struct srn_tx_batch *batch_get(void)
{
	struct srn_tx_batch *b = this_cpu_xchg(*spare, NULL);

	if (!b)
		b = kmalloc(sizeof(*b), GFP_NOWAIT | __GFP_NOWARN);
	if (b) {
		b->bytes = 0;
		b->num_iov = 0;
		b->used = 0;
		b->num_mems = 0;
	}
	return b;
}

static void batch_put(struct srn_tx_batch *b)
{
	while (b->num_mems)
		srn_mem_put(b->mems[--b->num_mems]);
	kfree(this_cpu_xchg(*spare, b));
}

static void batch_append(struct srn_tx_batch *b, void *data, u32 len)
{
	struct kvec *last = b->num_iov ? &b->iov[b->num_iov - 1] : NULL;

	if (last && last->iov_base + last->iov_len == data)
		last->iov_len += len;
	else
		b->iov[b->num_iov++] = (struct kvec){ .iov_base = data, .iov_len = len };
	b->bytes += len;
}

/* Room in the linear buffer that becomes the next piece. */
static u8 *batch_reserve(struct srn_tx_batch *b, u32 len)
{
	u8 *p = b->buf + b->used;

	b->used += len;
	batch_append(b, p, len);
	return p;
}

/* There is room: fpdu_size() has seen to it. */
static void batch_refer(struct srn_tx_batch *b, struct srn_mem *mem)
{
	if (!mem || (b->num_mems && b->mems[b->num_mems - 1] == mem))
		return;
	kref_get(&mem->ref);
	b->mems[b->num_mems++] = mem;
}

/*
 * May memory of this region wait in the batch? What a kernel consumer has registered
 * for its peers is freed by it after the invalidation, so a Read Response must not
 * point there; a process's pages stay pinned.
 */
static bool may_refer(const struct srn_tx_msg *msg)
{
	return !msg->source.held || msg->source.held->type == SRN_MEM_USER ||
	       msg->opcode != SRN_OP_READ_RESPONSE;
}

/* Add @len bytes of the message to the FPDU. */
static int fpdu_payload(struct srn_stream *s, struct srn_tx_msg *msg, u32 len, bool copy, u32 *crc)
{
	struct srn_tx_batch *b = s->batch;
	void *data;
	u8 *to;
	u32 n;

	while (len) {
		if (srn_cursor_peek(&msg->source, len, &data, &n) != SRN_MEM_OK)
			return -EFAULT;
		if (copy || !may_refer(msg)) {
			to = batch_reserve(b, n);
			memcpy(to, data, n);
			/* Over the bytes that are sent, not over memory that may change. */
			if (s->crc)
				*crc = crc32c(*crc, to, n);
		} else {
			batch_refer(b, msg->source.held);
			batch_append(b, data, n);
		}
		msg->source.offset += n;
		len -= n;
	}
	return 0;
}

/*
 * Payload bytes of the next FPDU; 0 with *room false if the batch is full. The header
 * goes out with its length before the payload is looked at, so there must be room for
 * the worst case: each entry and each block of it in a piece of its own, or all of it
 * copied.
 */
static u32 fpdu_size(struct srn_stream *s, const struct srn_tx_msg *msg, u32 overhead, bool *copy,
		     bool *room)
{
	struct srn_tx_batch *b = s->batch;
	u32 mulpdu = srn_mulpdu(READ_ONCE(tcp_sk(s->sock->sk)->mss_cache));
	u32 len = min(msg->length - msg->done, mulpdu - overhead);
	u32 buf_left = BATCH_BUF - b->used;
	u32 fixed = overhead + SRN_MPA_LENGTH + SRN_MAX_TRAILER;

	*copy = s->crc || len <= COPY_BREAK;
	*room = b->num_iov + 2 * SRN_MAX_SGE + len / PAGE_SIZE + 4 <= BATCH_IOV &&
		b->num_mems + SRN_MAX_SGE <= BATCH_MEMS && buf_left > fixed + COPY_BREAK;
	if (!*room)
		return 0;
	if (*copy || msg->opcode == SRN_OP_READ_RESPONSE)
		len = min(len, buf_left - fixed);
	return len;
}

static void fpdu_header(const struct srn_tx_msg *msg, u8 *header, u32 len, bool last)
{
	if (srn_opcodes[msg->opcode].tagged)
		srn_put_tagged((struct srn_wire_tagged *)header, msg->opcode, msg->stag,
			       msg->to + msg->done, len, last);
	else
		srn_put_untagged((struct srn_wire_untagged *)header, msg->opcode, msg->inv_stag,
				 msg->msn, msg->done, len, last);
}

/* Return: 0, -ENOBUFS if the batch is full, -EFAULT if the source is not valid any more. */
static int fpdu_build(struct srn_stream *s, struct srn_tx_msg *msg)
{
	u32 header_len = srn_opcodes[msg->opcode].tagged ? SRN_TAGGED_HEADER : SRN_UNTAGGED_HEADER;
	struct srn_tx_batch *b = s->batch;
	u8 trailer[SRN_MAX_TRAILER];
	u32 len, crc = SRN_CRC_SEED;
	bool copy, room, last;
	u8 *header;
	int ret;

	len = fpdu_size(s, msg, header_len - SRN_MPA_LENGTH, &copy, &room);
	if (!room)
		return -ENOBUFS;
	last = msg->done + len == msg->length;
	header = batch_reserve(b, header_len);
	fpdu_header(msg, header, len, last);
	if (s->crc)
		crc = crc32c(crc, header, header_len);
	ret = fpdu_payload(s, msg, len, copy, &crc);
	if (ret)
		return ret;
	len += header_len;
	ret = srn_put_trailer(trailer, len, s->crc, crc);
	memcpy(batch_reserve(b, ret), trailer, ret);
	msg->done += len - header_len;
	msg->open = !last;
	return 0;
}

/* Fill the batch. Return: 0 or a negative errno; *verdict is why it was closed. */
static int batch_build(struct srn_stream *s, enum srn_tx_verdict *verdict)
{
	struct srn_tx_batch *b = s->batch;
	int ret = 0;

	*verdict = SRN_TX_MESSAGE;
	local_bh_disable();
	rcu_read_lock();
	while (b->bytes < BATCH_BYTES) {
		if (!s->msg.open) {
			srn_cursor_release(&s->msg.source);
			*verdict = s->ops->tx_next(s, &s->msg, !b->bytes);
			if (*verdict == SRN_TX_AGAIN)
				continue;
			if (*verdict != SRN_TX_MESSAGE)
				break;
			s->msg.done = 0;
			s->msg.open = true;
		}
		ret = fpdu_build(s, &s->msg);
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
	iov_iter_kvec(&b->iter, ITER_SOURCE, b->iov, b->num_iov, b->bytes);
	return ret;
}

static int send_some(struct socket *sock, struct iov_iter *iter, int flags)
{
	struct msghdr msg = { .msg_flags = flags | MSG_NOSIGNAL, .msg_iter = *iter };
	int ret;

	ret = sock_sendmsg(sock, &msg);
	if (ret > 0)
		iov_iter_advance(iter, ret);
	return ret ?: -EPIPE;
}

/* Memory of a region that has been deregistered must not leave any more. */
static bool batch_valid(const struct srn_tx_batch *b)
{
	u32 i;

	for (i = 0; i < b->num_mems; i++)
		if (!READ_ONCE(b->mems[i]->valid))
			return false;
	return true;
}

/* Return: 0 when the batch is in the socket, -EAGAIN when that is full. */
static int batch_push(struct srn_stream *s)
{
	int ret;

	while (iov_iter_count(&s->batch->iter)) {
		if (!batch_valid(s->batch))
			return -EFAULT;
		ret = send_some(s->sock, &s->batch->iter, MSG_DONTWAIT);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void tx_fail(struct srn_stream *s, int err)
{
	WRITE_ONCE(s->tx_stopped, true);
	s->ops->ended(s, err == -EFAULT ? SRN_END_LOCAL : SRN_END_BROKEN);
}

enum round_result { ROUND_MORE, ROUND_STOP, ROUND_NO_MEMORY };

static enum round_result tx_push(struct srn_stream *s)
{
	int ret = batch_push(s);

	/*
	 * Either the socket is full, and the peer will make room, or TCP had no
	 * memory. It calls sk_write_space() in both cases, also where nothing is in flight.
	 */
	if (ret == -EAGAIN)
		return ROUND_STOP;
	if (ret) {
		tx_fail(s, ret);
		return ROUND_STOP;
	}
	s->ops->tx_pushed(s);
	batch_put(s->batch);
	s->batch = NULL;
	return ROUND_MORE;
}

/* Build one batch and push it as far as it goes. */
static enum round_result tx_round(struct srn_stream *s)
{
	enum srn_tx_verdict verdict;
	enum round_result result;
	int ret;

	if (s->batch) {
		result = tx_push(s);
		if (result != ROUND_MORE)
			return result;
	}
	if (READ_ONCE(s->tx_hold))
		return ROUND_STOP;
	s->batch = batch_get();
	if (!s->batch)
		return ROUND_NO_MEMORY;
	ret = batch_build(s, &verdict);
	if (ret) {
		/* The last FPDU is not whole: nothing of this batch may leave. */
		batch_put(s->batch);
		s->batch = NULL;
		tx_fail(s, ret);
		return ROUND_STOP;
	}
	result = tx_push(s);
	if (result != ROUND_MORE || verdict == SRN_TX_MESSAGE || verdict == SRN_TX_FLUSH)
		return result;
	if (verdict == SRN_TX_WAIT)
		return ROUND_STOP;
	return s->ops->tx_idle(s) ? ROUND_MORE : ROUND_STOP;
}

/* Called by whoever made tx_kicks positive: it is the transmitter now. */
static void tx_run(struct srn_stream *s)
{
	enum round_result result = ROUND_STOP;
	int rounds = 0;
	int kicks;

	do {
		kicks = atomic_read(&s->tx_kicks);
		while (!READ_ONCE(s->tx_stopped)) {
			result = tx_round(s);
			if (result == ROUND_STOP)
				break;
			if (result == ROUND_NO_MEMORY || ++rounds == MAX_ROUNDS) {
				/* The worker inherits the role, so tx_kicks stays. */
				queue_delayed_work(srn_tx_wq, &s->tx_work,
						   result == ROUND_MORE ? 0 : RETRY_DELAY);
				return;
			}
			cond_resched();
		}
	} while (atomic_cmpxchg(&s->tx_kicks, kicks, 0) != kicks);
	/* Only the address is used: srn_tx_cleanup() may be done with the stream. */
	wake_up_var(&s->tx_kicks);
}

/**
 * srn_stream_kick - there is something to transmit; do it here
 * @s: stream
 *
 * Context: process, no locks held; sleeps for the socket lock.
 */
void srn_stream_kick(struct srn_stream *s)
{
	if (!atomic_fetch_inc(&s->tx_kicks))
		tx_run(s);
}

/**
 * srn_stream_kick_async - there is something to transmit; let a worker do it
 * @s: stream
 *
 * Context: any.
 */
void srn_stream_kick_async(struct srn_stream *s)
{
	if (!atomic_fetch_inc(&s->tx_kicks))
		queue_delayed_work(srn_tx_wq, &s->tx_work, 0);
}

/**
 * srn_tx_work - transmit in a worker
 * @work: tx_work of a stream
 */
void srn_tx_work(struct work_struct *work)
{
	tx_run(container_of(to_delayed_work(work), struct srn_stream, tx_work));
}

/**
 * srn_tx_open - give up the role of the transmitter, having done its work
 * @s: stream whose transmitter is the caller
 *
 * Context: process, no locks held; sleeps for the socket lock.
 */
void srn_tx_open(struct srn_stream *s)
{
	tx_run(s);
}

/**
 * srn_tx_cleanup - wait for the transmitter and become it, until srn_tx_open()
 * @s: stream, with tx_stopped set
 *
 * Context: process, sleeps; bounded, since a transmitter never waits for the peer.
 */
void srn_tx_cleanup(struct srn_stream *s)
{
	wait_var_event(&s->tx_kicks, !atomic_cmpxchg(&s->tx_kicks, 0, 1));
	cancel_delayed_work_sync(&s->tx_work);
}

/**
 * srn_tx_release - let go of what is pending
 * @s: stream without a transmitter
 *
 * Context: process, sleeps.
 */
void srn_tx_release(struct srn_stream *s)
{
	if (s->batch)
		batch_put(s->batch);
	s->batch = NULL;
	s->msg.open = false;
}

static int send_until(struct socket *sock, struct iov_iter *iter, unsigned long end)
{
	if (time_after_eq(jiffies, end))
		return -ETIMEDOUT;
	sock->sk->sk_sndtimeo = end - jiffies;
	return send_some(sock, iter, 0);
}

/**
 * srn_tx_terminate - finish what is pending and send a Terminate
 * @s: stream without a transmitter
 * @payload: Terminate payload, or NULL to only finish the pending batch
 * @len: its length
 *
 * Waits for room in the socket up to a limit. RFC 5040 section 4.8.
 *
 * Context: process, sleeps.
 *
 * Return: 0 or a negative errno; the Terminate may then be missing on the wire.
 */
int srn_tx_terminate(struct srn_stream *s, const u8 *payload, u32 len)
{
	u8 fpdu[SRN_UNTAGGED_HEADER + SRN_TERM_MAX + SRN_MAX_TRAILER];
	u32 total = SRN_UNTAGGED_HEADER + len;
	unsigned long end = jiffies + TERMINATE_TIMEOUT;
	struct iov_iter iter;
	struct kvec iov;
	int ret = 0;

	while (s->batch && iov_iter_count(&s->batch->iter) && ret >= 0) {
		if (!batch_valid(s->batch))
			return -EFAULT;
		ret = send_until(s->sock, &s->batch->iter, end);
	}
	if (ret < 0 || !payload)
		return min(ret, 0);
	srn_put_untagged((struct srn_wire_untagged *)fpdu, SRN_OP_TERMINATE, 0, 1, 0, len, true);
	memcpy(fpdu + SRN_UNTAGGED_HEADER, payload, len);
	total += srn_put_trailer(fpdu + total, total, s->crc, crc32c(SRN_CRC_SEED, fpdu, total));
	iov = (struct kvec){ .iov_base = fpdu, .iov_len = total };
	iov_iter_kvec(&iter, ITER_SOURCE, &iov, 1, total);
	while (iov_iter_count(&iter) && ret >= 0)
		ret = send_until(s->sock, &iter, end);
	return min(ret, 0);
}

/**
 * srn_tx_init - set up what all streams share
 */
int srn_tx_init(void)
{
	spare = alloc_percpu(struct srn_tx_batch *);
	return spare ? 0 : -ENOMEM;
}

/**
 * srn_tx_exit - undo srn_tx_init()
 */
void srn_tx_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kfree(*per_cpu_ptr(spare, cpu));
	free_percpu(spare);
}
