// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whether the peer of a queue pair is a softrnic, see wire/greeting.h. The receiver keeps the
 * greeting, and leaves to the transmitter what is to be said.
 */
#include <linux/random.h>

#include "../stream/direct.h"
#include "../stream/tx.h"
#include "message.h"
#include "placed.h"
#include "recognition.h"
#include "rnr.h"

/* What this end can do. */
#define FEATURES	(SRN_PEER_LARGE_FPDUS | SRN_PEER_RNR | SRN_PEER_PLACED)

/* A HELLO comes first, or right behind the ready message. */
#define FIRST_SEGMENTS	2

/* The path inside this host does not know a limit of the rate. */
static bool may_go_direct(const struct srn_qp *qp)
{
	return READ_ONCE(qp->dev->same_host) != SRN_SAME_HOST_OFF && !READ_ONCE(qp->rate_limit);
}

static bool between_namespaces(const struct srn_qp *qp)
{
	return READ_ONCE(qp->dev->same_host) == SRN_SAME_HOST_ANY;
}

static void agree_on_rnr(struct srn_qp *qp)
{
	/* Kernel consumers post receives in advance, and nobody pays for what is kept for one. */
	if (!qp->kernel && (qp->srq || qp->rq.depth) &&
	    qp->rx.greeting.features & SRN_PEER_RNR)
		srn_rnr_agree(qp);
}

/**
 * srn_recognition_itself - prepare for the first message that a queue pair sends to itself
 * @qp: queue pair whose stream has not started
 *
 * It knows whom it talks to.
 *
 * Context: process, qp->conn_mutex held.
 */
void srn_recognition_itself(struct srn_qp *qp)
{
	srn_greeting_begin(&qp->rx.greeting, true, FEATURES, get_random_u64());
	qp->tx.may_ask = true;
	agree_on_rnr(qp);
	if (may_go_direct(qp))
		srn_direct_itself(&qp->stream);
}

/**
 * srn_recognition_started - the connection is about to carry messages
 * @qp: queue pair in RTS whose stream has not started
 *
 * Only a queue pair that is its own peer bypasses TCP from the start.
 *
 * Context: process, qp->conn_mutex held.
 */
void srn_recognition_started(struct srn_qp *qp)
{
	if (qp->stream.tx_path == SRN_PATH_DIRECT)
		srn_count(qp->dev->counters, SRN_COUNT_SAME_HOST);
}

/**
 * srn_recognition_begin - prepare for the first message of a connection
 * @qp: queue pair whose stream is attached and has not started
 * @initiator: this end of the connection is the initiator
 * @agreed: both ends have said in their MPA frames that they greet, whatever the link's setting
 *
 * Context: process.
 */
void srn_recognition_begin(struct srn_qp *qp, bool initiator, bool agreed)
{
	struct srn_greeting *g = &qp->rx.greeting;

	if (!agreed && !READ_ONCE(qp->dev->greeting))
		return;
	srn_greeting_begin(g, initiator, FEATURES, get_random_u64());
	if (may_go_direct(qp) &&
	    (!initiator || srn_direct_offer(&qp->stream, g->nonce, between_namespaces(qp))))
		g->features |= SRN_PEER_SAME_HOST;
	if (!initiator)
		return;
	qp->tx.greeting = SRN_GREETING_HELLO;
	qp->tx.may_ask = true;
}

/* Both ends are softrnics, and have agreed. */
static void recognised(struct srn_qp *qp)
{
	srn_count(qp->dev->counters, SRN_COUNT_RECOGNISED);
	if (qp->rx.greeting.features & SRN_PEER_LARGE_FPDUS)
		srn_stream_allow_large_fpdus(&qp->stream);
	if (qp->rx.greeting.features & SRN_PEER_PLACED && !qp->kernel &&
	    READ_ONCE(qp->dev->placed_completions)) {
		srn_placed_await(qp);
		srn_tx_kick_async(&qp->stream);
	}
}

/* All that the peer has given to TCP has come. */
static void go_direct(struct srn_qp *qp)
{
	srn_count(qp->dev->counters, SRN_COUNT_SAME_HOST);
	srn_direct_open(&qp->stream);
}

/* Let the transmitter say it. */
static void say(struct srn_qp *qp, enum srn_greeting_kind kind)
{
	/* Release: the transmitter reads the greeting. */
	smp_store_release(&qp->tx.greeting, kind);
	srn_tx_kick_async(&qp->stream);
}

/**
 * srn_recognition_received - a Write without payload has come
 * @qp: queue pair
 *
 * Context: the receiver.
 */
void srn_recognition_received(struct srn_qp *qp)
{
	struct srn_greeting *g = &qp->rx.greeting;

	if (g->expected == SRN_GREETING_HELLO && qp->rx.segments > FIRST_SEGMENTS)
		return;
	switch (srn_greeting_take(g, qp->rx.header.stag, qp->rx.header.to)) {
	case SRN_GREETING_HELLO:
		if (g->features & SRN_PEER_SAME_HOST &&
		    !srn_direct_find(&qp->stream, g->peer_nonce, between_namespaces(qp)))
			g->features &= ~SRN_PEER_SAME_HOST;
		/* Before the peer confirms: its first message may come before that. */
		agree_on_rnr(qp);
		/* Release: the transmitter reads the greeting. */
		smp_store_release(&qp->tx.may_ask, true);
		say(qp, SRN_GREETING_ANSWER);
		break;
	case SRN_GREETING_ANSWER:
		if (!(g->features & SRN_PEER_SAME_HOST))
			srn_direct_withdraw(&qp->stream);
		agree_on_rnr(qp);
		say(qp, SRN_GREETING_CONFIRM);
		recognised(qp);
		break;
	case SRN_GREETING_CONFIRM:
		recognised(qp);
		if (!(g->features & SRN_PEER_SAME_HOST))
			break;
		go_direct(qp);
		say(qp, SRN_GREETING_MOVED);
		break;
	case SRN_GREETING_MOVED:
		go_direct(qp);
		break;
	default:
		break;
	}
}

/**
 * srn_recognition_next - transmit what qp->tx.greeting says
 * @qp: queue pair that has something to say
 * @msg: the message
 *
 * Context: the active transmitter.
 *
 * Return: SRN_TX_MESSAGE.
 */
enum srn_tx_verdict srn_recognition_next(struct srn_qp *qp, struct srn_tx_msg *msg)
{
	/* Acquire: pairs with say(). The receiver changes nothing until the peer has answered. */
	enum srn_greeting_kind kind = smp_load_acquire(&qp->tx.greeting);

	qp->tx.greeting = SRN_GREETING_NONE;
	srn_message_empty_write(qp, msg);
	srn_greeting_put(&qp->rx.greeting, kind, &msg->stag, &msg->to);
	if (qp->rx.greeting.features & SRN_PEER_SAME_HOST &&
	    (kind == SRN_GREETING_CONFIRM || kind == SRN_GREETING_MOVED)) {
		srn_direct_move(&qp->stream);
		/* Pairs with the barrier in modify_rate(). */
		smp_mb();
		if (READ_ONCE(qp->rate_limit))
			srn_direct_return(&qp->stream);
	}
	return SRN_TX_MESSAGE;
}
