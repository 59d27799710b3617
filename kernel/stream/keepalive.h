/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How long a peer may be silent before its connection ends.
 */
#ifndef SRN_KEEPALIVE_H
#define SRN_KEEPALIVE_H

#include <linux/net.h>

void srn_keepalive_start(struct socket *sock);
void srn_keepalive_often(struct socket *sock, unsigned int seconds);
void srn_keepalive_usual(struct socket *sock);
void srn_keepalive_no_limit(struct socket *sock);

#endif /* SRN_KEEPALIVE_H */
