/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The device that the RDMA core sees.
 */
#ifndef SRN_IB_DEVICE_H
#define SRN_IB_DEVICE_H

#include <rdma/ib_verbs.h>

#include "../device/device.h"

/* From the space of locally administered OUIs: no vendor's. */
#define SRN_VENDOR_ID		0x02736e

struct srn_device *srn_ib_device_create(struct net_device *netdev);
int srn_ib_device_register(struct srn_device *dev, const char *name);
void srn_ib_device_update_gid(struct srn_device *dev);
void srn_ib_device_free(struct srn_device *dev);

#endif /* SRN_IB_DEVICE_H */
