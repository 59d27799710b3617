/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Numbers of queue pairs.
 */
#ifndef SRN_QPN_H
#define SRN_QPN_H

#include "device.h"

int srn_qpn_reserve(struct srn_device *dev, struct ib_udata *udata, u32 *qpn);

#endif /* SRN_QPN_H */
