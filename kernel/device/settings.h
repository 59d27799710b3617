/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a link asks for when connections are made.
 */
#ifndef SRN_SETTINGS_H
#define SRN_SETTINGS_H

#include <linux/sysfs.h>

struct srn_device;

extern const struct attribute_group srn_settings_group;

void srn_settings_init(struct srn_device *dev);
int srn_settings_register(struct srn_device *dev);

#endif /* SRN_SETTINGS_H */
