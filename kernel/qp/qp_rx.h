/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the receiver of a queue pair knows.
 */
#ifndef SRN_QP_RX_H
#define SRN_QP_RX_H

#include "../memory/cursor.h"
#include "../wire/atomic.h"
#include "../wire/greeting.h"
#include "../wire/sequence.h"

struct srn_piggyback;
struct srn_rnr;

/* State of the receiver. */
struct srn_qp_rx {
	u32 segments;			/* number of segments received */
	u32 responses;			/* segments that answered requests and questions */
	struct srn_sequence sequence;
	u32 payload;			/* payload bytes of the segment in hand */
	struct srn_greeting greeting;
	struct srn_rdmap_header header;	/* header of the segment in hand */
	struct srn_cursor *target;	/* where the payload goes; NULL: to @control or @rnr */
	struct srn_rnr *rnr;		/* messages that wait for a receive; NULL: none ever has */
	struct srn_piggyback *piggyback;	/* NULL: the peer has never asked */

	struct srn_cursor write;	/* where RDMA Writes are placed */
	struct srn_sge write_sge;
	u32 write_len;			/* bytes of the Write in hand or the last one */
	bool wr_taken:1;		/* qp->recv holds a receive that is in use */
	bool may_wait:1;		/* the peer's messages may wait for a receive, see rnr.h */
	bool asked:1;			/* the peer has asked what has been placed */
	bool final_report_came:1;	/* the peer's final report has come */
	/* What the receiver has to do when its pass is over, see srn_delivery_done(). */
	bool notify_send:1;		/* complete requests that were answered */
	bool notify_recv:1;		/* tell the consumer of completed receives */
	bool solicited_recv:1;		/* one of these was solicited, or has failed */
	bool write_open;		/* more segments of the Write in hand will come */
	bool waits;			/* messages wait, or are dropped; under state_lock */
	u8 control_len;			/* bytes in @control */
	struct srn_cursor recv;		/* where Sends are placed */
	struct srn_cursor read;		/* where RDMA Read Responses are placed */

	u8 control[SRN_TERM_MAX];	/* a control message, or the end of a Write */
	u32 placed;			/* number of the peer's messages so far, see placed.h */
};

/* The longest control message of fixed length has to fit; lengths are checked with the headers. */
static_assert(sizeof(struct srn_wire_atomic_request) <= SRN_TERM_MAX);
static_assert(SRN_POLLED_BYTES <= SRN_TERM_MAX);

#endif /* SRN_QP_RX_H */
