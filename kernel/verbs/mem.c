// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Access to registered memory: look-up, checks, copying, invalidation.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/processor.h>

#include "device.h"
#include "mem.h"

#define REMOTE_ACCESS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/**
 * srn_mem_init - prepare new, zeroed memory with one reference
 * @mem: memory, counted by the caller
 * @pd: protection domain
 * @type: kind
 * @access: IB_ACCESS_* that it grants
 */
void srn_mem_init(struct srn_mem *mem, struct ib_pd *pd, enum srn_mem_type type, u32 access)
{
	kref_init(&mem->ref);
	spin_lock_init(&mem->lock);
	mem->type = type;
	mem->access = access;
	mem->pd = pd;
	mem->dev = to_srn_dev(pd->device);
}

/**
 * srn_mem_publish - give memory an STag and let it be found
 * @mem: memory, otherwise complete
 *
 * Its key is random: a peer cannot guess one from another.
 *
 * Context: process.
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
	return 0;
}

/**
 * srn_mem_find - region of an STag
 * @dev: device
 * @stag: STag; all its 32 bits must match
 *
 * Context: any, under rcu_read_lock(), which is how long the result lives.
 *
 * Return: region, perhaps invalid, or NULL.
 */
struct srn_mem *srn_mem_find(struct srn_device *dev, u32 stag)
{
	struct srn_mem *mem = xa_load(&dev->mems, stag >> 8);

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
 * RFC 5040 section 8.1, RFC 5041 section 8.2. Any context.
 *
 * Return: %SRN_MEM_OK or the first check that failed.
 */
enum srn_mem_fault srn_mem_check(const struct srn_mem *mem, const struct ib_pd *pd, u64 addr,
				 u64 len, u32 access)
{
	if (!READ_ONCE(mem->valid))
		return SRN_MEM_NO_STAG;
	/* A window is for peers only. */
	if (mem->type == SRN_MEM_WINDOW && !(access & REMOTE_ACCESS))
		return SRN_MEM_NO_STAG;
	if (mem->pd != pd)
		return SRN_MEM_WRONG_PD;
	if ((mem->access & access) != access)
		return SRN_MEM_NO_ACCESS;
	if (addr + len < addr)
		return SRN_MEM_WRAP;
	if (mem->type == SRN_MEM_DMA)
		return SRN_MEM_OK;
	if (addr < mem->iova || len > mem->length || addr - mem->iova > mem->length - len)
		return SRN_MEM_BOUNDS;
	return SRN_MEM_OK;
}

/**
 * srn_mem_begin - open an access
 * @mem: region, found under the RCU read lock that is still held, or referenced
 *
 * Context: bottom halves disabled until srn_mem_end(), and no sleep in between. But for a region
 * of a process: nobody waits for that in softirq, so one may.
 *
 * Return: false if the region is not valid any more.
 */
bool srn_mem_begin(struct srn_mem *mem)
{
	atomic_inc(&mem->accesses);
	/* Pairs with the barrier in mem_revoke(). */
	smp_mb__after_atomic();
	/* Acquire: what it was registered or bound with. */
	if (smp_load_acquire(&mem->valid))
		return true;
	atomic_dec(&mem->accesses);
	return false;
}

/**
 * srn_mem_end - close an access
 * @mem: region
 */
void srn_mem_end(struct srn_mem *mem)
{
	/* What was moved is moved before the access is seen to be closed. */
	smp_mb__before_atomic();
	atomic_dec(&mem->accesses);
}

/*
 * No access is open and none can be opened when this returns. With PREEMPT_RT whoever has one open
 * may be preempted, and this goes on for as long.
 */
static void mem_revoke(struct srn_mem *mem)
{
	WRITE_ONCE(mem->valid, false);
	/* Pairs with the barrier in srn_mem_begin(). */
	smp_mb();
	spin_until_cond(!atomic_read(&mem->accesses));
}

static void mem_release(struct kref *ref)
{
	struct srn_mem *mem = container_of(ref, struct srn_mem, ref);

	if (mem->umem)
		ib_umem_release(mem->umem);
	/* A window's are those of its region. */
	if (mem->type != SRN_MEM_WINDOW)
		kvfree(mem->blocks);
	srn_count_dec(mem->dev, mem->type == SRN_MEM_WINDOW ? SRN_LIMIT_MW : SRN_LIMIT_MR);
	kfree_rcu(mem, rcu);
}

/**
 * srn_mem_put - drop a reference
 * @mem: region
 *
 * Context: may sleep (the last one unpins user pages).
 */
void srn_mem_put(struct srn_mem *mem)
{
	kref_put(&mem->ref, mem_release);
}

/**
 * srn_mem_unbind - let go of the region that a window is bound to
 * @window: window, bound or not
 *
 * Context: bottom halves disabled, window->lock held, no access open.
 */
void srn_mem_unbind(struct srn_mem *window)
{
	lockdep_assert_held(&window->lock);
	if (!window->region)
		return;
	mem_revoke(window);
	atomic_dec(&window->region->windows);
	WRITE_ONCE(window->region, NULL);
}

/**
 * srn_mem_refuse_windows - no window can be bound to a region any more
 * @region: region of a process
 *
 * Context: any.
 *
 * Return: false if there are some.
 */
bool srn_mem_refuse_windows(struct srn_mem *region)
{
	return !atomic_cmpxchg(&region->windows, 0, -1);
}

static void unbind_from(struct srn_mem *window, const struct srn_mem *region)
{
	if (window->type != SRN_MEM_WINDOW || READ_ONCE(window->region) != region)
		return;
	spin_lock_bh(&window->lock);
	if (window->region == region)
		srn_mem_unbind(window);
	spin_unlock_bh(&window->lock);
}

/**
 * srn_mem_unbind_all - unbind the windows of a region, which gets no more
 * @region: region of a process; it is not valid any more when this returns
 *
 * It looks at all regions and windows of the device: for what hardly ever happens.
 *
 * Context: process, sleeps.
 */
void srn_mem_unbind_all(struct srn_mem *region)
{
	struct srn_mem *window;
	unsigned long index;

	WRITE_ONCE(region->valid, false);
	/* Somebody may have found it valid before, and have it in hand. */
	while (!srn_mem_refuse_windows(region)) {
		index = 0;
		do {
			rcu_read_lock();
			window = xa_find(&region->dev->mems, &index, ULONG_MAX, XA_PRESENT);
			if (window)
				unbind_from(window, region);
			rcu_read_unlock();
			index++;
			cond_resched();
		} while (window);
	}
}

/* It may have been invalidated by somebody else, and be bound again with another key. */
static int window_invalidate(struct srn_mem *window, u32 stag, u32 qpn)
{
	int ret = 0;

	spin_lock(&window->lock);
	if (!window->valid || window->stag != stag)
		ret = -ENOENT;
	else if (window->window_type != IB_MW_TYPE_2 || window->qpn != qpn)
		ret = -EACCES;
	else
		srn_mem_unbind(window);
	spin_unlock(&window->lock);
	return ret;
}

/* It may have been invalidated by somebody else, and be registered again with another key. */
static int fast_reg_invalidate(struct srn_mem *mem, u32 stag)
{
	int ret = -ENOENT;

	spin_lock(&mem->lock);
	if (mem->valid && mem->stag == stag) {
		mem_revoke(mem);
		ret = 0;
	}
	spin_unlock(&mem->lock);
	return ret;
}

/**
 * srn_mem_invalidate - execute a local or remote invalidation
 * @ibqp: queue pair
 * @stag: STag to invalidate
 * @remote: asked for by the peer
 *
 * Only fast-registered regions of the same PD with exactly this key may be invalidated, and
 * windows of type 2 that are bound to this queue pair (RFC 5040 section 8.1.1: not the whole
 * memory of a process).
 *
 * Context: any, bottom halves disabled, no access open.
 *
 * Return: 0, -ENOENT if there is no such STag, -EACCES if it may not be.
 */
int srn_mem_invalidate(const struct ib_qp *ibqp, u32 stag, bool remote)
{
	struct srn_mem *mem;
	int ret = 0;

	rcu_read_lock();
	mem = srn_mem_find(to_srn_dev(ibqp->device), stag);
	if (!mem || !READ_ONCE(mem->valid))
		ret = -ENOENT;
	else if (mem->pd != ibqp->pd)
		ret = -EACCES;
	else if (remote && !(mem->access & REMOTE_ACCESS))
		ret = -EACCES;
	else if (mem->type == SRN_MEM_WINDOW)
		ret = window_invalidate(mem, stag, ibqp->qp_num);
	else if (mem->type == SRN_MEM_FAST_REG)
		ret = fast_reg_invalidate(mem, stag);
	else
		ret = -EACCES;
	rcu_read_unlock();
	return ret;
}

/**
 * srn_mem_fast_register - execute a fast registration
 * @pd: protection domain of the queue pair
 * @ibmr: region, with the pages that srn_map_mr_sg() noted
 * @key: STag with the key to use from now on
 * @access: IB_ACCESS_* to grant
 *
 * Context: any, bottom halves disabled.
 *
 * Return: 0, or -EINVAL if the region is valid already, foreign, or of another index.
 */
int srn_mem_fast_register(const struct ib_pd *pd, struct ib_mr *ibmr, u32 key, u32 access)
{
	struct srn_mem *mem = to_srn_mr(ibmr)->mem;

	if (mem->type != SRN_MEM_FAST_REG || mem->pd != pd || (key ^ mem->stag) >> 8)
		return -EINVAL;
	spin_lock(&mem->lock);
	if (mem->valid) {
		spin_unlock(&mem->lock);
		return -EINVAL;
	}
	mem->iova = ibmr->iova;
	mem->length = ibmr->length;
	mem->access = access;
	mem->block_shift = ilog2(ibmr->page_size);
	mem->first = ibmr->iova & (ibmr->page_size - 1);
	WRITE_ONCE(mem->stag, key);
	/* Whoever sees it valid sees the rest. */
	smp_store_release(&mem->valid, true);
	spin_unlock(&mem->lock);
	return 0;
}

/* A window of type 2 is another queue pair's as if it were another domain's. */
static bool serves(const struct srn_mem *mem, u32 qpn)
{
	return mem->type != SRN_MEM_WINDOW || !mem->qpn || mem->qpn == qpn;
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
	if (!serves(mem, ibqp->qp_num))
		return SRN_MEM_WRONG_PD;
	return srn_mem_check(mem, ibqp->pd, sge->addr, sge->length, access);
}

/**
 * srn_sges_check - check all entries of a work request
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
enum srn_mem_fault srn_sges_check(const struct ib_qp *ibqp, bool kernel,
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

/*
 * What is checked stays like that as long as the access is open, so that comes first: it
 * could be invalidated and used for something else in between.
 */
static enum srn_mem_fault cursor_hold(struct srn_cursor *c, const struct srn_sge *sge)
{
	enum srn_mem_fault fault;
	struct srn_mem *mem;

	mem = srn_mem_find(c->dev, sge->lkey);
	if (!mem || !srn_mem_begin(mem))
		return SRN_MEM_NO_STAG;
	if (READ_ONCE(mem->stag) != sge->lkey)
		fault = SRN_MEM_NO_STAG;
	else if (!serves(mem, c->qpn))
		fault = SRN_MEM_WRONG_PD;
	else
		fault = srn_mem_check(mem, c->pd, sge->addr, sge->length, c->access);
	if (fault == SRN_MEM_OK)
		c->held = mem;
	else
		srn_mem_end(mem);
	return fault;
}

/**
 * srn_cursor_peek - the next contiguous bytes
 * @c: cursor
 * @max: no more than so many
 * @data: where they are
 * @len: how many, at least one
 *
 * The caller moves on by adding to @c->offset. A region is looked up and checked
 * once for as long as the cursor stays in its entry and srn_cursor_release() is not
 * called. A cursor behind its last entry is a bounds fault.
 *
 * Context: bottom halves disabled and RCU read lock held until srn_cursor_release().
 *
 * Return: %SRN_MEM_OK or the fault.
 */
enum srn_mem_fault srn_cursor_peek(struct srn_cursor *c, u32 max, void **data, u32 *len)
{
	const struct srn_sge *sge;
	enum srn_mem_fault fault;
	u64 room, addr;

	while (c->index < c->num && c->offset >= c->sge[c->index].length) {
		srn_cursor_release(c);
		c->index++;
		c->offset = 0;
	}
	if (c->index >= c->num)
		return SRN_MEM_BOUNDS;
	sge = &c->sge[c->index];
	addr = sge->addr + c->offset;
	if (c->kernel && sge->lkey == SRN_LOCAL_DMA_LKEY) {
		*data = (void *)(uintptr_t)addr;
		room = max;
	} else {
		fault = c->held ? SRN_MEM_OK : cursor_hold(c, sge);
		if (fault != SRN_MEM_OK)
			return fault;
		*data = srn_mem_kva(c->held, addr, &room);
	}
	*len = min3(room, (u64)(sge->length - c->offset), (u64)max);
	return SRN_MEM_OK;
}

/**
 * srn_cursor_write - place bytes and move on
 * @c: cursor
 * @data: bytes
 * @len: how many
 *
 * Context: as srn_cursor_peek().
 *
 * Return: %SRN_MEM_OK or the fault; what was placed before it stays placed.
 */
enum srn_mem_fault srn_cursor_write(struct srn_cursor *c, const u8 *data, u32 len)
{
	enum srn_mem_fault fault;
	void *to;
	u32 n;

	while (len) {
		fault = srn_cursor_peek(c, len, &to, &n);
		if (fault != SRN_MEM_OK)
			return fault;
		memcpy(to, data, n);
		data += n;
		len -= n;
		c->offset += n;
	}
	return SRN_MEM_OK;
}

/**
 * srn_cursor_release - close the access that a cursor may have open
 * @c: cursor; its position is kept
 */
void srn_cursor_release(struct srn_cursor *c)
{
	if (!c->held)
		return;
	srn_mem_end(c->held);
	c->held = NULL;
}

/**
 * srn_mem_write - place bytes in a region
 * @mem: region, with an access open, that has been checked for them
 * @addr: where to, in its own addresses
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
