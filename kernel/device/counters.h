/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a link has done, for "rdma statistic show link".
 *
 * Each CPU counts for itself and only a reader adds up, so queue pairs share no cache line for
 * counting. The counters of a link run from its creation on.
 */
#ifndef SRN_COUNTERS_H
#define SRN_COUNTERS_H

#include <linux/percpu.h>
#include <linux/types.h>

struct ib_device;
struct rdma_hw_stats;

enum srn_direction {
	SRN_TX,
	SRN_RX,
	SRN_DIRECTIONS
};

/* Counters of events, in the order in which they are shown. */
enum srn_counter {
	SRN_COUNT_CONNECTS,		/* connections initiated here and established */
	SRN_COUNT_CONNECT_REFUSED,	/* connects without a listener, or reset by a firewall */
	SRN_COUNT_CONNECT_REJECTED,	/* connects that the peer's consumer rejected */
	SRN_COUNT_CONNECT_TIMEOUTS,	/* connects without an answer, or without a route */
	SRN_COUNT_CONNECT_FAILURES,	/* connects that failed for any other reason */
	SRN_COUNT_REQUESTS,		/* requests of peers reported to a listener */
	SRN_COUNT_ACCEPTS,		/* connections that this side has accepted */
	SRN_COUNT_REJECTS,		/* requests that the consumer has rejected */
	SRN_COUNT_RECOGNISED,		/* connections whose peer is a softrnic, too */
	SRN_COUNT_SAME_HOST,		/* connections that take the path inside this host */
	SRN_COUNT_REQUESTS_DROPPED,	/* requests dropped before any consumer has seen them */
	SRN_COUNT_CLOSED,		/* connections that were established and have ended */
	SRN_COUNT_LOST,			/* established connections reset or timed out */
	SRN_COUNT_DOORBELLS,		/* doorbells of processes, to transmit */
	SRN_COUNT_WORKER,		/* transmissions by a worker */
	SRN_COUNT_SOFTIRQ,		/* transmissions in softirq */
	SRN_COUNT_SENDMSG,		/* batches, or what is left of one, given to TCP */
	SRN_COUNT_SOCKET_FULL,		/* transmission had to wait for TCP */
	SRN_COUNT_NO_MEMORY,		/* transmission had to wait for memory */
	SRN_COUNT_CQ_EVENTS,
	SRN_COUNT_CQ_OVERFLOWS,
	SRN_COUNT_REASSEMBLED,		/* FPDUs copied until their CRC was known */
	SRN_COUNT_RX_NO_MEMORY,		/* receiving had to wait for memory */
	SRN_COUNT_CRC_ERRORS,
	SRN_COUNT_ACCESS_ERRORS,	/* peers that named memory that they may not use */
	SRN_COUNT_NO_RECEIVE,		/* a message had no receive; of several only the first */
	SRN_COUNT_VIOLATIONS,		/* all violations for which we ended a connection */
	SRN_COUNTERS
};

struct srn_traffic {
	u64 fpdus;
	u64 messages[16];	/* by RDMAP opcode */
	u64 bytes[16];
};

struct srn_counters {
	u64 event[SRN_COUNTERS];
	struct srn_traffic traffic[SRN_DIRECTIONS];
};

static inline void srn_count(struct srn_counters __percpu *counters, enum srn_counter which)
{
	this_cpu_inc(counters->event[which]);
}

/* FPDUs of one opcode in a row that are not in the counters yet. */
struct srn_tally {
	u32 fpdus;
	u32 messages;
	u64 bytes;
	u8 opcode;
};

static inline void srn_tally_flush(struct srn_counters __percpu *counters, enum srn_direction to,
				   struct srn_tally *t)
{
	if (!t->fpdus)
		return;
	this_cpu_add(counters->traffic[to].fpdus, t->fpdus);
	this_cpu_add(counters->traffic[to].messages[t->opcode & 15], t->messages);
	this_cpu_add(counters->traffic[to].bytes[t->opcode & 15], t->bytes);
	*t = (struct srn_tally) {};
}

/* Count one FPDU with @payload bytes; @last: it is the last one of its message. */
static inline void srn_tally_fpdu(struct srn_counters __percpu *counters, enum srn_direction to,
				  struct srn_tally *t, u8 opcode, u32 payload, bool last)
{
	if (t->opcode != opcode)
		srn_tally_flush(counters, to, t);
	t->opcode = opcode;
	t->fpdus++;
	t->messages += last;
	t->bytes += payload;
}

struct srn_counters __percpu *srn_counters_alloc(void);
void srn_counters_free(struct srn_counters __percpu *counters);

struct rdma_hw_stats *srn_counters_alloc_stats(struct ib_device *ibdev, u32 port);
int srn_counters_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port,
			   int index);

#endif /* SRN_COUNTERS_H */
