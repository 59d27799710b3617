// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Registered memory: its life, look-up, checks, copying.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/processor.h>

#include "../device/device.h"
#include "dmabuf.h"
#include "mem.h"

static enum srn_limit limit_of(enum srn_mem_type type)
{
	return type == SRN_MEM_WINDOW ? SRN_LIMIT_MW : SRN_LIMIT_MR;
}

/**
 * srn_mem_alloc - new memory that nobody can find yet
 * @pd: protection domain
 * @type: kind
 * @access: IB_ACCESS_* that it grants
 *
 * Context: process.
 *
 * Return: memory with one reference, or an error pointer: -ENOMEM.
 */
struct srn_mem *srn_mem_alloc(struct ib_pd *pd, enum srn_mem_type type, u32 access)
{
	struct srn_device *dev = to_srn_dev(pd->device);
	struct srn_mem *mem;

	if (!srn_limits_take(dev, limit_of(type)))
		return ERR_PTR(-ENOMEM);
	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem) {
		srn_limits_give(dev, limit_of(type));
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&mem->ref);
	spin_lock_init(&mem->lock);
	mem->type = type;
	mem->access = access;
	mem->pd = pd;
	mem->dev = dev;
	return mem;
}

/*
 * Where memory is looked for before @mems, which is several nodes deep because indices begin at a
 * random number.
 */
static struct srn_mem __rcu **recent_slot(struct srn_device *dev, u32 stag)
{
	return &dev->recent_mems[(stag >> 8) % SRN_RECENT_MEMS];
}

/*
 * Take @old out of the table. @mem: memory of the same index that is found instead, or NULL. The
 * caller still owns @old, so that no other memory has its address.
 */
static void recent_replace(struct srn_mem *old, struct srn_mem *mem)
{
	/* Memory that was published later may have taken the slot. */
	cmpxchg(recent_slot(old->dev, old->stag), RCU_INITIALIZER(old), RCU_INITIALIZER(mem));
}

/**
 * srn_mem_publish - give memory an STag and let it be found
 * @mem: memory, otherwise complete
 *
 * Its key is random: a peer cannot guess one from another.
 *
 * Context: process.
 *
 * Return: 0, or a negative errno if no STag is free or there is no memory.
 */
int srn_mem_publish(struct srn_mem *mem)
{
	u32 index;
	int ret;

	ret = xa_alloc_cyclic(&mem->dev->mems, &index, NULL, XA_LIMIT(1, SRN_MAX_STAG_INDEX),
			      &mem->dev->next_mem, GFP_KERNEL);
	if (ret < 0)
		return ret;
	mem->stag = index << 8 | (get_random_u32() & 0xff);
	mem->valid = mem->type == SRN_MEM_USER || mem->type == SRN_MEM_DMA;
	xa_store(&mem->dev->mems, index, mem, GFP_KERNEL);
	rcu_assign_pointer(*recent_slot(mem->dev, mem->stag), mem);
	return 0;
}

/**
 * srn_mem_unpublish - let memory not be found any more
 * @mem: published memory
 *
 * Whoever has found it may go on until its RCU read-side section ends.
 *
 * Context: process; nobody else replaces @mem or takes it away.
 */
void srn_mem_unpublish(struct srn_mem *mem)
{
	/* First, since the index may be given to other memory as soon as it is free. */
	recent_replace(mem, NULL);
	xa_erase(&mem->dev->mems, mem->stag >> 8);
}

/**
 * srn_mem_replace - let memory be found in the place of other memory
 * @old: published memory, which the caller makes invalid afterwards
 * @mem: memory of a process, otherwise complete
 * @new_key: it is to have another key
 *
 * Context: process; nobody else replaces @old or takes it away.
 */
void srn_mem_replace(struct srn_mem *old, struct srn_mem *mem, bool new_key)
{
	u32 index = old->stag >> 8;
	u32 key = old->stag & 0xff;

	if (new_key)
		key = (key + 1 + get_random_u32() % 255) & 0xff;
	mem->stag = index << 8 | key;
	mem->valid = true;
	/* This fails only for lack of memory, and replacing an entry needs none. */
	xa_store(&mem->dev->mems, index, mem, GFP_KERNEL);
	recent_replace(old, mem);
}

/**
 * srn_mem_find - region of an STag
 * @dev: device
 * @stag: STag; all its 32 bits must match
 *
 * Context: any, under rcu_read_lock(), which also keeps the result from being freed.
 *
 * Return: region, perhaps invalid, or NULL.
 */
struct srn_mem *srn_mem_find(struct srn_device *dev, u32 stag)
{
	struct srn_mem *mem = rcu_dereference(*recent_slot(dev, stag));

	if (likely(mem && READ_ONCE(mem->stag) == stag))
		return mem;
	mem = xa_load(&dev->mems, stag >> 8);
	return mem && READ_ONCE(mem->stag) == stag ? mem : NULL;
}

/**
 * srn_mem_check - may these bytes be accessed like this?
 * @mem: region
 * @pd: protection domain of whoever wants access
 * @addr: address within the region
 * @len: bytes
 * @access: IB_ACCESS_* needed
 *
 * RFC 5040 section 8.1, RFC 5041 section 8.2.
 *
 * Context: any.
 *
 * Return: %SRN_MEM_OK or the first check that failed.
 */
enum srn_mem_fault srn_mem_check(const struct srn_mem *mem, const struct ib_pd *pd, u64 addr,
				 u64 len, u32 access)
{
	if (!READ_ONCE(mem->valid))
		return SRN_MEM_NO_STAG;
	/* A window is for peers only. */
	if (mem->type == SRN_MEM_WINDOW && !(access & SRN_MEM_REMOTE_ACCESS))
		return SRN_MEM_NO_STAG;
	if (mem->pd != pd)
		return SRN_MEM_WRONG_PD;
	if ((mem->access & access) != access)
		return SRN_MEM_NO_ACCESS;
	/* A process may have the last byte of all addresses. The kernel has no memory there. */
	if (srn_mem_wraps(addr, len))
		return SRN_MEM_WRAP;
	if (mem->type == SRN_MEM_DMA)
		return addr + len < addr ? SRN_MEM_WRAP : SRN_MEM_OK;
	if (addr < mem->iova || len > mem->length || addr - mem->iova > mem->length - len)
		return SRN_MEM_BOUNDS;
	return SRN_MEM_OK;
}

/**
 * srn_mem_begin - open an access
 * @mem: region, found under the RCU read lock that is still held, or referenced
 *
 * Context: bottom halves are disabled until srn_mem_end(), and the caller does not sleep in
 * between. For the region of a process (SRN_MEM_USER) neither is needed: nobody waits in softirq
 * for accesses to one.
 *
 * Return: false if the region is not valid any more.
 */
bool srn_mem_begin(struct srn_mem *mem)
{
	atomic_inc(&mem->accesses);
	/* Pairs with the barriers in srn_mem_revoke() and revoke_sleeping() of mr.c. */
	smp_mb__after_atomic();
	/* Acquire: the fields that it was registered or bound with are visible. */
	if (smp_load_acquire(&mem->valid))
		return true;
	atomic_dec(&mem->accesses);
	return false;
}

/**
 * srn_mem_end - close an access
 * @mem: region
 *
 * Context: any.
 */
void srn_mem_end(struct srn_mem *mem)
{
	/* All bytes have been moved before the access is seen to be closed. */
	smp_mb__before_atomic();
	atomic_dec(&mem->accesses);
}

/**
 * srn_mem_revoke - make memory invalid
 * @mem: memory, its lock held
 *
 * When this returns no access is open and none can be opened. With PREEMPT_RT, whoever has one open
 * may be preempted, and this spins for that long.
 *
 * Context: any, bottom halves disabled, no access open.
 */
void srn_mem_revoke(struct srn_mem *mem)
{
	lockdep_assert_held(&mem->lock);
	WRITE_ONCE(mem->valid, false);
	/* Pairs with the barrier in srn_mem_begin(). */
	smp_mb();
	spin_until_cond(!atomic_read_acquire(&mem->accesses));
}

static void mem_release(struct kref *ref)
{
	struct srn_mem *mem = container_of(ref, struct srn_mem, ref);

	if (mem->umem)
		ib_umem_release(mem->umem);
	if (mem->dmabuf)
		srn_dmabuf_unmap(mem->dmabuf);
	/* A window borrows the blocks of its region. */
	if (mem->type != SRN_MEM_WINDOW)
		kvfree(mem->blocks);
	srn_limits_give(mem->dev, limit_of(mem->type));
	kfree_rcu(mem, rcu);
}

/**
 * srn_mem_put - drop a reference
 * @mem: region
 *
 * Context: may sleep (the last one unpins or unmaps a process's memory).
 */
void srn_mem_put(struct srn_mem *mem)
{
	kref_put(&mem->ref, mem_release);
}

static enum srn_mem_fault sge_check(const struct ib_qp *ibqp, bool kernel,
				    const struct srn_sge *sge, u32 access)
{
	struct srn_mem *mem;

	if (!sge->length || (kernel && sge->lkey == SRN_LOCAL_DMA_LKEY))
		return SRN_MEM_OK;
	mem = srn_mem_find(to_srn_dev(ibqp->device), sge->lkey);
	if (!mem)
		return SRN_MEM_NO_STAG;
	if (!srn_mem_serves(mem, ibqp->qp_num))
		return SRN_MEM_WRONG_PD;
	return srn_mem_check(mem, ibqp->pd, sge->addr, sge->length, access);
}

/**
 * srn_mem_check_sges - check all entries of a work request
 * @ibqp: queue pair
 * @kernel: the consumer is in the kernel
 * @sge: entries
 * @num: how many
 * @access: IB_ACCESS_* needed
 *
 * Context: any.
 *
 * Return: %SRN_MEM_OK or the first fault.
 */
enum srn_mem_fault srn_mem_check_sges(const struct ib_qp *ibqp, bool kernel,
				      const struct srn_sge *sge, u32 num, u32 access)
{
	enum srn_mem_fault fault = SRN_MEM_OK;
	u32 i;

	rcu_read_lock();
	for (i = 0; i < num && fault == SRN_MEM_OK; i++)
		fault = sge_check(ibqp, kernel, &sge[i], access);
	rcu_read_unlock();
	return fault;
}

/**
 * srn_mem_write - place bytes in a region
 * @mem: region with an access open; srn_mem_check() has allowed the bytes
 * @addr: where to place them, as an address within the region
 * @data: bytes
 * @len: how many
 *
 * Context: as srn_cursor_peek().
 */
void srn_mem_write(const struct srn_mem *mem, u64 addr, const u8 *data, u32 len)
{
	u64 room;
	void *to;
	u32 n;

	while (len) {
		to = srn_mem_kva(mem, addr, &room);
		n = min_t(u64, room, len);
		memcpy(to, data, n);
		addr += n;
		data += n;
		len -= n;
	}
}
