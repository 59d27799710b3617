/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue pairs that a program brings up by hand: it exchanges numbers and GIDs by a socket of its
 * own, and modifies its queue pair to RTR and RTS, without a connection manager. raw.h says how
 * they are connected.
 */
#ifndef SRN_RAW_BRING_UP_H
#define SRN_RAW_BRING_UP_H

struct ib_qp_attr;
struct srn_qp;

int srn_raw_bring_up(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask);

#endif /* SRN_RAW_BRING_UP_H */
