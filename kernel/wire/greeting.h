/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How two softrnics recognise each other on a connection, and which features they then use.
 *
 * STag and offset of an RDMA Write without payload mean nothing (RFC 5041 section 5.2). The
 * initiator greets with such a Write before its first message. A responder that is a softrnic
 * answers with one, and the initiator confirms with a third. The answer depends on the greeting,
 * and the confirmation on the answer, so that neither is taken from a program which happens to
 * send a Write that looks like one. That is no authentication. A peer of another make ignores a
 * greeting, and gets nothing else.
 *
 *	initiator		responder
 *	begin, put HELLO
 *				take: put ANSWER
 *	take: put CONFIRM
 *	agreed			take: agreed
 *
 * If they have found out that they are in one kernel, the CONFIRM is the last message that the
 * initiator gives to TCP. The responder has another one for that, MOVED, which comes behind.
 *
 * From the initiator's greeting on, either end may send further Writes without payload. One is a
 * question about what the other end has placed, an answer to that, or both. Another is the final
 * report of what has been placed, which nobody asked for. Another says how long a Send may wait for
 * a receive, and another that one has waited so long. Their proof depends on the initiator's nonce.
 *
 * Pure functions; the receiver of the stream takes, its transmitter puts.
 */
#ifndef SRN_WIRE_GREETING_H
#define SRN_WIRE_GREETING_H

#include "platform.h"

/* Features that a softrnic may offer. */
#define SRN_PEER_LARGE_FPDUS	0x0001	/* it receives FPDUs that exceed a TCP segment */
#define SRN_PEER_RNR		0x0002	/* its messages may wait for a receive */
#define SRN_PEER_PLACED	0x0004	/* it tells what it has placed */
#define SRN_PEER_SAME_HOST	0x0008	/* it delivers without TCP to a peer in its kernel */

/* What a Write without payload says to a softrnic. */
enum srn_greeting_kind {
	SRN_GREETING_NONE,
	SRN_GREETING_HELLO,
	SRN_GREETING_ANSWER,
	SRN_GREETING_CONFIRM,
	SRN_GREETING_MOVED,
};

struct srn_greeting {
	u8 expected;		/* enum srn_greeting_kind that the peer may send next */
	bool initiator;		/* this end greets */
	u16 features;		/* offered to the peer; once it has answered: agreed on */
	u64 nonce;		/* this end's: 48 bits of an initiator, 24 of a responder */
	u64 peer_nonce;
};

/*
 * A message about what has been placed. It is a question, an answer, or both (@asks, @answers); or
 * it is exactly one of @last, @not_ready and @limits.
 */
struct srn_placed_msg {
	bool asks;
	bool answers;
	bool last;		/* the final report: @messages */
	bool not_ready;		/* no receive has come in time for the message behind @messages */
	bool limits;		/* the other end is told @rnr_tries */
	u16 ask_index;		/* has all up to here been placed? */
	u16 placed_index;	/* all up to there, where the other end asked, has been placed */
	u32 messages;		/* of the other end that have been placed; it wraps */
	u8 rnr_tries;		/* how often a Send may find no receive; 0: any number */
};

void srn_greeting_begin(struct srn_greeting *g, bool initiator, u16 features, u64 nonce);
enum srn_greeting_kind srn_greeting_take(struct srn_greeting *g, u32 stag, u64 to);
void srn_greeting_put(const struct srn_greeting *g, enum srn_greeting_kind kind, u32 *stag,
		      u64 *to);
bool srn_greeting_take_placed(const struct srn_greeting *g, u32 stag, u64 to,
			      struct srn_placed_msg *p);
void srn_greeting_put_placed(const struct srn_greeting *g, const struct srn_placed_msg *p,
			     u32 *stag, u64 *to);

#endif /* SRN_WIRE_GREETING_H */
