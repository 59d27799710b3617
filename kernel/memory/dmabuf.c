// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Regions in memory that another driver exports as a DMA-BUF.
 *
 * The processor moves the bytes, so the memory is not attached to a device, but mapped for the
 * processor, from the registration to the end of the region.
 */
#include <linux/dma-buf.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "../compat/compat.h"
#include "../device/device.h"
#include "dmabuf.h"
#include "mem.h"

/* As a string, which all kernels take. */
MODULE_INFO(import_ns, "DMA_BUF");

/* The kernel's addresses are in one piece: one block, that is larger than any region. */
#define BLOCK_SHIFT	62

struct srn_dmabuf {
	struct dma_buf *buf;
	struct iosys_map map;
};

/*
 * Is it of an exporter whose memory stays where it is? Mapping memory for the processor does not
 * pin it with all of them: a graphics driver may give the pages to somebody else, and the region
 * would show that memory. Only attaching a device that does DMA would keep them.
 */
static bool stays(const struct dma_buf *buf)
{
	static const char * const exporters[] = { "udmabuf", "system" };

	return match_string(exporters, ARRAY_SIZE(exporters), buf->exp_name) >= 0;
}

/*
 * Return: 0; -EOPNOTSUPP if its memory may move; -EINVAL if these bytes are not in it; -EACCES for
 * writing to what may only be read.
 */
static int check(const struct srn_mem *mem, const struct dma_buf *buf, u64 offset, u64 length)
{
	if (!stays(buf))
		return -EOPNOTSUPP;
	if (!length || length >> BLOCK_SHIFT || offset > buf->size || length > buf->size - offset)
		return -EINVAL;
	return ib_access_writable(mem->access) && !(buf->file->f_mode & FMODE_WRITE) ? -EACCES : 0;
}

/* What is between the two ends of the access is one long access by the processor. */
static int map(struct srn_dmabuf *d)
{
	int ret;

	ret = dma_buf_begin_cpu_access(d->buf, DMA_BIDIRECTIONAL);
	if (ret)
		return ret;
	ret = dma_buf_vmap_unlocked(d->buf, &d->map);
	if (ret)
		dma_buf_end_cpu_access(d->buf, DMA_BIDIRECTIONAL);
	return ret;
}

static void unmap(struct srn_dmabuf *d)
{
	dma_buf_vunmap_unlocked(d->buf, &d->map);
	dma_buf_end_cpu_access(d->buf, DMA_BIDIRECTIONAL);
}

/**
 * srn_dmabuf_map - let a region have part of a DMA-BUF as its memory
 * @mem: memory of a process that has none yet
 * @fd: descriptor of the DMA-BUF
 * @offset: where the region begins in it, bytes
 * @length: bytes
 * @iova: address by which work requests and peers name it
 *
 * Context: process.
 *
 * Return: 0; -EBADF or -EINVAL if @fd is not one; -EINVAL if it is too short; -EACCES if the region
 * may be written to and the descriptor is for reading; -EOPNOTSUPP if it is not of an exporter
 * whose memory stays where it is; -ENOMEM; or what its exporter says. srn_mem_put() unmaps.
 */
int srn_dmabuf_map(struct srn_mem *mem, int fd, u64 offset, u64 length, u64 iova)
{
	struct srn_dmabuf *d;
	int ret;

	d = kzalloc(sizeof(*d), GFP_KERNEL_ACCOUNT);
	mem->blocks = kvcalloc(1, sizeof(u64), GFP_KERNEL_ACCOUNT);
	if (!d || !mem->blocks) {
		ret = -ENOMEM;
		goto err;
	}
	d->buf = dma_buf_get(fd);
	if (IS_ERR(d->buf)) {
		ret = PTR_ERR(d->buf);
		goto err;
	}
	ret = check(mem, d->buf, offset, length);
	if (!ret)
		ret = map(d);
	if (ret)
		goto err_put;
	if (d->map.is_iomem) {
		ret = -EOPNOTSUPP;
		goto err_unmap;
	}
	mem->blocks[0] = (uintptr_t)d->map.vaddr + offset;
	mem->num_blocks = 1;
	mem->block_shift = BLOCK_SHIFT;
	mem->iova = iova;
	mem->length = length;
	mem->dmabuf = d;
	return 0;
err_unmap:
	unmap(d);
err_put:
	srn_notice(mem->dev, "a DMA-BUF of %s is not registered: error %d\n", d->buf->exp_name,
		   ret);
	dma_buf_put(d->buf);
err:
	/* The caller frees mem->blocks with @mem. */
	kfree(d);
	return ret;
}

/**
 * srn_dmabuf_unmap - give memory back that srn_dmabuf_map() has mapped
 * @d: mapping of a region that nobody uses any more
 *
 * Context: process.
 */
void srn_dmabuf_unmap(struct srn_dmabuf *d)
{
	unmap(d);
	dma_buf_put(d->buf);
	kfree(d);
}
