/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Requests of the peer, Reads and atomics, that wait to be answered.
 */
#ifndef SRN_INBOUND_H
#define SRN_INBOUND_H

#include "../uapi/softrnic-abi.h"

/* An inbound RDMA Read or atomic that waits for its response to be sent. */
struct srn_inbound {
	bool atomic;		/* this is an atomic, which has been executed; else a Read */
	u32 sink_stag;		/* sink STag of a Read; identifier of an atomic */
	u64 sink_to;		/* sink offset of a Read; original value of an atomic */
	struct srn_sge src;	/* source of a Read; lkey is the STag that the peer named */
};

/* Inbound requests: written by the receiver, taken by the transmitter. */
struct srn_inbound_queue {
	struct srn_inbound *slots;	/* @depth entries; NULL until the first request */
	u32 depth;		/* power of two */
	u32 ird;
	u32 prod;
	u32 cons;
};

#endif /* SRN_INBOUND_H */
