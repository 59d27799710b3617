/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Regions in memory that another driver exports as a DMA-BUF.
 */
#ifndef SRN_DMABUF_H
#define SRN_DMABUF_H

#include <linux/types.h>

struct srn_dmabuf;
struct srn_mem;

int srn_dmabuf_map(struct srn_mem *mem, int fd, u64 offset, u64 length, u64 iova);
void srn_dmabuf_unmap(struct srn_dmabuf *d);

#endif /* SRN_DMABUF_H */
