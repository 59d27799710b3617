/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The end that waits for the other one to connect.
 */
#ifndef SRN_RAW_ACCEPT_H
#define SRN_RAW_ACCEPT_H

#include "listener.h"

int srn_raw_accept(struct srn_device *dev, struct srn_raw_initiator *i, const char **reason);

#endif /* SRN_RAW_ACCEPT_H */
