/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Workers that go on for the engines.
 */
#ifndef SRN_WORKER_H
#define SRN_WORKER_H

#include "stream.h"

void srn_worker_inherit(struct srn_stream *s, unsigned long delay);
void srn_worker_transmit(struct srn_stream *s);
void srn_worker_receive(struct srn_stream *s, unsigned long delay);

#endif /* SRN_WORKER_H */
