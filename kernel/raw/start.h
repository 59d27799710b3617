/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A queue pair that is brought up by hand gets its connection.
 */
#ifndef SRN_RAW_START_H
#define SRN_RAW_START_H

#include "raw.h"

int srn_raw_start(struct srn_raw *raw, struct socket *sock, const struct srn_conn_params *conn);

#endif /* SRN_RAW_START_H */
