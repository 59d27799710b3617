/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Whose memory a stream takes.
 */
#ifndef SRN_CHARGE_H
#define SRN_CHARGE_H

#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

struct mem_cgroup;

/*
 * Charge memory to somebody else, up to set_active_memcg() with what this returns. A cgroup above
 * its memory.high has to wait: whoever gets memory for it sleeps for up to 2 s, if this was not the
 * first time. A worker has others to work for, so for it each time is the first one.
 */
static inline struct mem_cgroup *srn_charge_to(struct mem_cgroup *payer)
{
#ifdef CONFIG_MEMCG
	if (in_task() && current->flags & PF_KTHREAD)
		current->memcg_nr_pages_over_high = 0;
#endif
	return set_active_memcg(payer);
}

#endif /* SRN_CHARGE_H */
