// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Cursors: registered memory, byte for byte.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "../device/device.h"
#include "cursor.h"

/*
 * The access is opened first, because the region cannot change while an access is open. If it were
 * checked before, it could be invalidated and used for something else in between.
 *
 * Only the bytes that are used have to lie in the region. Programs post Receives that reach beyond
 * it and then get shorter messages: perftest does, and rxe takes them.
 */
static enum srn_mem_fault cursor_hold(struct srn_cursor *c, const struct srn_sge *sge, u32 len)
{
	enum srn_mem_fault fault;
	struct srn_mem *mem;

	mem = srn_mem_find(to_srn_dev(c->pd->device), sge->lkey);
	if (!mem || !srn_mem_begin(mem))
		return SRN_MEM_NO_STAG;
	if (READ_ONCE(mem->stag) != sge->lkey)
		fault = SRN_MEM_NO_STAG;
	else if (!srn_mem_serves(mem, c->qpn))
		fault = SRN_MEM_WRONG_PD;
	else
		fault = srn_mem_check(mem, c->pd, sge->addr + c->offset, len, c->access);
	if (fault != SRN_MEM_OK) {
		srn_mem_end(mem);
		return fault;
	}
	c->held = mem;
	c->usable = min_t(u64, sge->length, srn_mem_extent(mem, sge->addr));
	return SRN_MEM_OK;
}

/* Make sure that an access to the entry is open, and that the next bytes lie in the region. */
static enum srn_mem_fault cursor_open(struct srn_cursor *c, const struct srn_sge *sge, u32 len)
{
	if (!c->held)
		return cursor_hold(c, sge, len);
	if (likely(len <= c->usable - c->offset))
		return SRN_MEM_OK;
	srn_cursor_release(c);
	return SRN_MEM_BOUNDS;
}

/**
 * srn_cursor_peek - the next contiguous bytes
 * @c: cursor
 * @max: upper limit of @len; so many bytes are checked, or what is left of the entry
 * @data: where they are
 * @len: how many, at least one
 *
 * The caller moves on by adding to @c->offset. A region is looked up once for as long as the
 * cursor stays in its entry and srn_cursor_release() is not called. A cursor behind its last
 * entry is a bounds fault.
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
	u32 want;

	while (c->index < c->num && c->offset >= c->sge[c->index].length) {
		srn_cursor_release(c);
		c->index++;
		c->offset = 0;
	}
	if (c->index >= c->num)
		return SRN_MEM_BOUNDS;
	sge = &c->sge[c->index];
	addr = sge->addr + c->offset;
	want = min(max, sge->length - c->offset);
	if (c->kernel && sge->lkey == SRN_LOCAL_DMA_LKEY) {
		*data = (void *)(uintptr_t)addr;
		*len = want;
		return SRN_MEM_OK;
	}
	fault = cursor_open(c, sge, want);
	if (fault != SRN_MEM_OK)
		return fault;
	*data = srn_mem_kva(c->held, addr, &room);
	*len = min_t(u64, room, want);
	return SRN_MEM_OK;
}

/* Whoever sees this byte, or this word, sees all that was stored before. */
#define store_next(to, value)	smp_store_release((to), value)

static void store_in_order(u8 *to, const u8 *from, size_t len)
{
	size_t i = 0, words;
	u64 word;

	for (; unlikely(!IS_ALIGNED((uintptr_t)&to[i], sizeof(word)) && i < len); i++)
		store_next(&to[i], from[i]);
	words = i + round_down(len - i, sizeof(word));
	for (; i < words; i += sizeof(word)) {
		memcpy(&word, &from[i], sizeof(word));
		store_next((u64 *)&to[i], word);
	}
	for (; unlikely(i < len); i++)
		store_next(&to[i], from[i]);
}

/* Inlined, so that the order costs nothing where it does not matter. */
static __always_inline enum srn_mem_fault cursor_write(struct srn_cursor *c, const u8 *data,
						       u32 len, bool in_order)
{
	enum srn_mem_fault fault;
	void *to;
	u32 n;

	while (len) {
		fault = srn_cursor_peek(c, len, &to, &n);
		if (fault != SRN_MEM_OK)
			return fault;
		if (in_order)
			store_in_order(to, data, n);
		else
			memcpy(to, data, n);
		data += n;
		len -= n;
		c->offset += n;
	}
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
 * Return: %SRN_MEM_OK or the fault; bytes that were placed before the fault stay placed.
 */
enum srn_mem_fault srn_cursor_write(struct srn_cursor *c, const u8 *data, u32 len)
{
	return cursor_write(c, data, len, false);
}

/**
 * srn_cursor_write_in_order - place few bytes and move on
 * @c: cursor
 * @data: bytes
 * @len: how many
 *
 * Whoever sees one of the bytes, on whatever CPU, sees all that was stored before it. Eight bytes
 * at an address that is a multiple of eight appear at once.
 *
 * Context: as srn_cursor_peek().
 *
 * Return: %SRN_MEM_OK or the fault; bytes that were placed before the fault stay placed.
 */
enum srn_mem_fault srn_cursor_write_in_order(struct srn_cursor *c, const u8 *data, u32 len)
{
	return cursor_write(c, data, len, true);
}

/**
 * srn_cursor_release - close the access that a cursor may have open
 * @c: cursor; its position is kept
 *
 * Context: any, as the cursor's owner.
 */
void srn_cursor_release(struct srn_cursor *c)
{
	if (!c->held)
		return;
	srn_mem_end(c->held);
	c->held = NULL;
}
