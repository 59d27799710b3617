/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Life of a queue pair's connection.
 */
#ifndef SRN_CONNECTION_H
#define SRN_CONNECTION_H

#include "qp.h"

/* What the set-up agreed on. */
struct srn_conn_params {
	bool initiator;		/* this end has connected, and sends the first FPDU */
	bool itself;		/* both ends are this queue pair */
	bool crc;
	bool tx_markers;	/* the peer wants markers */
	bool rx_markers;	/* we want markers */
	enum srn_tx_hold hold_tx;
	bool rtr_send_may_come;	/* the first FPDU may be an empty Send that is no message */
	enum srn_rtr rtr;
	bool peer_answers;	/* completions wait until the peer has placed the data */
	u8 rnr_timer;		/* as min_rnr_timer of InfiniBand */
	u8 rnr_tries;		/* how often our Sends may find no receive; 0: any number */
	u32 ird;
	u32 ord;
};

void srn_connection_init(struct srn_qp *qp);
void srn_connection_exit(struct srn_qp *qp);
int srn_connection_start(struct srn_qp *qp, const struct srn_conn *conn, struct socket *sock,
			 const struct srn_conn_params *params);
void srn_connection_abort(struct srn_qp *qp);
int srn_connection_close(struct srn_qp *qp);

#endif /* SRN_CONNECTION_H */
