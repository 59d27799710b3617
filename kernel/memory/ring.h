/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory of queues: shared with a process, or plain kernel memory of a kernel consumer.
 */
#ifndef SRN_RING_H
#define SRN_RING_H

#include <rdma/ib_verbs.h>

#include "../uapi/softrnic-abi.h"

/* A mapping handed to user space; it owns the memory. */
struct srn_mmap {
	struct rdma_user_mmap_entry entry;
	void *memory;		/* __vmalloc() */
};

void *srn_ring_alloc(struct ib_udata *udata, size_t size, struct srn_mmap **map,
		     struct srn_mapping *resp);
void srn_ring_free(void *memory, struct srn_mmap *map);
int srn_ring_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma);
void srn_ring_mmap_free(struct rdma_user_mmap_entry *entry);

#endif /* SRN_RING_H */
