/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Closing a socket without losing what was sent last. Releasing one with unread
 * input resets the connection, and the peer may then never read the Terminate or the
 * reject that it was sent. So a socket is shut down and kept, its input dropped,
 * until the peer has closed too or a time limit is over. What is not closed then TCP goes on with.
 */
#ifndef SRN_LINGER_H
#define SRN_LINGER_H

struct socket;
struct srn_device;

void srn_linger(struct srn_device *dev, struct socket *sock);
void srn_linger_flush(struct srn_device *dev);

#endif /* SRN_LINGER_H */
