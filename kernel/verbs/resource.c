// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What "rdma resource show -dd" tells of objects beside what the core knows.
 *
 * The core may ask while an object is being destroyed, so only what lies in the object itself is
 * read, and nothing that it refers to. Memory regions are the exception: the core has forgotten
 * them by then. Numbers are those of a moment.
 */
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "../memory/mr.h"
#include "../qp/binding.h"
#include "../qp/qp.h"
#include "resource.h"

struct detail {
	const char *name;
	u32 value;
	const char *text;	/* instead of @value, or NULL */
};

static int put(struct sk_buff *msg, const struct detail *all, u32 num)
{
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int ret = table ? 0 : -EMSGSIZE;
	u32 i;

	for (i = 0; i < num && !ret; i++)
		ret = all[i].text ? rdma_nl_put_driver_string(msg, all[i].name, all[i].text) :
				    rdma_nl_put_driver_u32(msg, all[i].name, all[i].value);
	if (!ret)
		nla_nest_end(msg, table);
	else if (table)
		nla_nest_cancel(msg, table);
	return ret ? -EMSGSIZE : 0;
}

/**
 * srn_resource_qp - tell of a queue pair
 * @msg: message to the program that asks
 * @ibqp: queue pair
 *
 * Context: process.
 *
 * Return: 0 or -EMSGSIZE.
 */
int srn_resource_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	static const char * const kinds[] = {
		[SRN_BOUND_TO_NOBODY] = "nobody", [SRN_BOUND_BY_RDMA_CM] = "rdma_cm",
		[SRN_BOUND_BY_HAND] = "by_hand",
	};
	struct srn_qp *qp = to_srn_qp(ibqp);
	const struct srn_stream *s = &qp->stream;
	const struct srn_sq *sq = &qp->sq;
	bool direct = READ_ONCE(s->tx_path) == SRN_PATH_DIRECT;
	const struct detail all[] = {
		{ "connected_by", 0, kinds[srn_binding_kind(qp)] },
		{ "path", 0, direct ? "same_host" : "tcp" },
		{ "completions", 0, READ_ONCE(sq->await_placement) ? "placed" : "sent" },
		{ "crc", s->framer.with_crc },
		{ "large_fpdus", READ_ONCE(s->large_fpdus) },
		{ "sends", READ_ONCE(sq->prod) - READ_ONCE(sq->cons) },
		{ "requests", READ_ONCE(sq->requested) - READ_ONCE(sq->answered) },
		{ "ord", READ_ONCE(sq->ord) },
		{ "ird", READ_ONCE(qp->inbound.ird) },
		{ "receives_taken", READ_ONCE(qp->rq.cons) },
		{ "segments", READ_ONCE(qp->rx.segments) },
		{ "waits_for_receive", READ_ONCE(qp->rx.waits) },
	};

	return put(msg, all, ARRAY_SIZE(all));
}

/**
 * srn_resource_cq - tell of a completion queue
 * @msg: message to the program that asks
 * @ibcq: completion queue
 *
 * Context: process.
 *
 * Return: 0 or -EMSGSIZE.
 */
int srn_resource_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	const struct srn_cq *cq = to_srn_cq(ibcq);
	const struct detail all[] = {
		{ "depth", READ_ONCE(cq->depth) },
		{ "completions", READ_ONCE(cq->prod) },
		{ "overflow", READ_ONCE(cq->overflow) },
	};

	return put(msg, all, ARRAY_SIZE(all));
}

/**
 * srn_resource_srq - tell of a shared receive queue
 * @msg: message to the program that asks
 * @ibsrq: shared receive queue
 *
 * Context: process.
 *
 * Return: 0 or -EMSGSIZE.
 */
int srn_resource_srq(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	const struct srn_srq *srq = to_srn_srq(ibsrq);
	const struct detail all[] = {
		{ "depth", READ_ONCE(srq->rq.depth) },
		{ "receives_taken", READ_ONCE(srq->rq.cons) },
		{ "limit", READ_ONCE(srq->limit) },
		{ "waiting_qps", READ_ONCE(srq->num_waiters) },
	};

	return put(msg, all, ARRAY_SIZE(all));
}

/**
 * srn_resource_mr - tell of a memory region
 * @msg: message to the program that asks
 * @ibmr: memory region
 *
 * Context: process.
 *
 * Return: 0 or -EMSGSIZE.
 */
int srn_resource_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	static const char * const types[] = {
		[SRN_MEM_USER] = "process", [SRN_MEM_DMA] = "all",
		[SRN_MEM_FAST_REG] = "fast_registration", [SRN_MEM_WINDOW] = "window",
	};
	const struct srn_mem *mem;
	struct detail all[] = {
		{ "memory" }, { "access" }, { "valid" }, { "blocks" }, { "block_size" },
		{ "windows" },
	};

	/* It may be registered anew just now. */
	rcu_read_lock();
	mem = READ_ONCE(to_srn_mr(ibmr)->mem);
	all[0].text = types[mem->type];
	all[1].value = READ_ONCE(mem->access);
	all[2].value = READ_ONCE(mem->valid);
	all[3].value = READ_ONCE(mem->num_blocks);
	all[4].value = min_t(u64, BIT_ULL(mem->block_shift), U32_MAX);
	all[5].value = atomic_read(&mem->windows);
	rcu_read_unlock();
	return put(msg, all, ARRAY_SIZE(all));
}
