// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory of batches, and the spare batches of each CPU.
 *
 * Most transmissions take a batch and give it back at once, and an idle connection owns none.
 * Processes and softirq have one spare each, since softirq interrupts processes. The pages that
 * were given to TCP last are soon back, if the peer is near. A stalled connection keeps its batch,
 * so a stream takes a spare only if the spare is charged to its own payer.
 */
#include <linux/gfp.h>
#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include "batch.h"
#include "charge.h"
#include "spare.h"

/* The next order has twice as many pages. */
static_assert(sizeof(struct srn_tx_batch) <= SRN_BATCH_SIZE);

enum spare { SPARE_SOFTIRQ, SPARE_PROCESS, SPARE_GIVEN, SPARE_KINDS };

/* Another CPU may compare what is in here, but not follow it: hand_over() runs on the owner. */
struct spares {
	struct srn_tx_batch *of[SPARE_KINDS];
	const struct mem_cgroup *payers[SPARE_KINDS];
};

static DEFINE_PER_CPU(struct spares, spares);

static struct srn_tx_batch *alloc_batch(struct mem_cgroup *payer, gfp_t gfp)
{
	struct mem_cgroup *before = srn_charge_to(payer);
	struct srn_tx_batch *b;
	struct page *page;

	gfp |= __GFP_NOWARN | __GFP_COMP | srn_charge_gfp(payer);
	page = alloc_pages(gfp, get_order(sizeof(*b)));
	set_active_memcg(before);
	if (!page)
		return NULL;
	b = page_address(page);
	/* It refers to regions that nobody else may know any more. */
	kmemleak_alloc(b, sizeof(*b), 1, gfp);
	b->payer = payer;
	return b;
}

static void free_batch(struct srn_tx_batch *b)
{
	if (!b)
		return;
	kmemleak_free(b);
	put_page(virt_to_page(b));
}

static void put_spare(struct srn_tx_batch *b, enum spare kind)
{
	/* Softirq does not come between the two. */
	local_bh_disable();
	this_cpu_write(spares.payers[kind], b->payer);
	b = this_cpu_xchg(spares.of[kind], b);
	local_bh_enable();
	free_batch(b);
}

static bool usable(const struct srn_tx_batch *b, const struct mem_cgroup *payer)
{
	return b->payer == payer && page_ref_count(virt_to_page(b)) == 1;
}

/* One that a stream of @payer cannot use stays where it is, until it is replaced. */
static struct srn_tx_batch *take_spare(enum spare kind, struct mem_cgroup *payer)
{
	struct srn_tx_batch *b = this_cpu_xchg(spares.of[kind], NULL);

	if (!b || usable(b, payer))
		return b;
	put_spare(b, kind);
	return NULL;
}

static enum spare spare_of(bool may_sleep)
{
	return may_sleep ? SPARE_PROCESS : SPARE_SOFTIRQ;
}

/**
 * srn_spare_take - take a spare batch, or make a new one
 * @payer: cgroup to which its memory is charged, or NULL for the kernel's
 * @may_sleep: process context, not softirq
 * @gfp: how to get memory
 *
 * Context: any that @gfp allows.
 *
 * Return: batch, whose contents are undefined but for @payer and @given, or NULL if there is no
 * memory.
 */
struct srn_tx_batch *srn_spare_take(struct mem_cgroup *payer, bool may_sleep, gfp_t gfp)
{
	struct srn_tx_batch *b = take_spare(spare_of(may_sleep), payer);

	if (!b)
		b = take_spare(SPARE_GIVEN, payer);
	if (!b)
		b = alloc_batch(payer, gfp);
	if (!b)
		b = take_spare(spare_of(!may_sleep), payer);
	if (b)
		b->given = false;
	return b;
}

struct transfer {
	enum spare kind;
	struct mem_cgroup *payer;
	struct srn_tx_batch *b;
};

/* On the CPU that has it, in an interrupt: nobody else may touch its spares. */
static void hand_over(void *arg)
{
	struct transfer *t = arg;
	struct srn_tx_batch *b = this_cpu_read(spares.of[t->kind]);

	if (!b || !usable(b, t->payer))
		return;
	this_cpu_write(spares.of[t->kind], NULL);
	t->b = b;
}

/* Do not interrupt a CPU that has nothing for this payer. */
static bool may_have(int cpu, const struct transfer *t)
{
	return READ_ONCE(per_cpu(spares, cpu).of[t->kind]) &&
	       READ_ONCE(per_cpu(spares, cpu).payers[t->kind]) == t->payer;
}

/**
 * srn_spare_take_from_others - take a spare batch of another CPU
 * @payer: cgroup to which its memory is charged, or NULL for the kernel's
 *
 * This is for who has no memory for a new one, and could wait on this CPU for ever while others lie
 * idle.
 *
 * Context: process.
 *
 * Return: as srn_spare_take().
 */
struct srn_tx_batch *srn_spare_take_from_others(struct mem_cgroup *payer)
{
	struct transfer t = { .payer = payer };
	int cpu;

	for_each_online_cpu(cpu) {
		for (t.kind = 0; t.kind < SPARE_KINDS; t.kind++) {
			if (may_have(cpu, &t))
				smp_call_function_single(cpu, hand_over, &t, true);
			if (!t.b)
				continue;
			t.b->given = false;
			return t.b;
		}
	}
	return NULL;
}

/**
 * srn_spare_put - a batch is not used any more
 * @b: batch
 * @may_sleep: process context, not softirq
 *
 * Context: any.
 */
void srn_spare_put(struct srn_tx_batch *b, bool may_sleep)
{
	put_spare(b, b->given ? SPARE_GIVEN : spare_of(may_sleep));
}

/**
 * srn_spare_exit - free all spares
 *
 * Context: process, at removal of the module.
 */
void srn_spare_exit(void)
{
	enum spare kind;
	int cpu;

	for_each_possible_cpu(cpu)
		for (kind = 0; kind < SPARE_KINDS; kind++)
			free_batch(per_cpu(spares, cpu).of[kind]);
}
