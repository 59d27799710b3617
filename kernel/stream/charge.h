/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * To whom the memory of streams and their sockets is charged.
 */
#ifndef SRN_CHARGE_H
#define SRN_CHARGE_H

#include <linux/gfp.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

struct mem_cgroup;
struct sock;

/*
 * Charge memory to somebody else, until set_active_memcg() is called with what this returns. A
 * cgroup above its memory.high is throttled: whoever gets memory for it sleeps for up to 2 s,
 * unless it is the first time. A worker has to work for others, too, so for a worker each time
 * counts as the first.
 */
static inline struct mem_cgroup *srn_charge_to(struct mem_cgroup *payer)
{
#ifdef CONFIG_MEMCG
	if (in_task() && current->flags & PF_KTHREAD)
		current->memcg_nr_pages_over_high = 0;
#endif
	return set_active_memcg(payer);
}

/* Return: with which flag memory is charged to @payer, if there is one. */
static inline gfp_t srn_charge_gfp(const struct mem_cgroup *payer)
{
	return payer ? __GFP_ACCOUNT : 0;
}

/*
 * Return: flags to get memory for @payer without sleeping. A payer gets none of the reserves: they
 * are for those who free memory, and what comes from them may exceed the limit of its cgroup.
 */
static inline gfp_t srn_charge_gfp_now(const struct mem_cgroup *payer)
{
	return (payer ? GFP_NOWAIT : GFP_ATOMIC) | __GFP_NOWARN | srn_charge_gfp(payer);
}

void srn_charge_sock(struct sock *sk, struct mem_cgroup *payer);
void srn_charge_sock_as(struct sock *sk, const struct sock *listener);

#endif /* SRN_CHARGE_H */
