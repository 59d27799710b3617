/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The operations that a queue pair hands to its stream, by the file that has them.
 */
#ifndef SRN_STREAM_OPS_H
#define SRN_STREAM_OPS_H

#include "qp.h"

/* scheduler.c: what is transmitted next */
enum srn_tx_verdict srn_scheduler_next(struct srn_stream *s, struct srn_tx_msg *msg, bool flushed);
void srn_scheduler_built(struct srn_stream *s);
void srn_scheduler_pushed(struct srn_stream *s);
enum srn_tx_verdict srn_scheduler_idle(struct srn_stream *s, bool may_sleep);
void srn_scheduler_deferred(struct srn_stream *s);

/* placement.c: where the bytes of each segment go; resume.c calls the last one */
int srn_placement_begin(struct srn_stream *s, const struct srn_rdmap_header *h, u32 payload,
			struct srn_term_code *term);
int srn_placement_place(struct srn_stream *s, const u8 *data, u32 len, struct srn_term_code *term);
int srn_placement_memory(struct srn_stream *s, gfp_t gfp);
bool srn_placement_continue(struct srn_stream *s, const struct srn_fpdu_continuation *m);
void srn_placement_pause(struct srn_stream *s);
int srn_placement_start(struct srn_qp *qp, const struct srn_rdmap_header *h, u32 payload,
			struct srn_term_code *term);

/* delivery.c: what a complete message means */
int srn_delivery_end(struct srn_stream *s, struct srn_term_code *term);
void srn_delivery_done(struct srn_stream *s);

/* resume.c: messages that have waited for a receive go on */
void srn_resume_messages(struct srn_stream *s);

/* end.c: the end of a queue pair's connection, and the work that does most of it */
void srn_end_of_stream(struct srn_stream *s, enum srn_stream_end why);
void srn_end_work(struct work_struct *work);

#endif /* SRN_STREAM_OPS_H */
