/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Receiver not ready: a message that finds no receive waits until one is posted.
 *
 * RFC 5041 section 7.1 lets a receiver end the stream, or recover as it likes. Programs for
 * InfiniBand expect the latter, so it is done where the peer is a softrnic, too. From the message
 * without a receive on, segments of Sends, Immediate Data, and Read and Atomic Requests are kept.
 * Writes, responses and Terminates go on: a program may post its receives only when its own Read is
 * done. When there is a receive, what was kept is placed and delivered in order, as if it had come
 * only now (resume.c). At the limit input stays in the socket, so that TCP makes the peer wait.
 *
 * The requester may limit how long a message waits (rnr_limit.h). When the oldest one has waited
 * for so long, the responder tells the requester, receives nothing of it any more, and drops what
 * it keeps.
 */
#ifndef SRN_RNR_H
#define SRN_RNR_H

#include "qp.h"

/*
 * A segment that is kept. One that takes more than 4 KiB is kept as several, each with the header
 * that it would have had if the peer had sent it so.
 */
struct srn_rnr_segment {
	struct list_head list;
	struct srn_rdmap_header header;
	u8 header_bytes[SRN_MAX_HEADER];	/* as it came */
	u8 header_len;
	u32 size;		/* bytes of memory */
	u32 payload;		/* bytes in @data once it is complete */
	u32 done;		/* bytes in @data so far */
	u32 write_len;		/* Immediate Data: bytes of the Write before it */
	bool asked;		/* the peer wants to know when it is placed */
	u16 ask_index;		/* index that it is answered with then */
	u32 writes;		/* Writes that came behind it and before the next segment here */
	u8 data[];
};

/* What a queue pair keeps. The receiver owns it, but for @waiter. */
struct srn_rnr {
	struct srn_qp *qp;
	struct srn_rnr_segment *open;	/* where payload in hand goes; NULL: none is kept now */
	struct list_head segments;	/* the oldest first */
	u32 bytes;			/* memory of @segments */
	u32 spare_payload;		/* payload for which @spare has room */
	struct list_head spare;		/* memory for the next segment */
	u32 look_delay;			/* jiffies until the SRQ is looked at again */
	unsigned long since;		/* when the oldest one began to wait, in jiffies */
	bool refused;			/* a message has waited for too long: all are dropped */
	bool drops;			/* the segment in hand is dropped */
	struct list_head waiter;	/* in the list of the SRQ, under its lock */
};

/* Is the segment in hand one of those that are kept, or dropped? */
static inline bool srn_rnr_open(const struct srn_qp *qp)
{
	return qp->rx.rnr && (qp->rx.rnr->open || qp->rx.rnr->drops);
}

void srn_rnr_agree(struct srn_qp *qp);
bool srn_rnr_waits_behind(const struct srn_rdmap_header *h);
int srn_rnr_begin(struct srn_qp *qp, const struct srn_rdmap_header *h, u32 payload);
int srn_rnr_memory(struct srn_qp *qp, gfp_t gfp);
void srn_rnr_place(struct srn_qp *qp, const u8 *data, u32 len);
void srn_rnr_end(struct srn_qp *qp);
struct srn_rnr_segment *srn_rnr_oldest(struct srn_qp *qp);
bool srn_rnr_drop(struct srn_qp *qp);
void srn_rnr_done(struct srn_qp *qp, struct srn_rnr_segment *segment);
void srn_rnr_asked(struct srn_qp *qp, u16 index);
void srn_rnr_passed(struct srn_qp *qp);
void srn_rnr_wait_on(struct srn_qp *qp);
void srn_rnr_posted(struct srn_qp *qp);
void srn_rnr_posted_shared(struct srn_srq *srq);
void srn_rnr_exit(struct srn_qp *qp);

#endif /* SRN_RNR_H */
