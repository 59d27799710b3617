/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A socket that listens, and the work that accepts its connections.
 */
#ifndef SRN_ACCEPTOR_H
#define SRN_ACCEPTOR_H

#include <linux/workqueue.h>

struct net;
struct sockaddr;
struct socket;

struct srn_acceptor {
	struct socket *sock;
	struct workqueue_struct *wq;
	struct delayed_work work;	/* the user's; it calls srn_acceptor_run() */
};

/* Takes an accepted socket, which has no callbacks. Context: that of the work. */
typedef void (*srn_acceptor_take)(struct srn_acceptor *a, struct socket *sock);

int srn_acceptor_open(struct srn_acceptor *a, struct net *net, struct sockaddr *address,
		      bool v6only, int backlog);
void srn_acceptor_run(struct srn_acceptor *a, srn_acceptor_take take);
void srn_acceptor_close(struct srn_acceptor *a);

#endif /* SRN_ACCEPTOR_H */
