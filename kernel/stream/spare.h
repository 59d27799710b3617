/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Memory of batches, for batch.c only.
 */
#ifndef SRN_SPARE_H
#define SRN_SPARE_H

#include <linux/types.h>

struct mem_cgroup;
struct srn_tx_batch;

struct srn_tx_batch *srn_spare_take(struct mem_cgroup *payer, bool may_sleep, gfp_t gfp);
struct srn_tx_batch *srn_spare_take_from_others(struct mem_cgroup *payer);
void srn_spare_put(struct srn_tx_batch *b, bool may_sleep);
void srn_spare_exit(void);

#endif /* SRN_SPARE_H */
