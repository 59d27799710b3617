// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Names of the counters, and their values summed over all CPUs.
 */
#include <rdma/ib_verbs.h>

#include "../wire/rdmap.h"
#include "counters.h"
#include "device.h"

/* What a traffic counter adds up. */
struct traffic_source {
	u8 direction;
	bool fpdus;
	bool bytes;
	u16 opcodes;
};

#define TRAFFIC(text, to, ...)							\
	{ .name = text,								\
	  .priv = &(const struct traffic_source){ .direction = (to), __VA_ARGS__ } }
#define MESSAGES(text, to, mask)	TRAFFIC(text "_messages", to, .opcodes = (mask))
#define BYTES(text, to, mask)		TRAFFIC(text "_bytes", to, .bytes = true, .opcodes = (mask))

#define OP(name)	BIT(SRN_OP_##name)
#define SENDS		(OP(SEND) | OP(SEND_INV) | OP(SEND_SE) | OP(SEND_SE_INV) |	\
			 OP(SEND_IMM) | OP(SEND_SE_IMM))

static const struct rdma_stat_desc descs[] = {
	[SRN_COUNT_CONNECTS] = { .name = "connects" },
	[SRN_COUNT_CONNECT_REFUSED] = { .name = "connect_refused" },
	[SRN_COUNT_CONNECT_REJECTED] = { .name = "connect_rejected" },
	[SRN_COUNT_CONNECT_TIMEOUTS] = { .name = "connect_timeouts" },
	[SRN_COUNT_CONNECT_FAILURES] = { .name = "connect_failures" },
	[SRN_COUNT_REQUESTS] = { .name = "requests" },
	[SRN_COUNT_ACCEPTS] = { .name = "accepts" },
	[SRN_COUNT_REJECTS] = { .name = "rejects" },
	[SRN_COUNT_RECOGNISED] = { .name = "peers_recognised" },
	[SRN_COUNT_SAME_HOST] = { .name = "connections_same_host" },
	[SRN_COUNT_REQUESTS_DROPPED] = { .name = "requests_dropped" },
	[SRN_COUNT_CLOSED] = { .name = "connections_closed" },
	[SRN_COUNT_LOST] = { .name = "connections_lost" },
	[SRN_COUNT_DOORBELLS] = { .name = "doorbells" },
	[SRN_COUNT_WORKER] = { .name = "tx_worker_runs" },
	[SRN_COUNT_SOFTIRQ] = { .name = "tx_softirq_runs" },
	[SRN_COUNT_SENDMSG] = { .name = "tx_sendmsg_calls" },
	[SRN_COUNT_SOCKET_FULL] = { .name = "tx_socket_full" },
	[SRN_COUNT_NO_MEMORY] = { .name = "tx_no_memory" },
	[SRN_COUNT_CQ_EVENTS] = { .name = "cq_events" },
	[SRN_COUNT_CQ_OVERFLOWS] = { .name = "cq_overflows" },
	[SRN_COUNT_REASSEMBLED] = { .name = "rx_fpdus_reassembled" },
	[SRN_COUNT_RX_NO_MEMORY] = { .name = "rx_no_memory" },
	[SRN_COUNT_CRC_ERRORS] = { .name = "rx_crc_errors" },
	[SRN_COUNT_ACCESS_ERRORS] = { .name = "rx_access_errors" },
	[SRN_COUNT_NO_RECEIVE] = { .name = "rx_no_receive" },
	[SRN_COUNT_VIOLATIONS] = { .name = "rx_violations" },
	TRAFFIC("tx_fpdus", SRN_TX, .fpdus = true),
	MESSAGES("tx_send", SRN_TX, SENDS),
	BYTES("tx_send", SRN_TX, SENDS),
	MESSAGES("tx_write", SRN_TX, OP(WRITE)),
	BYTES("tx_write", SRN_TX, OP(WRITE)),
	MESSAGES("tx_read_request", SRN_TX, OP(READ_REQUEST)),
	MESSAGES("tx_read_response", SRN_TX, OP(READ_RESPONSE)),
	BYTES("tx_read_response", SRN_TX, OP(READ_RESPONSE)),
	MESSAGES("tx_immediate", SRN_TX, OP(IMM) | OP(IMM_SE)),
	MESSAGES("tx_atomic_request", SRN_TX, OP(ATOMIC_REQUEST)),
	MESSAGES("tx_atomic_response", SRN_TX, OP(ATOMIC_RESPONSE)),
	MESSAGES("tx_terminate", SRN_TX, OP(TERMINATE)),
	TRAFFIC("rx_fpdus", SRN_RX, .fpdus = true),
	MESSAGES("rx_send", SRN_RX, SENDS),
	BYTES("rx_send", SRN_RX, SENDS),
	MESSAGES("rx_write", SRN_RX, OP(WRITE)),
	BYTES("rx_write", SRN_RX, OP(WRITE)),
	MESSAGES("rx_read_request", SRN_RX, OP(READ_REQUEST)),
	MESSAGES("rx_read_response", SRN_RX, OP(READ_RESPONSE)),
	BYTES("rx_read_response", SRN_RX, OP(READ_RESPONSE)),
	MESSAGES("rx_immediate", SRN_RX, OP(IMM) | OP(IMM_SE)),
	MESSAGES("rx_atomic_request", SRN_RX, OP(ATOMIC_REQUEST)),
	MESSAGES("rx_atomic_response", SRN_RX, OP(ATOMIC_RESPONSE)),
	MESSAGES("rx_terminate", SRN_RX, OP(TERMINATE)),
};

static u64 traffic_value(const struct srn_counters *c, const struct traffic_source *source)
{
	const struct srn_traffic *t = &c->traffic[source->direction];
	const u64 *by_opcode = source->bytes ? t->bytes : t->messages;
	unsigned long opcodes = source->opcodes;
	unsigned int op;
	u64 sum = 0;

	if (source->fpdus)
		return READ_ONCE(t->fpdus);
	for_each_set_bit(op, &opcodes, 16)
		sum += READ_ONCE(by_opcode[op]);
	return sum;
}

static u64 counter_value(struct srn_counters __percpu *counters, size_t index)
{
	const struct srn_counters *c;
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(counters, cpu);
		sum += descs[index].priv ? traffic_value(c, descs[index].priv) :
		       READ_ONCE(c->event[index]);
	}
	return sum;
}

/**
 * srn_counters_alloc - allocate the counters of a new link
 *
 * Context: process.
 *
 * Return: counters, or NULL if there is no memory.
 */
struct srn_counters __percpu *srn_counters_alloc(void)
{
	return alloc_percpu(struct srn_counters);
}

/**
 * srn_counters_free - undo srn_counters_alloc()
 * @counters: counters, or NULL
 *
 * Context: process.
 */
void srn_counters_free(struct srn_counters __percpu *counters)
{
	free_percpu(counters);
}

/**
 * srn_counters_alloc_stats - allocate room for the values, for the core
 * @ibdev: device
 * @port: the only port of the device
 *
 * Context: process.
 *
 * Return: room for the values, or NULL if there is no memory.
 */
struct rdma_hw_stats *srn_counters_alloc_stats(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(descs, ARRAY_SIZE(descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * srn_counters_get_stats - fill in the values, for the core
 * @ibdev: device
 * @stats: from srn_counters_alloc_stats()
 * @port: the only port of the device
 * @index: not used: all are filled in
 *
 * Context: process.
 *
 * Return: number of values.
 */
int srn_counters_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port,
			   int index)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(descs); i++)
		stats->value[i] = counter_value(to_srn_dev(ibdev)->counters, i);
	return ARRAY_SIZE(descs);
}
