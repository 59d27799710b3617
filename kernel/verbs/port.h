/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The one port of a link.
 */
#ifndef SRN_PORT_H
#define SRN_PORT_H

#include "../device/device.h"

enum ib_port_state srn_port_state(const struct srn_device *dev);
int srn_port_query(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int srn_port_get_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *immutable);
int srn_port_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);

#endif /* SRN_PORT_H */
