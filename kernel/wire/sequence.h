/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the segments of a stream have to follow upon: numbers and offsets of the untagged
 * queues, answers to our own requests in their order, and the message that says that the
 * peer is ready (RFC 5041 sections 5.3 and 7, RFC 5040 section 5.2, RFC 6581 section 9.2).
 * Pure functions on decoded headers.
 *
 *	srn_sequence_check(q, &header, payload, &oldest, &term);	its header is there
 *	srn_sequence_advance(q, &header, payload);			all of it is there
 *	srn_sequence_continue(q, &before, offset, payload);		both, for one that goes on
 */
#ifndef SRN_WIRE_SEQUENCE_H
#define SRN_WIRE_SEQUENCE_H

#include "rdmap.h"

/* The oldest of our requests that has not been answered in full. */
enum srn_request_kind {
	SRN_REQUEST_NONE,
	SRN_REQUEST_READ,
	SRN_REQUEST_ATOMIC,
};

struct srn_request {
	enum srn_request_kind kind;
	u32 sink_stag;		/* of a Read */
	u32 length;
};

struct srn_sequence {
	struct srn_untagged_queue queue[SRN_QN_COUNT];
	u32 read_done;			/* bytes of the Read Response in hand */
	u32 read_length;		/* that it is going to have */
	bool read_open;			/* more segments of it will come */
	bool rtr_read;			/* our ready message was a Read, not yet answered */
	bool rtr_send_may_come;		/* the peer's may be an empty Send: no FPDU so far */
	bool rtr;			/* the segment in hand is that, so no message */
};

void srn_sequence_init(struct srn_sequence *q, bool rtr_read, bool rtr_send_may_come);
int srn_sequence_check(struct srn_sequence *q, const struct srn_rdmap_header *h, u32 payload,
		       const struct srn_request *oldest, struct srn_term_code *term);
bool srn_sequence_continue(struct srn_sequence *q, const struct srn_rdmap_header *before,
			   u64 offset, u32 payload);
bool srn_sequence_advance(struct srn_sequence *q, const struct srn_rdmap_header *h, u32 payload);

#endif /* SRN_WIRE_SEQUENCE_H */
