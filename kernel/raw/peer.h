/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Who the peer of a bring-up by hand is, and which of the two ends connects.
 */
#ifndef SRN_RAW_PEER_H
#define SRN_RAW_PEER_H

#include "raw.h"

int srn_raw_peer_set(struct srn_raw *raw, const struct ib_qp_attr *attr, const char **reason);
bool srn_raw_peer_is_at(const struct srn_raw *raw, struct socket *sock);

#endif /* SRN_RAW_PEER_H */
