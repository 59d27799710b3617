/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Network namespaces know the links in them, and wait for them.
 */
#ifndef SRN_NETNS_H
#define SRN_NETNS_H

#include <linux/types.h>

struct srn_device;

int srn_netns_enter(struct srn_device *dev);
void srn_netns_leave(struct srn_device *dev);
int srn_netns_init(void);
void srn_netns_exit(void);

#endif /* SRN_NETNS_H */
