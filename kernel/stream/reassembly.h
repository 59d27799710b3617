/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Payload that waits for its CRC.
 */
#ifndef SRN_REASSEMBLY_H
#define SRN_REASSEMBLY_H

#include "../wire/fpdu.h"

struct srn_stream;

bool srn_reassembly_ready(const struct srn_stream *s, u32 len);
int srn_reassembly_grow(struct srn_stream *s, u32 len, gfp_t gfp);
void srn_reassembly_add(struct srn_stream *s, const struct srn_fpdu_event *ev);
int srn_reassembly_deliver(struct srn_stream *s, struct srn_term_code *term);
void srn_reassembly_end(struct srn_stream *s);

#endif /* SRN_REASSEMBLY_H */
