/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a connection asks of the network: its class of service and its rate.
 */
#ifndef SRN_QOS_H
#define SRN_QOS_H

#include <linux/net.h>
#include <linux/types.h>

void srn_qos_set_tos(struct socket *sock, u8 tos);
void srn_qos_set_rate(struct socket *sock, u32 kbits);

#endif /* SRN_QOS_H */
