/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a connection asks of the network: its class of service and its rate.
 */
#ifndef SRN_SERVICE_H
#define SRN_SERVICE_H

#include <linux/net.h>
#include <linux/types.h>

void srn_service_set_tos(struct socket *sock, u8 tos);
void srn_service_set_rate(struct socket *sock, u32 kbits);

#endif /* SRN_SERVICE_H */
