/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Sockets: how they come and go, and their callbacks, which are handed from the connection
 * set-up to the stream and from there to whoever closes it.
 */
#ifndef SRN_SOCK_H
#define SRN_SOCK_H

#include <net/sock.h>

#include "address.h"

/*
 * These are called with the socket locked, by its owner or in softirq. Each of them takes
 * sk_callback_lock for reading while it uses sk_user_data.
 */
struct srn_sock_hooks {
	void (*data_ready)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*state_change)(struct sock *sk);
};

void srn_sock_hook(struct sock *sk, const struct srn_sock_hooks *hooks, void *user);
void srn_sock_unhook(struct sock *sk);
void srn_sock_allow_waiting(struct sock *sk);
void srn_sock_setup(struct socket *sock);
int srn_sock_create(struct net *net, int family, struct socket **sock);
int srn_sock_connected(struct sock *sk);
int srn_sock_ends(struct socket *sock, union srn_address *local, union srn_address *remote);
void srn_sock_share_fragment(struct socket *sock, bool share);
gfp_t srn_sock_begin_softirq(struct sock *sk, struct page_frag *frag);
void srn_sock_end_softirq(struct sock *sk, struct page_frag *frag, gfp_t before);
int srn_sock_send_locked(struct sock *sk, struct iov_iter *iter, int flags);
int srn_sock_send(struct socket *sock, struct iov_iter *iter, int flags);
void srn_sock_abort(struct socket *sock);
void srn_sock_leave(struct socket *sock);

#endif /* SRN_SOCK_H */
