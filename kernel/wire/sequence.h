/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The order in which the segments of a stream have to come: MSNs and offsets of the untagged
 * queues, answers to our own requests in their order, and the message that says that the
 * peer is ready (RFC 5041 sections 5.3 and 7, RFC 5040 section 5.2, RFC 6581 section 9.2).
 * Pure functions on decoded headers.
 *
 *	srn_sequence_check(q, &header, payload, &oldest, &term);	a segment's header is there
 *	srn_sequence_advance(q, &header, payload);			all of the segment is there
 *	srn_sequence_continue(q, &before, offset, payload);		both, in mid-message
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
	u32 sink_stag;		/* Read: STag of the data sink */
	u32 length;		/* Read: bytes asked for */
};

struct srn_sequence {
	struct srn_untagged_queue queue[SRN_QN_COUNT];
	u32 read_done;			/* bytes of the current Read Response so far */
	u32 read_length;		/* bytes that the current Read Response will have */
	bool read_open;			/* more segments of the current Read Response will come */
	bool rtr_read;			/* our ready message was a Read, not yet answered */
	bool rtr_send_may_come;		/* no FPDU yet; an empty Send is the peer's ready message */
	bool rtr;			/* the current segment is a ready message */
};

void srn_sequence_init(struct srn_sequence *q, bool rtr_read, bool rtr_send_may_come);
int srn_sequence_check(struct srn_sequence *q, const struct srn_rdmap_header *h, u32 payload,
		       const struct srn_request *oldest, struct srn_term_code *term);
bool srn_sequence_continue(struct srn_sequence *q, const struct srn_rdmap_header *before,
			   u64 offset, u32 payload);
bool srn_sequence_advance(struct srn_sequence *q, const struct srn_rdmap_header *h, u32 payload);

#endif /* SRN_WIRE_SEQUENCE_H */
