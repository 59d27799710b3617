// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Batches: where their memory comes from, and their way into the socket.
 */
#include <linux/percpu.h>
#include <linux/slab.h>

#include "batch.h"

/* kmalloc() would round up to twice as much. */
static_assert(sizeof(struct srn_tx_batch) <= 32 * 1024);

/*
 * One spare batch per CPU: most transmissions take it and give it back at once,
 * and an idle connection owns none.
 */
static struct srn_tx_batch * __percpu *spare;

/**
 * srn_batch_get - an empty batch
 *
 * Context: any.
 *
 * Return: batch, or NULL if there is no memory.
 */
struct srn_tx_batch *srn_batch_get(void)
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

/**
 * srn_batch_put - done with a batch
 * @b: batch
 *
 * Context: process: the last reference to a region unpins it.
 */
void srn_batch_put(struct srn_tx_batch *b)
{
	while (b->num_mems)
		srn_mem_put(b->mems[--b->num_mems]);
	kfree(this_cpu_xchg(*spare, b));
}

/**
 * srn_batch_refer - keep a region that the next piece lies in
 * @b: batch with room for it
 * @mem: region, or NULL for memory that needs no reference
 *
 * Context: any.
 */
void srn_batch_refer(struct srn_tx_batch *b, struct srn_mem *mem)
{
	if (!mem || (b->num_mems && b->mems[b->num_mems - 1] == mem))
		return;
	kref_get(&mem->ref);
	b->mems[b->num_mems++] = mem;
}

/**
 * srn_batch_valid - may it leave?
 * @b: batch
 *
 * Memory of a region that has been deregistered must not leave any more.
 */
bool srn_batch_valid(const struct srn_tx_batch *b)
{
	u32 i;

	for (i = 0; i < b->num_mems; i++)
		if (!READ_ONCE(b->mems[i]->valid))
			return false;
	return true;
}

/**
 * srn_batch_close - nothing will be added any more
 * @b: batch, to be pushed
 */
void srn_batch_close(struct srn_tx_batch *b)
{
	iov_iter_kvec(&b->iter, ITER_SOURCE, b->iov, b->num_iov, b->bytes);
}

/**
 * srn_send_some - one sendmsg
 * @sock: socket
 * @iter: what to send; moves on
 * @flags: MSG_*
 *
 * Context: process, sleeps for the socket lock.
 *
 * Return: bytes sent, or a negative errno.
 */
int srn_send_some(struct socket *sock, struct iov_iter *iter, int flags)
{
	struct msghdr msg = { .msg_flags = flags | MSG_NOSIGNAL, .msg_iter = *iter };
	int ret;

	ret = sock_sendmsg(sock, &msg);
	if (ret > 0)
		iov_iter_advance(iter, ret);
	return ret ?: -EPIPE;
}

/**
 * srn_batch_push - push as much as the socket takes
 * @b: closed batch
 * @sock: socket
 *
 * Context: process, sleeps for the socket lock.
 *
 * Return: 0 when all is in the socket, -EAGAIN when that is full, -EFAULT if memory of it
 * is not valid any more, or another negative errno.
 */
int srn_batch_push(struct srn_tx_batch *b, struct socket *sock)
{
	int ret;

	while (iov_iter_count(&b->iter)) {
		if (!srn_batch_valid(b))
			return -EFAULT;
		ret = srn_send_some(sock, &b->iter, MSG_DONTWAIT);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/**
 * srn_batch_init - set up what all streams share
 */
int srn_batch_init(void)
{
	spare = alloc_percpu(struct srn_tx_batch *);
	return spare ? 0 : -ENOMEM;
}

/**
 * srn_batch_exit - undo srn_batch_init()
 */
void srn_batch_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kfree(*per_cpu_ptr(spare, cpu));
	free_percpu(spare);
}
