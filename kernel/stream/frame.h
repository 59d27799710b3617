/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Cutting messages into FPDUs.
 */
#ifndef SRN_FRAME_H
#define SRN_FRAME_H

#include "stream.h"

/* Largest FPDU of a Terminate, with the most markers that can lie in it. */
#define SRN_TERMINATE_FPDU						\
	(SRN_UNTAGGED_HEADER + SRN_TERM_MAX + SRN_MAX_TRAILER +		\
	 SRN_MARKER_LEN * SRN_MAX_MARKERS(SRN_UNTAGGED_HEADER + SRN_TERM_MAX))

/* Largest FPDU of a Write without payload. */
#define SRN_EMPTY_WRITE_FPDU						\
	(SRN_TAGGED_HEADER + SRN_MAX_TRAILER +				\
	 SRN_MARKER_LEN * SRN_MAX_MARKERS(SRN_TAGGED_HEADER))

u32 srn_frame_payload(const struct srn_tx_msg *msg, u32 len);
void srn_frame_header(const struct srn_tx_msg *msg, u8 *header, u32 len, bool last);
void srn_frame_done(struct srn_stream *s, struct srn_tx_msg *msg, u32 len, bool last);
int srn_frame_build(struct srn_stream *s, struct srn_tx_msg *msg, u32 limit);
u32 srn_frame_terminate(struct srn_framer *f, u8 *out, const u8 *payload, u32 len);
u32 srn_frame_empty_write(struct srn_framer *f, u8 *out, u32 stag, u64 to);

#endif /* SRN_FRAME_H */
