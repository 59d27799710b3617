/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a complete message means: operations of a stream.
 */
#ifndef SRN_DELIVERY_H
#define SRN_DELIVERY_H

#include "qp.h"

int srn_delivery_end(struct srn_stream *s, struct srn_term_code *term);
void srn_delivery_done(struct srn_stream *s);

#endif /* SRN_DELIVERY_H */
