/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Messages that have waited for a receive go on: an operation of a stream.
 */
#ifndef SRN_RESUME_H
#define SRN_RESUME_H

#include "qp.h"

void srn_resume_messages(struct srn_stream *s);

#endif /* SRN_RESUME_H */
