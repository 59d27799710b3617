/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A bring-up by hand as its queue pair knows it.
 */
#ifndef SRN_RAW_CONN_H
#define SRN_RAW_CONN_H

#include "raw.h"

extern const struct srn_conn_ops srn_raw_conn_ops;

struct srn_raw *srn_raw_conn_find(struct srn_device *dev, u32 qpn);
void srn_raw_conn_end(struct srn_raw *raw);

#endif /* SRN_RAW_CONN_H */
