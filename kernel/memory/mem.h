/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Registered memory: what an STag names, and access to it.
 *
 * A struct srn_mem has two kinds of users:
 *
 * - References (kref) keep the structure and a user region's pinned pages. The
 *   transmit engine holds them while bytes wait for room in the socket.
 * - Accesses (srn_mem_begin/end) are short sections in which bytes are moved. Bottom
 *   halves are disabled in them, and the caller does not sleep, unless the region is a
 *   process's. Invalidation marks the region and waits for them, so that no byte is
 *   moved after it has returned, not even into pages that a kernel consumer has freed
 *   by then.
 *
 * An access is never open while completions are reported or a region is
 * invalidated: both may wait for accesses to end.
 */
#ifndef SRN_MEM_H
#define SRN_MEM_H

#include <linux/kref.h>
#include <linux/types.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "../uapi/softrnic-abi.h"

struct srn_device;
struct srn_dmabuf;

enum srn_mem_type {
	SRN_MEM_USER,
	SRN_MEM_DMA,		/* all of the kernel's memory, by kernel address */
	SRN_MEM_FAST_REG,
	SRN_MEM_WINDOW,		/* part of a region of a process, see window.c */
};

/* Why an access was refused, in the order in which it is checked. */
enum srn_mem_fault {
	SRN_MEM_OK,
	SRN_MEM_NO_STAG,
	SRN_MEM_WRONG_PD,
	SRN_MEM_NO_ACCESS,
	SRN_MEM_WRAP,
	SRN_MEM_BOUNDS,
};

struct srn_mem {
	u32 stag;		/* index << 8 | key */
	bool valid;
	u8 type;		/* enum srn_mem_type */
	u8 block_shift;
	u32 access;		/* IB_ACCESS_* */
	struct ib_pd *pd;
	u64 iova;
	u64 length;
	u64 first;		/* offset of @iova in blocks[0] */
	u64 *blocks;		/* kernel addresses of 1 << block_shift bytes each */
	atomic_t accesses;	/* those that are open, see srn_mem_begin() */

	u32 num_blocks;
	u32 max_blocks;		/* fast registration: room for them, now and the next time */
	struct kref ref;
	struct rcu_head rcu;
	/* Where a process's memory is from; or both are NULL. */
	struct ib_umem *umem;
	struct srn_dmabuf *dmabuf;
	struct srn_device *dev;

	atomic_t windows;	/* number bound to it; negative: it is being deregistered */
	/*
	 * A window or a fast registration: its fields change under this lock, and only while it
	 * is not valid.
	 */
	spinlock_t lock;
	u8 window_type;		/* enum ib_mw_type, 0: being deallocated */
	u32 qpn;		/* the only queue pair that it serves, 0: all of the PD */
	struct srn_mem *region;	/* region of a window, whose @windows counts it; or NULL */
};

/* The scatter/gather key of kernel consumers that names all memory. */
#define SRN_LOCAL_DMA_LKEY	0

/* Rights that a peer may be granted. */
#define SRN_MEM_REMOTE_ACCESS						\
	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/* The topmost STag indices name the sinks of RDMA Reads, see qp/sq.h. */
#define SRN_MAX_STAG_INDEX	0xfeffffU

struct srn_mem *srn_mem_alloc(struct ib_pd *pd, enum srn_mem_type type, u32 access);
int srn_mem_publish(struct srn_mem *mem);
void srn_mem_unpublish(struct srn_mem *mem);
void srn_mem_replace(struct srn_mem *old, struct srn_mem *mem, bool new_key);
struct srn_mem *srn_mem_find(struct srn_device *dev, u32 stag);
enum srn_mem_fault srn_mem_check(const struct srn_mem *mem, const struct ib_pd *pd, u64 addr,
				 u64 len, u32 access);
bool srn_mem_begin(struct srn_mem *mem);
void srn_mem_end(struct srn_mem *mem);
void srn_mem_put(struct srn_mem *mem);
void srn_mem_revoke(struct srn_mem *mem);
enum srn_mem_fault srn_mem_check_sges(const struct ib_qp *ibqp, bool kernel,
				      const struct srn_sge *sge, u32 num, u32 access);
void srn_mem_write(const struct srn_mem *mem, u64 addr, const u8 *data, u32 len);

/* Copy the entries of a kernel consumer's work request. */
static inline void srn_sge_copy(struct srn_sge *to, const struct ib_sge *from, int num)
{
	int i;

	for (i = 0; i < num; i++) {
		to[i].addr = from[i].addr;
		to[i].length = from[i].length;
		to[i].lkey = from[i].lkey;
	}
}

/* To other queue pairs, a window of type 2 is like one of another protection domain. */
static inline bool srn_mem_serves(const struct srn_mem *mem, u32 qpn)
{
	return mem->type != SRN_MEM_WINDOW || !mem->qpn || mem->qpn == qpn;
}

/* Do these bytes go beyond the last address? */
static inline bool srn_mem_wraps(u64 addr, u64 len)
{
	return len && addr + len - 1 < addr;
}

/* How many bytes from @addr on lie in @mem, if the first does. */
static inline u64 srn_mem_extent(const struct srn_mem *mem, u64 addr)
{
	return (mem->type == SRN_MEM_DMA ? U64_MAX : mem->iova + mem->length) - addr;
}

/* Address of @addr in @mem, and how many bytes from there are contiguous. */
static inline void *srn_mem_kva(const struct srn_mem *mem, u64 addr, u64 *contiguous)
{
	u64 offset, in_block;

	if (mem->type == SRN_MEM_DMA) {
		*contiguous = U64_MAX - addr;
		return (void *)(uintptr_t)addr;
	}
	offset = addr - mem->iova + mem->first;
	in_block = offset & ((1ULL << mem->block_shift) - 1);
	*contiguous = (1ULL << mem->block_shift) - in_block;
	return (void *)(uintptr_t)(mem->blocks[offset >> mem->block_shift] + in_block);
}

#endif /* SRN_MEM_H */
