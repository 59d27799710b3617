/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Closing a socket without losing what was sent last. Releasing a socket with unread
 * input resets the connection, and the peer may then never read the Terminate or the
 * reject that it was sent. So a socket is shut down and kept, and its input is dropped,
 * until the peer has closed, too, or a time limit has passed. A connection that is not closed by
 * then is left to TCP.
 */
#ifndef SRN_LINGER_H
#define SRN_LINGER_H

struct socket;
struct srn_device;

void srn_linger(struct srn_device *dev, struct socket *sock);
void srn_linger_flush(struct srn_device *dev);

#endif /* SRN_LINGER_H */
