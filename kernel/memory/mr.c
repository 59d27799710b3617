// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory region verbs.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "../compat/compat.h"
#include "../device/abi.h"
#include "../device/device.h"
#include "dmabuf.h"
#include "mr.h"
#include "window.h"

#define SUPPORTED_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |	\
			  IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |	\
			  IB_ACCESS_MW_BIND | IB_ACCESS_OPTIONAL)

static struct srn_mr *mr_alloc(struct ib_pd *pd, enum srn_mem_type type, u32 access)
{
	struct srn_mem *mem = srn_mem_alloc(pd, type, access);
	struct srn_mr *mr;

	if (IS_ERR(mem))
		return ERR_CAST(mem);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		srn_mem_put(mem);
		return ERR_PTR(-ENOMEM);
	}
	mr->mem = mem;
	return mr;
}

static int mr_publish(struct srn_mr *mr)
{
	int ret = srn_mem_publish(mr->mem);

	mr->ibmr.lkey = mr->mem->stag;
	mr->ibmr.rkey = mr->mem->stag;
	return ret;
}

static void mr_free(struct srn_mr *mr)
{
	srn_mem_put(mr->mem);
	kvfree(mr->next_blocks);
	kfree(mr);
}

/* The end of each registration. @ret: of getting the region's memory */
static struct ib_mr *mr_finish(struct srn_mr *mr, int ret)
{
	if (!ret)
		ret = mr_publish(mr);
	if (!ret)
		return &mr->ibmr;
	mr_free(mr);
	return ERR_PTR(ret);
}

/**
 * srn_mr_get_dma - region of all the kernel's memory
 * @pd: protection domain
 * @access: IB_ACCESS_*
 *
 * Context: process.
 *
 * Return: region, or an error pointer: -EOPNOTSUPP for unsupported access flags; -ENOMEM; as
 * srn_mem_publish().
 */
struct ib_mr *srn_mr_get_dma(struct ib_pd *pd, int access)
{
	struct srn_mr *mr;

	if (access & ~SUPPORTED_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mr_alloc(pd, SRN_MEM_DMA, access);
	return IS_ERR(mr) ? ERR_CAST(mr) : mr_finish(mr, 0);
}

static int mem_pin(struct srn_mem *mem, u64 start, u64 length, u64 iova, int access)
{
	struct ib_block_iter iter;
	unsigned long block;
	struct ib_umem *umem;

	umem = srn_umem_get(mem->pd->device, start, length, access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	mem->umem = umem;
	/* The largest size in which the region is contiguous: huge pages are one block. */
	block = ib_umem_find_best_pgsz(umem, GENMASK(30, PAGE_SHIFT), iova);
	if (!block)
		return -EINVAL;
	/* One piece of memory that is mapped often enough has more blocks than can be listed. */
	mem->blocks = kvcalloc(ib_umem_num_dma_blocks(umem, block), sizeof(u64),
			       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mem->blocks)
		return -ENOMEM;
	/* A device without DMA operations gets kernel addresses here. */
	rdma_umem_for_each_dma_block(umem, &iter, block)
		mem->blocks[mem->num_blocks++] = rdma_block_iter_dma_address(&iter);
	mem->block_shift = __ffs(block);
	mem->iova = iova;
	mem->length = length;
	mem->first = iova & (block - 1);
	return 0;
}

/**
 * srn_mr_reg_user - register memory of a process
 * @pd: protection domain
 * @start: its address in the process
 * @length: bytes
 * @iova: address by which work requests and peers name it
 * @access: IB_ACCESS_*
 * @udata: of the verb
 *
 * Context: process.
 *
 * Return: region, or an error pointer: -EOPNOTSUPP for unsupported access flags; -EINVAL if
 * no page size fits; -ENOMEM; as srn_abi_request(), ib_umem_get() and srn_mem_publish().
 */
struct ib_mr *srn_mr_reg_user(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			      struct ib_udata *udata)
{
	struct srn_mr *mr;
	int ret;

	if (access & ~SUPPORTED_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	ret = srn_abi_request(to_srn_dev(pd->device), udata, NULL, 0);
	if (ret)
		return ERR_PTR(ret);
	mr = mr_alloc(pd, SRN_MEM_USER, access & ~IB_ACCESS_OPTIONAL);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return mr_finish(mr, mem_pin(mr->mem, start, length, iova, access));
}

/**
 * srn_mr_reg_dmabuf - register memory that another driver exports
 * @pd: protection domain
 * @offset: where the region begins in the DMA-BUF, bytes
 * @length: bytes
 * @iova: address by which work requests and peers name it
 * @fd: descriptor of the DMA-BUF
 * @access: IB_ACCESS_*
 *
 * Context: process.
 *
 * Return: region, or an error pointer: -EOPNOTSUPP for unsupported access flags; as
 * srn_dmabuf_map() and srn_mem_publish().
 */
struct ib_mr *srn_mr_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				int access)
{
	struct srn_mr *mr;

	if (access & ~SUPPORTED_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mr_alloc(pd, SRN_MEM_USER, access & ~IB_ACCESS_OPTIONAL);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	/* For regions of pinned memory the core does that. */
	mr->ibmr.length = length;
	mr->ibmr.iova = iova;
	return mr_finish(mr, srn_dmabuf_map(mr->mem, fd, offset, length, iova));
}

/* Nothing is placed in it or read from it any more when this returns. */
static void revoke_sleeping(struct srn_mem *mem)
{
	WRITE_ONCE(mem->valid, false);
	/* Pairs with the barrier in srn_mem_begin(). */
	smp_mb();
	/* Do not spin: whoever has an access open may have a lower priority, or sleep. */
	while (atomic_read_acquire(&mem->accesses))
		usleep_range(10, 50);
}

/* Let @mem have the memory of @old, which nobody uses any more once @old is invalid. */
static void share_memory(struct srn_mem *mem, const struct srn_mem *old)
{
	mem->umem = old->umem;
	mem->blocks = old->blocks;
	mem->num_blocks = old->num_blocks;
	mem->block_shift = old->block_shift;
	mem->iova = old->iova;
	mem->length = old->length;
	mem->first = old->first;
}

static void forget_memory(struct srn_mem *mem)
{
	mem->umem = NULL;
	mem->blocks = NULL;
}

/**
 * srn_mr_rereg_user - change a region of a process
 * @ibmr: region
 * @flags: IB_MR_REREG_*: which of what follows is new; the rest stays
 * @start: address in the process
 * @length: bytes
 * @iova: address by which work requests and peers name it
 * @access: IB_ACCESS_*
 * @pd: protection domain, the old one if it stays
 * @udata: of the verb
 *
 * If this fails the region is as it was. When it returns, nothing is done by the old registration
 * any more. With other memory the region gets another key, so that nobody who knows the old one
 * reaches it. Otherwise it keeps its memory, wherever the process has that now. Memory that was
 * pinned for reading, and is to be written to, is pinned anew, and counts as other memory.
 *
 * Context: process.
 *
 * Return: NULL, or an error pointer: -EBUSY if windows are bound to the region; -EOPNOTSUPP if its
 * memory is of a DMA-BUF.
 */
struct ib_mr *srn_mr_rereg_user(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				int access, struct ib_pd *pd, struct ib_udata *udata)
{
	struct srn_mr *mr = to_srn_mr(ibmr);
	struct srn_mem *old = mr->mem;
	struct srn_mem *mem;
	bool shares;
	int ret = 0;

	if (!(flags & IB_MR_REREG_ACCESS))
		access = old->access;
	if (access & ~SUPPORTED_ACCESS || !old->umem)
		return ERR_PTR(-EOPNOTSUPP);
	ret = srn_abi_request(to_srn_dev(pd->device), udata, NULL, 0);
	if (ret)
		return ERR_PTR(ret);
	if (!(flags & IB_MR_REREG_TRANS)) {
		start = old->umem->address;
		length = old->length;
		iova = old->iova;
	}
	shares = !(flags & IB_MR_REREG_TRANS) &&
		 (old->umem->writable || !ib_access_writable(access));
	mem = srn_mem_alloc(pd, SRN_MEM_USER, access & ~IB_ACCESS_OPTIONAL);
	if (IS_ERR(mem))
		return ERR_CAST(mem);
	if (shares)
		share_memory(mem, old);
	else
		ret = mem_pin(mem, start, length, iova, access);
	if (!ret && !srn_window_refuse(old))
		ret = -EBUSY;
	if (ret) {
		if (shares)
			forget_memory(mem);
		srn_mem_put(mem);
		return ERR_PTR(ret);
	}
	srn_mem_replace(old, mem, !shares);
	/* Pairs with the dependency in srn_resource_mr(). */
	smp_store_release(&mr->mem, mem);
	mr->ibmr.lkey = mem->stag;
	mr->ibmr.rkey = mem->stag;
	revoke_sleeping(old);
	if (shares)
		forget_memory(old);
	srn_mem_put(old);
	return NULL;
}

/**
 * srn_mr_alloc - region for fast registration
 * @pd: protection domain
 * @type: only IB_MR_TYPE_MEM_REG
 * @max_num_sg: pages that it can hold
 *
 * Context: process.
 *
 * Return: region, or an error pointer: -EOPNOTSUPP for another type; -EINVAL for a number of pages
 * that is 0 or too large; -ENOMEM; as srn_mem_publish().
 */
struct ib_mr *srn_mr_alloc(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg)
{
	struct srn_mr *mr;
	int ret = -ENOMEM;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > SRN_MAX_FAST_REG_PAGES)
		return ERR_PTR(-EINVAL);
	mr = mr_alloc(pd, SRN_MEM_FAST_REG, 0);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->mem->blocks = kvcalloc(max_num_sg, sizeof(u64), GFP_KERNEL_ACCOUNT);
	mr->next_blocks = kvcalloc(max_num_sg, sizeof(u64), GFP_KERNEL_ACCOUNT);
	if (mr->mem->blocks && mr->next_blocks) {
		mr->mem->max_blocks = max_num_sg;
		ret = 0;
	}
	return mr_finish(mr, ret);
}

static int mr_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct srn_mr *mr = to_srn_mr(ibmr);

	if (mr->num_next == mr->mem->max_blocks)
		return -ENOMEM;
	mr->next_blocks[mr->num_next++] = addr;
	return 0;
}

/**
 * srn_mr_map_sg - note the pages of a coming fast registration
 * @ibmr: region from srn_mr_alloc()
 * @sg: mapped scatterlist
 * @sg_nents: entries of it
 * @sg_offset: offset into its first entry
 *
 * The region may still be valid: its invalidation may have been posted, and not executed.
 *
 * Context: any.
 *
 * Return: entries mapped, or a negative errno.
 */
int srn_mr_map_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		  unsigned int *sg_offset)
{
	struct srn_mr *mr = to_srn_mr(ibmr);

	if (mr->mem->type != SRN_MEM_FAST_REG)
		return -EINVAL;
	mr->num_next = 0;
	return ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, mr_set_page);
}

/*
 * Is a registration being undone because its answer could not be written? The core does not expect
 * a driver to refuse that, and windows can be bound to the region by now only if somebody has
 * guessed its STag.
 */
static bool is_undone(const struct srn_mr *mr)
{
	/*
	 * In a region for fast registration, uobject shares its place with another field. A kernel
	 * consumer's region has no file.
	 */
	if (mr->mem->type != SRN_MEM_USER || !mr->ibmr.uobject)
		return false;
	/* Once the core has completed an object, the object is in the list of its file. */
	return list_empty(&mr->ibmr.uobject->list);
}

/**
 * srn_mr_dereg - deregister
 * @ibmr: region
 * @udata: not used
 *
 * When this returns, nothing is placed in the region or read from it any more. If bytes of it still
 * wait in a transmit batch, the stream of that batch fails.
 *
 * Context: process.
 *
 * Return: 0, or -EBUSY if windows are bound to it.
 */
int srn_mr_dereg(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct srn_mr *mr = to_srn_mr(ibmr);
	struct srn_mem *mem = mr->mem;

	if (is_undone(mr))
		srn_window_unbind_all(mem);
	else if (!srn_window_refuse(mem))
		return -EBUSY;
	srn_mem_unpublish(mem);
	revoke_sleeping(mem);
	mr_free(mr);
	return 0;
}
