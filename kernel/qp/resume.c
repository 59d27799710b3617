// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages that have waited for a receive go on.
 */
#include "../stream/rx.h"
#include "delivery.h"
#include "placed.h"
#include "placement.h"
#include "resume.h"
#include "rnr.h"

/* Return: 0; -EPROTO; -ENOENT if the segment has to wait on. */
static int resume_segment(struct srn_qp *qp, const struct srn_rnr_segment *segment,
			  struct srn_term_code *term)
{
	struct srn_qp_rx *rx = &qp->rx;
	u32 write_len = rx->write_len;
	int ret;

	ret = srn_placement_start(qp, &segment->header, segment->payload, term);
	if (!ret && segment->payload)
		ret = srn_placement_place(&qp->stream, segment->data, segment->payload, term);
	if (ret)
		return ret;
	/* Immediate Data ends the Write before it, and not one that has come meanwhile. */
	rx->write_len = segment->write_len;
	ret = srn_delivery_end(&qp->stream, term);
	rx->write_len = write_len;
	return ret;
}

/**
 * srn_resume_messages - let go on what has waited, as far as there are receives
 * @s: stream of the queue pair, between two segments
 *
 * Context: the receiver.
 */
void srn_resume_messages(struct srn_stream *s)
{
	struct srn_qp *qp = srn_qp_of_stream(s);
	struct srn_rnr_segment *segment;
	struct srn_term_code term;
	int ret = 0;

	while ((segment = srn_rnr_oldest(qp)) && srn_rx_step(s, segment->payload)) {
		ret = resume_segment(qp, segment, &term);
		if (ret == -ENOENT)
			break;
		if (ret)
			srn_rx_violation(s, term, segment->header_bytes, segment->header_len);
		if (!ret)
			srn_placed_count(qp, segment->writes);
		if (!ret && segment->asked)
			srn_placed_asked(qp, segment->ask_index);
		srn_rnr_done(qp, segment);
		if (ret)
			return;
	}
	/* The next segment that comes does not continue one that has waited. */
	qp->rx.target = NULL;
	if (ret == -ENOENT) {
		srn_rnr_wait_on(qp);
		return;
	}
	if (!segment && !srn_rnr_drop(qp))
		return;
	srn_rx_leave_more(s);
}
