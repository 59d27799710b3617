/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The end of a queue pair's connection: an operation of a stream, and the work that does most
 * of it.
 */
#ifndef SRN_END_H
#define SRN_END_H

#include "qp.h"

void srn_end_of_stream(struct srn_stream *s, enum srn_stream_end why);
void srn_end_work(struct work_struct *work);

#endif /* SRN_END_H */
