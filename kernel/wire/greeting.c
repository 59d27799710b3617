// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How two softrnics recognise each other.
 *
 * STag: 24 bits of MAGIC, then the kind. Offset: 16 bits of features, then 48 bits: the nonce of a
 * HELLO; 24 bits of proof and 24 of nonce of an ANSWER; the proof of a CONFIRM
 * or MOVED.
 *
 * What is said about placement: STag: MAGIC, then a bit for each thing that is said. Offset: 32
 * bits of proof, then 32 bits of value. The value of a question or an answer is the index that is
 * asked about and the index that is answered, 16 bits each. That of LAST and NOT_READY is a number
 * of messages, and that of LIMITS a number of tries.
 */
#include "greeting.h"

#define MAGIC		0x73724700u	/* "srG" */
#define MAGIC_MASK	0xffffff00u
#define FEATURES_SHIFT	48
#define BITS_48		((1ULL << 48) - 1)
#define BITS_24		((1ULL << 24) - 1)
#define ASKS		0x04
#define ANSWERS		0x08
#define LAST		0x10
#define NOT_READY	0x20
#define LIMITS		0x40
#define MOVED		0x80

/* Mix all bits, so that no simple copy of what was sent is a proof. */
static u64 mix(u64 value)
{
	value ^= value >> 31;
	value *= 0x9e3779b97f4a7c15ULL;
	value ^= value >> 29;
	return value;
}

static u64 answer_proof(u64 initiator_nonce)
{
	return mix(initiator_nonce) & BITS_24;
}

static u64 confirm_proof(u64 initiator_nonce, u64 responder_nonce)
{
	return mix(mix(initiator_nonce) + responder_nonce) & BITS_48;
}

static u64 moved_proof(u64 initiator_nonce, u64 responder_nonce)
{
	return mix(confirm_proof(initiator_nonce, responder_nonce)) & BITS_48;
}

/* What the low byte of the STag of each kind is. */
static u32 byte_of(enum srn_greeting_kind kind)
{
	return kind == SRN_GREETING_MOVED ? MOVED : kind;
}

/**
 * srn_greeting_begin - prepare for the first message of a connection
 * @g: greeting
 * @initiator: this end greets, with a HELLO; otherwise it answers
 * @features: SRN_PEER_* that this end offers
 * @nonce: random bits
 *
 * Context: any.
 */
void srn_greeting_begin(struct srn_greeting *g, bool initiator, u16 features, u64 nonce)
{
	*g = (struct srn_greeting) {
		.expected = initiator ? SRN_GREETING_ANSWER : SRN_GREETING_HELLO,
		.initiator = initiator,
		.features = features,
		.nonce = nonce & (initiator ? BITS_48 : BITS_24),
	};
}

/**
 * srn_greeting_take - take a Write without payload
 * @g: greeting
 * @stag: its STag
 * @to: its offset
 *
 * Context: any, one at a time.
 *
 * Return: what it says, once it is what this end may expect and its proof holds; otherwise
 * SRN_GREETING_NONE, and nothing has changed. After HELLO an ANSWER has to be put, after
 * ANSWER a CONFIRM. After ANSWER and CONFIRM both ends use @g->features. Whoever has taken a HELLO
 * may take features out of @g->features before it puts the ANSWER.
 */
enum srn_greeting_kind srn_greeting_take(struct srn_greeting *g, u32 stag, u64 to)
{
	enum srn_greeting_kind kind = g->expected;
	u16 features = to >> FEATURES_SHIFT;
	u64 value = to & BITS_48;

	if (kind == SRN_GREETING_NONE || stag != (MAGIC | byte_of(kind)))
		return SRN_GREETING_NONE;
	switch (kind) {
	case SRN_GREETING_HELLO:
		g->peer_nonce = value;
		g->features &= features;
		g->expected = SRN_GREETING_CONFIRM;
		return kind;
	case SRN_GREETING_ANSWER:
		/* It has features that were not offered: it answers somebody else. */
		if (value >> 24 != answer_proof(g->nonce) || features & ~g->features)
			return SRN_GREETING_NONE;
		g->peer_nonce = value & BITS_24;
		g->features = features;
		g->expected = features & SRN_PEER_SAME_HOST ? SRN_GREETING_MOVED :
							      SRN_GREETING_NONE;
		return kind;
	case SRN_GREETING_MOVED:
		if (value != moved_proof(g->nonce, g->peer_nonce) || features != g->features)
			return SRN_GREETING_NONE;
		break;
	default:
		if (value != confirm_proof(g->peer_nonce, g->nonce) || features != g->features)
			return SRN_GREETING_NONE;
		break;
	}
	g->expected = SRN_GREETING_NONE;
	return kind;
}

/**
 * srn_greeting_put - STag and offset of a message of this end
 * @g: greeting
 * @kind: HELLO after srn_greeting_begin() of an initiator; what srn_greeting_take() asks for; or
 *	MOVED after it has returned CONFIRM
 * @stag: result
 * @to: result
 *
 * Context: any.
 */
void srn_greeting_put(const struct srn_greeting *g, enum srn_greeting_kind kind, u32 *stag, u64 *to)
{
	u64 value = g->nonce;

	if (kind == SRN_GREETING_ANSWER)
		value |= answer_proof(g->peer_nonce) << 24;
	else if (kind == SRN_GREETING_CONFIRM)
		value = confirm_proof(g->nonce, g->peer_nonce);
	else if (kind == SRN_GREETING_MOVED)
		value = moved_proof(g->peer_nonce, g->nonce);
	*stag = MAGIC | byte_of(kind);
	*to = (u64)g->features << FEATURES_SHIFT | value;
}

static u32 placed_proof(const struct srn_greeting *g)
{
	return mix(g->initiator ? g->nonce : g->peer_nonce) >> 32;
}

static bool is_placed_msg(u32 kind)
{
	return kind == LAST || kind == NOT_READY || kind == LIMITS ||
	       (kind && !(kind & ~(ASKS | ANSWERS)));
}

/**
 * srn_greeting_take_placed - take a Write without payload that may be about what is placed
 * @g: greeting
 * @stag: its STag
 * @to: its offset
 * @p: result
 *
 * Context: any.
 *
 * Return: false if it is something else.
 */
bool srn_greeting_take_placed(const struct srn_greeting *g, u32 stag, u64 to,
			      struct srn_placed_msg *p)
{
	u32 kind = stag & ~MAGIC_MASK;

	if ((stag & MAGIC_MASK) != MAGIC || !is_placed_msg(kind) ||
	    !(g->features & SRN_PEER_PLACED) || g->expected == SRN_GREETING_HELLO ||
	    to >> 32 != placed_proof(g))
		return false;
	*p = (struct srn_placed_msg) {
		.asks = kind & ASKS, .answers = kind & ANSWERS, .last = kind & LAST,
		.not_ready = kind & NOT_READY, .limits = kind & LIMITS,
	};
	if (p->limits) {
		p->rnr_tries = to & 0xff;
	} else if (p->last || p->not_ready) {
		p->messages = (u32)to;
	} else {
		p->ask_index = (to >> 16) & 0xffff;
		p->placed_index = to & 0xffff;
	}
	return true;
}

/**
 * srn_greeting_put_placed - STag and offset of a message about what is placed
 * @g: greeting of an initiator, or one that has taken a HELLO
 * @p: what to say
 * @stag: result
 * @to: result
 *
 * Context: any.
 */
void srn_greeting_put_placed(const struct srn_greeting *g, const struct srn_placed_msg *p,
			     u32 *stag, u64 *to)
{
	*stag = MAGIC | (p->asks ? ASKS : 0) | (p->answers ? ANSWERS : 0) | (p->last ? LAST : 0) |
		(p->not_ready ? NOT_READY : 0) | (p->limits ? LIMITS : 0);
	*to = (u64)placed_proof(g) << 32;
	if (p->limits)
		*to |= p->rnr_tries;
	else if (p->last || p->not_ready)
		*to |= p->messages;
	else
		*to |= (u32)p->ask_index << 16 | p->placed_index;
}
