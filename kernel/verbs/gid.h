/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The table of GIDs: the IP addresses of the network device.
 */
#ifndef SRN_GID_H
#define SRN_GID_H

#include <rdma/ib_verbs.h>

#include "../device/device.h"

int srn_gid_query(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid);
void srn_gid_prepare(struct srn_device *dev);
void srn_gid_note(struct srn_device *dev);
void srn_gid_check(struct srn_device *dev, unsigned long delay);
void srn_gid_check_later(struct srn_device *dev);
int srn_gid_init(void);
void srn_gid_exit(void);

#endif /* SRN_GID_H */
