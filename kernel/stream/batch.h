/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A batch: FPDUs on their way into the socket, pushed with one sendmsg.
 */
#ifndef SRN_BATCH_H
#define SRN_BATCH_H

#include <linux/net.h>
#include <linux/uio.h>

#include "../memory/mem.h"

struct mem_cgroup;

/* A batch is closed before it exceeds so many bytes. */
#define SRN_BATCH_BYTES		(64 * 1024)
#define SRN_BATCH_IOV		256
#define SRN_BATCH_MEMS		32
#define SRN_BATCH_SIZE		(PAGE_SIZE > 32 * 1024 ? PAGE_SIZE : 32 * 1024)
#define SRN_BATCH_BUF		(SRN_BATCH_SIZE - 4 * 1024 - 512)

/**
 * struct srn_tx_batch - FPDUs on their way into the socket
 * @bytes: length of all pieces together
 * @num_iov: entries of @iov
 * @used: where the free part of @buf begins
 * @num_mems: entries of @mems
 * @give: TCP is to take the pages of @buf themselves, since all that is sent lies in them
 * @given: TCP has taken some of them
 * @payer: cgroup to which the batch is charged; NULL: the kernel's
 * @iter: what is left of @iov to be pushed
 * @mems: regions that @iov refers to, each with a reference, in the order of their bytes
 * @mem_end: where the last byte of each region ends, counted from the beginning of the batch
 * @iov: pieces: headers, trailers and copied payload in @buf, other payload in place
 * @buf: linear memory
 *
 * A batch is one allocation of pages. TCP may keep them for longer than the batch exists.
 */
struct srn_tx_batch {
	u32 bytes;
	u32 num_iov;
	u32 used;
	u32 num_mems;
	bool give;
	bool given;
	struct mem_cgroup *payer;
	struct iov_iter iter;
	struct srn_mem *mems[SRN_BATCH_MEMS];
	u32 mem_end[SRN_BATCH_MEMS];
	struct kvec iov[SRN_BATCH_IOV];
	u8 buf[SRN_BATCH_BUF];
};

/* Add a piece. There is room: whoever began the FPDU has made sure of that. */
static inline void srn_batch_append(struct srn_tx_batch *b, void *data, u32 len)
{
	struct kvec *last = b->num_iov ? &b->iov[b->num_iov - 1] : NULL;

	if (last && last->iov_base + last->iov_len == data)
		last->iov_len += len;
	else
		b->iov[b->num_iov++] = (struct kvec){ .iov_base = data, .iov_len = len };
	b->bytes += len;
}

/* Add a piece that lies in the region referred to last; or, if @mem is NULL, in none. */
static inline void srn_batch_append_of(struct srn_tx_batch *b, const struct srn_mem *mem,
				       void *data, u32 len)
{
	srn_batch_append(b, data, len);
	if (mem)
		b->mem_end[b->num_mems - 1] = b->bytes;
}

/* Reserve room in the linear buffer, which becomes the next piece. */
static inline u8 *srn_batch_reserve(struct srn_tx_batch *b, u32 len)
{
	u8 *p = b->buf + b->used;

	b->used += len;
	srn_batch_append(b, p, len);
	return p;
}

/* Return: the free part of the linear buffer; its writer calls srn_batch_reserve() afterwards. */
static inline u8 *srn_batch_tail(struct srn_tx_batch *b)
{
	return b->buf + b->used;
}

struct srn_tx_batch *srn_batch_get(struct mem_cgroup *payer, bool may_sleep);
void srn_batch_put(struct srn_tx_batch *b);
bool srn_batch_put_atomic(struct srn_tx_batch *b);
void srn_batch_void(struct srn_tx_batch *b);
void srn_batch_refer(struct srn_tx_batch *b, struct srn_mem *mem);
bool srn_batch_refers(const struct srn_tx_batch *b, const struct srn_mem *mem);
void srn_batch_close(struct srn_tx_batch *b);
int srn_batch_push(struct srn_tx_batch *b, struct socket *sock, bool may_sleep);
void srn_batch_exit(void);

#endif /* SRN_BATCH_H */
