// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory of queues, which a process may share.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "../compat/compat.h"
#include "../device/ucontext.h"
#include "ring.h"

/**
 * srn_ring_alloc - allocate the memory of a queue
 * @udata: of the verb, whose process shares the memory; NULL for a kernel consumer
 * @size: bytes
 * @map: is set to the mapping, or to NULL for a kernel consumer
 * @resp: for a process, where it finds the mapping
 *
 * The memory is charged to the memory cgroup of the caller.
 *
 * Context: process.
 *
 * Return: zeroed memory or an error pointer.
 */
void *srn_ring_alloc(struct ib_udata *udata, size_t size, struct srn_mmap **map,
		     struct srn_mapping *resp)
{
	struct srn_ucontext *uc;
	struct srn_mmap *m;
	void *memory;
	int ret;

	*map = NULL;
	if (!udata) {
		memory = kvzalloc(size, GFP_KERNEL_ACCOUNT);
		return memory ?: ERR_PTR(-ENOMEM);
	}
	size = PAGE_ALIGN(size);
	uc = rdma_udata_to_drv_context(udata, struct srn_ucontext, ibuc);
	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	memory = __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!m || !memory) {
		ret = -ENOMEM;
		goto err;
	}
	m->memory = memory;
	ret = rdma_user_mmap_entry_insert(&uc->ibuc, &m->entry, size);
	if (ret)
		goto err;
	resp->key = rdma_user_mmap_get_offset(&m->entry);
	resp->size = size;
	*map = m;
	return memory;
err:
	vfree(memory);
	kfree(m);
	return ERR_PTR(ret);
}

/**
 * srn_ring_free - give back memory of a queue
 * @memory: from srn_ring_alloc()
 * @map: from srn_ring_alloc()
 *
 * Pages that a process has mapped live until it unmaps them.
 *
 * Context: process.
 */
void srn_ring_free(void *memory, struct srn_mmap *map)
{
	if (map)
		rdma_user_mmap_entry_remove(&map->entry);
	else
		kvfree(memory);
}

/* remap_vmalloc_range() needs memory of vmalloc_user(), which is charged to no cgroup. */
static int map_pages(struct vm_area_struct *vma, void *memory)
{
	unsigned long at;
	int ret = 0;

	for (at = vma->vm_start; at < vma->vm_end && !ret; at += PAGE_SIZE)
		ret = vm_insert_page(vma, at, vmalloc_to_page(memory + (at - vma->vm_start)));
	return ret;
}

/**
 * srn_ring_mmap - map memory of a queue into its process
 * @ibuc: context of the process
 * @vma: where to map it, with the offset that srn_ring_alloc() has returned in @resp
 *
 * Context: process.
 *
 * Return: 0; -EPERM if it would be executable; -EINVAL if there is no such mapping, or it has
 * another size; or a negative errno.
 */
int srn_ring_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int ret;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	srn_compat_never_exec(vma);
	entry = rdma_user_mmap_entry_get(ibuc, vma);
	if (!entry)
		return -EINVAL;
	ret = map_pages(vma, container_of(entry, struct srn_mmap, entry)->memory);
	rdma_user_mmap_entry_put(entry);
	return ret;
}

/**
 * srn_ring_mmap_free - nobody has memory of a queue mapped any more
 * @entry: its mapping, after srn_ring_free()
 *
 * Context: process.
 */
void srn_ring_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct srn_mmap *map = container_of(entry, struct srn_mmap, entry);

	vfree(map->memory);
	kfree(map);
}
