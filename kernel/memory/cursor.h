/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A place in a list of scatter/gather entries, from which or to which bytes are moved.
 */
#ifndef SRN_CURSOR_H
#define SRN_CURSOR_H

#include "mem.h"

/**
 * struct srn_cursor - a place in a list of scatter/gather entries
 * @pd: protection domain that the entries must belong to; its device has their STags
 * @qpn: queue pair that uses them
 * @access: IB_ACCESS_* that each region must grant
 * @sge: the entries
 * @held: region of the current entry with an access open, or NULL
 * @num: number of entries
 * @index: current entry
 * @offset: bytes of the current entry already used
 * @usable: bytes of the current entry that lie in @held
 * @kernel: entries may use %SRN_LOCAL_DMA_LKEY
 */
struct srn_cursor {
	struct ib_pd *pd;
	u32 qpn;
	u32 access;
	const struct srn_sge *sge;
	struct srn_mem *held;
	u32 num;
	u32 index;
	u32 offset;
	u32 usable;
	bool kernel;
};

enum srn_mem_fault srn_cursor_peek(struct srn_cursor *c, u32 max, void **data, u32 *len);
enum srn_mem_fault srn_cursor_write(struct srn_cursor *c, const u8 *data, u32 len);
enum srn_mem_fault srn_cursor_write_in_order(struct srn_cursor *c, const u8 *data, u32 len);
void srn_cursor_release(struct srn_cursor *c);

#endif /* SRN_CURSOR_H */
