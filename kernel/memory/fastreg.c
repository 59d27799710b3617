// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Fast registration, by work requests of kernel consumers.
 */
#include <linux/log2.h>

#include "fastreg.h"
#include "mr.h"

/**
 * srn_fastreg_register - execute a fast registration
 * @pd: protection domain of the queue pair
 * @ibmr: region, with the pages that srn_mr_map_sg() noted
 * @key: STag with the key to use from now on
 * @access: IB_ACCESS_* to grant
 *
 * Context: any, bottom halves disabled.
 *
 * Return: 0, or -EINVAL if the region is valid already, of another PD, or of another STag index.
 */
int srn_fastreg_register(const struct ib_pd *pd, struct ib_mr *ibmr, u32 key, u32 access)
{
	struct srn_mr *mr = to_srn_mr(ibmr);
	struct srn_mem *mem = mr->mem;

	if (mem->type != SRN_MEM_FAST_REG || mem->pd != pd || (key ^ mem->stag) >> 8)
		return -EINVAL;
	spin_lock(&mem->lock);
	if (mem->valid) {
		spin_unlock(&mem->lock);
		return -EINVAL;
	}
	/* A consumer may register once more what it has mapped before. */
	if (mr->num_next) {
		swap(mem->blocks, mr->next_blocks);
		mr->num_next = 0;
	}
	mem->iova = ibmr->iova;
	mem->length = ibmr->length;
	mem->access = access;
	mem->block_shift = ilog2(ibmr->page_size);
	mem->first = ibmr->iova & (ibmr->page_size - 1);
	WRITE_ONCE(mem->stag, key);
	/* Whoever sees the region valid sees its other fields. */
	smp_store_release(&mem->valid, true);
	spin_unlock(&mem->lock);
	return 0;
}

/**
 * srn_fastreg_invalidate - make a region invalid
 * @mem: region for fast registration
 * @stag: STag, with the key by which the caller knows the region
 * @remote: the peer asks for it, which may do so only with what grants remote access
 *
 * Somebody else may have invalidated the region meanwhile and registered it again. A consumer whose
 * peer has just invalidated a region may not know that yet, so its own request succeeds as well.
 *
 * Context: any, bottom halves disabled, no access open.
 *
 * Return: 0; -ENOENT if that is not its key, or if the peer asks and it is not valid; -EACCES if
 * the peer may not do that.
 */
int srn_fastreg_invalidate(struct srn_mem *mem, u32 stag, bool remote)
{
	int ret = 0;

	spin_lock(&mem->lock);
	if (mem->stag != stag || (remote && !mem->valid))
		ret = -ENOENT;
	else if (remote && !(mem->access & SRN_MEM_REMOTE_ACCESS))
		ret = -EACCES;
	else
		srn_mem_revoke(mem);
	spin_unlock(&mem->lock);
	return ret;
}
