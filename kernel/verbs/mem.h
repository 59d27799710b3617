/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Registered memory: what an STag names, and access to it.
 *
 * A struct srn_mem has two kinds of users:
 *
 * - References (kref) keep the structure and a user region's pinned pages. The
 *   transmit engine holds them while bytes wait for room in the socket.
 * - Accesses (srn_mem_begin/end) are short sections, entered with bottom halves
 *   disabled and never slept in, in which bytes are moved. Invalidation marks the
 *   region and waits for them, so that no byte is moved after it has returned,
 *   not even into pages that a kernel consumer has freed by then.
 *
 * An access is never open while completions are reported or a region is
 * invalidated: both may wait for accesses to end.
 */
#ifndef SRN_VERBS_MEM_H
#define SRN_VERBS_MEM_H

#include <linux/kref.h>
#include <linux/types.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "../uapi/softrnic-abi.h"

struct srn_device;

enum srn_mem_type {
	SRN_MEM_USER,
	SRN_MEM_DMA,		/* all of the kernel's memory, addressed by itself */
	SRN_MEM_FAST_REG,
	SRN_MEM_WINDOW,		/* part of a region of a process, see mw.c */
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
	atomic_t accesses;

	u32 num_blocks;
	u32 max_blocks;		/* fast registration: room in @blocks */
	struct kref ref;
	struct rcu_head rcu;
	struct ib_umem *umem;
	struct srn_device *dev;

	atomic_t windows;	/* bound to this region; negative: it is being deregistered */
	/*
	 * A window or a fast registration: its fields change under this lock, and only while it
	 * is not valid.
	 */
	spinlock_t lock;
	u8 window_type;		/* enum ib_mw_type, 0: being deallocated */
	u32 qpn;		/* the only queue pair that it serves, 0: all of the PD */
	struct srn_mem *region;	/* that it is bound to, counted in its windows, or NULL */
};

struct srn_mr {
	struct ib_mr ibmr;
	struct srn_mem *mem;
};

static inline struct srn_mr *to_srn_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct srn_mr, ibmr);
}

struct srn_mw {
	struct ib_mw ibmw;
	struct srn_mem *mem;
};

static inline struct srn_mw *to_srn_mw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct srn_mw, ibmw);
}

/* The scatter/gather key of kernel consumers that names all memory. */
#define SRN_LOCAL_DMA_LKEY	0

/**
 * struct srn_cursor - a place in a list of scatter/gather entries
 * @dev: device whose STags the entries name
 * @pd: protection domain that they must belong to
 * @qpn: queue pair that uses them
 * @access: IB_ACCESS_* that each region must grant
 * @sge: the entries
 * @held: region of the current entry with an access open, or NULL
 * @num: how many entries
 * @index: current entry
 * @offset: bytes of the current entry already used
 * @kernel: entries may use %SRN_LOCAL_DMA_LKEY
 */
struct srn_cursor {
	struct srn_device *dev;
	struct ib_pd *pd;
	u32 qpn;
	u32 access;
	const struct srn_sge *sge;
	struct srn_mem *held;
	u32 num;
	u32 index;
	u32 offset;
	bool kernel;
};

void srn_mem_init(struct srn_mem *mem, struct ib_pd *pd, enum srn_mem_type type, u32 access);
int srn_mem_publish(struct srn_mem *mem);
struct srn_mem *srn_mem_find(struct srn_device *dev, u32 stag);
enum srn_mem_fault srn_mem_check(const struct srn_mem *mem, const struct ib_pd *pd, u64 addr,
				 u64 len, u32 access);
bool srn_mem_begin(struct srn_mem *mem);
void srn_mem_end(struct srn_mem *mem);
void srn_mem_put(struct srn_mem *mem);
void srn_mem_unbind(struct srn_mem *window);
bool srn_mem_refuse_windows(struct srn_mem *region);
void srn_mem_unbind_all(struct srn_mem *region);
int srn_mem_invalidate(const struct ib_qp *ibqp, u32 stag, bool remote);
int srn_mem_fast_register(const struct ib_pd *pd, struct ib_mr *ibmr, u32 key, u32 access);

enum srn_mem_fault srn_sges_check(const struct ib_qp *ibqp, bool kernel,
				  const struct srn_sge *sge, u32 num, u32 access);
enum srn_mem_fault srn_cursor_peek(struct srn_cursor *c, u32 max, void **data, u32 *len);
enum srn_mem_fault srn_cursor_write(struct srn_cursor *c, const u8 *data, u32 len);
void srn_cursor_release(struct srn_cursor *c);
void srn_mem_write(const struct srn_mem *mem, u64 addr, const u8 *data, u32 len);

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

struct ib_mr *srn_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *srn_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			      struct ib_udata *udata);
struct ib_mr *srn_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);
int srn_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		  unsigned int *sg_offset);
int srn_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* mw.c */
int srn_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int srn_dealloc_mw(struct ib_mw *ibmw);
int srn_mw_bind(const struct ib_qp *ibqp, const struct srn_send_wqe *wqe);

#endif /* SRN_VERBS_MEM_H */
