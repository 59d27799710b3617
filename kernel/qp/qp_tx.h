/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the transmitter of a queue pair knows.
 */
#ifndef SRN_QP_TX_H
#define SRN_QP_TX_H

#include "../uapi/softrnic-abi.h"
#include "../wire/atomic.h"

/* First FPDU of an initiator, RFC 6581 section 9.2. */
enum srn_rtr {
	SRN_RTR_NONE,
	SRN_RTR_WRITE,
	SRN_RTR_READ,
	SRN_RTR_SEND,
};

/* State of the transmitter. */
struct srn_qp_tx {
	bool sq_open;		/* the message in hand is that of sq.next */
	bool response_open;	/* the message in hand answers the one at inbound.cons */
	bool responses_turn;	/* this turn is that of responses, if any wait */
	bool awaits_read;	/* the end of a Read or atomic kicks the transmitter */
	bool write_sent;	/* the Immediate Data of a Write with Immediate comes next */
	u8 greeting;		/* enum srn_greeting_kind that is to be sent */
	bool may_ask;		/* the initiator has greeted; the receiver may write it */
	bool answered_alone;	/* the last answer waited for no message; piggyback.c */
	u32 send_msn;
	u32 read_msn;		/* MSN of Read and Atomic Requests */
	u32 atomic_msn;		/* MSN of Atomic Responses */
	union {			/* the control message in hand */
		struct srn_wire_read_request read;
		struct srn_wire_atomic_request atomic;
		struct srn_wire_atomic_response response;
		struct srn_wire_immediate immediate;
	} control;
	u8 rtr;			/* enum srn_rtr that is to be sent */
	bool answer_held;	/* an answer comes behind the message in hand, see placed.h */
	bool unasked;		/* a signaled Send or Write has been sent since the last question */
	bool final_report_due;	/* the final report of what is placed comes next */
	bool final_report_sent;	/* the final report has been sent */
	u8 rnr_tries;		/* how often Sends may find no receive */
	bool limit_due;		/* the peer is to be told @rnr_tries */
	bool refuse_due;	/* the peer is to be told of a refusal; the receiver sets it */
	u32 asked;		/* index up to which the peer was asked what it has placed */
	u32 asks;		/* number of the peer's questions; the receiver writes it */
	u32 asks_answered;
	u16 ask_index;		/* what the peer asked last; the receiver writes it */
	bool awaits_completion;	/* completions kick the transmitter: a bad request comes next */
	u16 messages;		/* number of messages of work requests, which goes round */
	struct srn_sge sge;	/* source of messages that have no scatter list */
};

#endif /* SRN_QP_TX_H */
