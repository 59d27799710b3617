/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Where the bytes of each segment go: operations of a stream, and the beginning of a segment that
 * was kept.
 */
#ifndef SRN_PLACEMENT_H
#define SRN_PLACEMENT_H

#include "qp.h"

int srn_placement_begin(struct srn_stream *s, const struct srn_rdmap_header *h, u32 payload,
			struct srn_term_code *term);
int srn_placement_place(struct srn_stream *s, const u8 *data, u32 len, struct srn_term_code *term);
int srn_placement_memory(struct srn_stream *s, gfp_t gfp);
bool srn_placement_continue(struct srn_stream *s, const struct srn_fpdu_continuation *m);
void srn_placement_pause(struct srn_stream *s);
int srn_placement_start(struct srn_qp *qp, const struct srn_rdmap_header *h, u32 payload,
			struct srn_term_code *term);

#endif /* SRN_PLACEMENT_H */
