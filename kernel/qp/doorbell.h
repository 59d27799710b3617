/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * When a process has to tell the kernel that it has posted sends.
 */
#ifndef SRN_DOORBELL_H
#define SRN_DOORBELL_H

#include <linux/time64.h>
#include <linux/types.h>

struct srn_qp;

/**
 * struct srn_doorbell - of a process's send queue, kept by the active transmitter
 * @watch_entry: in srn_watch.qps
 * @watched: it is; written with the watch's lock
 * @deferred_entry: in srn_watch.deferred, or empty; with the watch's lock
 * @late: the watch had to transmit; consumed by the transmitter
 * @was_late: it had to the last time
 * @seen: sq_prod when the watch has looked last; with its lock
 * @idle_at: when the transmitter stopped last, in ns
 * @taken: sq.prod at that time
 * @received: segments received until then
 * @responses: of them, to Reads and atomics
 * @streak: how often in a row it was rung for by what looks like a stream
 * @wanted: so many are needed before the process may wait with the next one
 * @late_batches: of the last ones, those that the watch transmitted less the others, up to a limit
 * @lazy: it may
 * @batches: that came together since
 * @rest: but few the last time
 */
struct srn_doorbell {
	struct list_head watch_entry;
	struct list_head deferred_entry;
	bool watched;
	bool late;
	bool was_late;
	u32 seen;
	u64 idle_at;
	u32 taken;
	u32 received;
	u32 responses;
	u16 streak;
	u16 wanted;
	u16 batches;
	u8 late_batches;
	bool lazy;
	bool rest;
};

/* Posts of a stream are not further apart, */
#define SRN_STREAM_GAP_NS (500 * NSEC_PER_USEC)
/* but one that has paid may turn to others for a while. */
#define SRN_STREAM_PAUSE_NS (64 * NSEC_PER_MSEC)

static inline u64 srn_doorbell_gap(const struct srn_doorbell *doorbell)
{
	return READ_ONCE(doorbell->batches) ? SRN_STREAM_PAUSE_NS : SRN_STREAM_GAP_NS;
}

void srn_doorbell_init(struct srn_qp *qp);
bool srn_doorbell_rearm(struct srn_qp *qp);
bool srn_doorbell_idle(struct srn_qp *qp);

#endif /* SRN_DOORBELL_H */
