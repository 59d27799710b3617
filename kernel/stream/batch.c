// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Batches: what is collected in one, and its way into the socket.
 */
#include <linux/gfp.h>
#include <linux/percpu.h>
#include <net/tcp.h>

#include "../compat/compat.h"
#include "batch.h"
#include "sock.h"
#include "spare.h"

/* TCP is not given pages of which it would use less than half. */
#define GIVE_BREAK	(SRN_BATCH_BUF / 2)

/* Softirq copies through this for sockets that share the fragment of the task that sends. */
static DEFINE_PER_CPU(struct page_frag, softirq_frag);

/**
 * srn_batch_get - an empty batch
 * @payer: cgroup to which its memory is charged, or NULL for the kernel's
 * @may_sleep: process context, not softirq
 *
 * Context: any.
 *
 * Return: batch, or NULL if there is no memory.
 */
struct srn_tx_batch *srn_batch_get(struct mem_cgroup *payer, bool may_sleep)
{
	gfp_t gfp = may_sleep ? GFP_NOIO | __GFP_NORETRY : GFP_NOWAIT;
	struct srn_tx_batch *b = srn_spare_take(payer, may_sleep, gfp);

	if (unlikely(!b) && may_sleep)
		b = srn_spare_take_from_others(payer);
	if (!b)
		return NULL;
	b->bytes = 0;
	b->num_iov = 0;
	b->used = 0;
	b->num_mems = 0;
	b->give = false;
	return b;
}

/**
 * srn_batch_put - done with a batch
 * @b: batch
 *
 * Context: process, since dropping the last reference to a region unpins it.
 */
void srn_batch_put(struct srn_tx_batch *b)
{
	while (b->num_mems)
		srn_mem_put(b->mems[--b->num_mems]);
	srn_spare_put(b, true);
}

/**
 * srn_batch_put_atomic - done with a batch, if nothing is left to be unpinned
 * @b: batch
 *
 * Context: softirq.
 *
 * Return: false if it has the last reference to a region, so that srn_batch_put() has to
 * do the rest.
 */
bool srn_batch_put_atomic(struct srn_tx_batch *b)
{
	while (b->num_mems) {
		if (!refcount_dec_not_one(&b->mems[b->num_mems - 1]->ref.refcount))
			return false;
		b->num_mems--;
	}
	srn_spare_put(b, false);
	return true;
}

/**
 * srn_batch_refer - keep a region that the next piece lies in
 * @b: batch with room for it
 * @mem: region, or NULL for memory that needs no reference
 *
 * srn_batch_append_of() then adds its pieces.
 *
 * Context: any.
 */
void srn_batch_refer(struct srn_tx_batch *b, struct srn_mem *mem)
{
	if (!mem || (b->num_mems && b->mems[b->num_mems - 1] == mem))
		return;
	kref_get(&mem->ref);
	b->mem_end[b->num_mems] = b->bytes;
	b->mems[b->num_mems++] = mem;
}

/**
 * srn_batch_refers - does a piece lie in a region?
 * @b: batch
 * @mem: region
 *
 * Context: the active transmitter.
 *
 * Return: true if one does.
 */
bool srn_batch_refers(const struct srn_tx_batch *b, const struct srn_mem *mem)
{
	u32 i;

	for (i = 0; i < b->num_mems; i++)
		if (b->mems[i] == mem)
			return true;
	return false;
}

/* Return: index of the first region of which bytes are left; those before it may be gone. */
static u32 first_left(const struct srn_tx_batch *b)
{
	u32 sent = b->bytes - iov_iter_count(&b->iter), i = 0;

	while (i < b->num_mems && b->mem_end[i] <= sent)
		i++;
	return i;
}

/* Let go of the regions from @first up to @end. */
static void release_held(const struct srn_tx_batch *b, u32 first, u32 end)
{
	while (end-- > first)
		if (b->mems[end]->type == SRN_MEM_USER)
			srn_mem_end(b->mems[end]);
}

/*
 * Bytes of a region that has been deregistered must not leave any more. Deregistering a process's
 * region waits for its accesses to end, so it is held while TCP copies from it. A kernel consumer's
 * region is not held: it has to stay until what was posted is complete, and where a peer may
 * invalidate it a softirq would wait. Return: false if a region, from @first on, is not valid any
 * more.
 */
static bool hold(const struct srn_tx_batch *b, u32 first)
{
	struct srn_mem *mem;
	u32 i;

	for (i = first; i < b->num_mems; i++) {
		mem = b->mems[i];
		if (mem->type == SRN_MEM_USER ? srn_mem_begin(mem) : READ_ONCE(mem->valid))
			continue;
		release_held(b, first, i);
		return false;
	}
	return true;
}

/**
 * srn_batch_close - nothing will be added any more
 * @b: batch, to be pushed
 *
 * Context: the active transmitter.
 */
void srn_batch_close(struct srn_tx_batch *b)
{
	iov_iter_kvec(&b->iter, ITER_SOURCE, b->iov, b->num_iov, b->bytes);
	/* If nothing but linear memory is sent, it is one piece. */
	b->give = b->bytes == b->used && b->bytes >= GIVE_BREAK;
}

/**
 * srn_batch_void - nothing of it will leave
 * @b: batch, which still has its references
 *
 * Context: the active transmitter.
 */
void srn_batch_void(struct srn_tx_batch *b)
{
	iov_iter_kvec(&b->iter, ITER_SOURCE, b->iov, 0, 0);
}

/*
 * This does what srn_sock_send_locked() does for a whole batch, but TCP takes its pages and copies
 * nothing.
 */
static int give_some(struct sock *sk, struct srn_tx_batch *b)
{
	size_t left = iov_iter_count(&b->iter);
	void *from = b->iov[0].iov_base + b->bytes - left;
	int ret = srn_compat_send_page(sk, virt_to_page(b), from - (void *)b, left, MSG_DONTWAIT);

	if (ret > 0) {
		iov_iter_advance(&b->iter, ret);
		b->given = true;
	}
	return ret ?: -EPIPE;
}

/*
 * TCP keeps pages until the peer has what lies in them. A stream that gives its own away has to
 * have others first, or it could not go on where there are none. It does not wait for them: TCP
 * can copy.
 */
static bool have_successor(const struct srn_tx_batch *b, bool may_sleep)
{
	struct srn_tx_batch *successor = srn_spare_take(b->payer, may_sleep, GFP_NOWAIT);

	if (!successor)
		return false;
	srn_spare_put(successor, may_sleep);
	return true;
}

/* Return: as srn_sock_send_locked(). */
static int push_some(struct srn_tx_batch *b, struct sock *sk)
{
	/* Without scatter and gather TCP would copy as well, and on old kernels sleep for it. */
	if (b->give && sk->sk_route_caps & NETIF_F_SG)
		return give_some(sk, b);
	return srn_sock_send_locked(sk, &b->iter, MSG_DONTWAIT);
}

static int push_some_process(struct srn_tx_batch *b, struct sock *sk)
{
	int ret;

	sock_rps_record_flow(sk);
	lock_sock(sk);
	ret = push_some(b, sk);
	release_sock(sk);
	return ret;
}

/* Return: -EBUSY if somebody else uses the socket. */
static int push_some_softirq(struct srn_tx_batch *b, struct sock *sk)
{
	struct page_frag *frag = this_cpu_ptr(&softirq_frag);
	int ret = -EBUSY;

	bh_lock_sock(sk);
	if (!sock_owned_by_user(sk)) {
		gfp_t before = srn_sock_begin_softirq(sk, frag);

		ret = push_some(b, sk);
		srn_sock_end_softirq(sk, frag, before);
	}
	bh_unlock_sock(sk);
	return ret;
}

/**
 * srn_batch_push - push as much as the socket takes
 * @b: closed batch
 * @sock: socket
 * @may_sleep: the caller may sleep for the socket lock; otherwise it is a softirq
 *
 * Context: process or softirq.
 *
 * Return: 0 when all is in the socket, -EAGAIN when the socket is full, -EBUSY if somebody else
 * uses it and the caller may not sleep, -EFAULT if memory of the batch is not valid any more, or
 * another negative errno.
 */
int srn_batch_push(struct srn_tx_batch *b, struct socket *sock, bool may_sleep)
{
	u32 first;
	int ret;

	if (b->give && !b->given)
		b->give = have_successor(b, may_sleep);
	while (iov_iter_count(&b->iter)) {
		first = first_left(b);
		if (!hold(b, first))
			return -EFAULT;
		ret = may_sleep ? push_some_process(b, sock->sk) : push_some_softirq(b, sock->sk);
		release_held(b, first, b->num_mems);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/**
 * srn_batch_exit - free what all streams share
 *
 * Context: process, at removal of the module.
 */
void srn_batch_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (per_cpu(softirq_frag, cpu).page)
			put_page(per_cpu(softirq_frag, cpu).page);
	srn_spare_exit();
}
