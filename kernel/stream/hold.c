// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A responder sends nothing before the initiator's first FPDU has come, or a time has passed (RFC
 * 5044 section 7.1.2).
 */
#include "../compat/compat.h"
#include "engines.h"
#include "hold.h"

/* Longer than any peer needs until it can take FPDUs that arrive behind our MPA reply. */
#define HOLD_TIME	(HZ / 5)

static void hold_ends(struct timer_list *timer)
{
	srn_hold_end(container_of(timer, struct srn_stream, hold_timer));
}

/**
 * srn_hold_init - prepare a stream, once in its life
 * @s: stream
 *
 * Context: process.
 */
void srn_hold_init(struct srn_stream *s)
{
	timer_setup(&s->hold_timer, hold_ends, 0);
}

/**
 * srn_hold_begin - the stream is about to start
 * @s: stream, whose tx_hold says whether it is held
 *
 * Context: process.
 */
void srn_hold_begin(struct srn_stream *s)
{
	if (s->tx_hold == SRN_HOLD_FOR_A_WHILE)
		mod_timer(&s->hold_timer, jiffies + HOLD_TIME);
}

/**
 * srn_hold_end - the first FPDU has come, or the time is up: transmit
 * @s: stream that may have been held
 *
 * Context: bottom halves disabled.
 */
void srn_hold_end(struct srn_stream *s)
{
	timer_delete(&s->hold_timer);
	WRITE_ONCE(s->tx_hold, SRN_HOLD_NOT);
	if (srn_tx_take_if_free(s))
		tasklet_schedule(&s->tx_tasklet);
}

/**
 * srn_hold_stop - no hold ends any more
 * @s: stream without callbacks
 *
 * Context: process, sleeps.
 */
void srn_hold_stop(struct srn_stream *s)
{
	timer_delete_sync(&s->hold_timer);
}
