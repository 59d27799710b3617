// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A queue pair that is brought up by hand gets its connection.
 */
#include "../qp/state.h"
#include "../stream/keepalive.h"
#include "silence.h"
#include "start.h"

/**
 * srn_raw_start - hand a connected socket to the queue pair
 * @raw: bring-up that is not ESTABLISHED yet
 * @sock: socket without callbacks; it is the queue pair's if this succeeds
 * @conn: what both ends have agreed on
 *
 * Context: process, raw->lock held; sleeps.
 *
 * Return: 0 or a negative errno.
 */
int srn_raw_start(struct srn_raw *raw, struct socket *sock, const struct srn_conn_params *conn)
{
	int ret;

	lockdep_assert_held(&raw->lock.mutex);
	srn_keepalive_no_limit(sock);
	ret = srn_connection_start(raw->qp, &raw->conn, sock, conn);
	if (ret)
		return ret;
	raw->state = SRN_RAW_ESTABLISHED;
	raw->sends_since = 0;
	srn_raw_silence_begin(raw);
	srn_handshake_exit(&raw->reply);
	/* A program that waits in RTR may go on. */
	if (!raw->rts)
		srn_state_event(raw->qp, IB_EVENT_COMM_EST);
	srn_count(raw->dev->counters, raw->active ? SRN_COUNT_CONNECTS : SRN_COUNT_ACCEPTS);
	return 0;
}
