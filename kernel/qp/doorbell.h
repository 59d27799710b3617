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
 * struct srn_doorbell - state of a process's doorbell, kept by the active transmitter
 * @watch_entry: place in srn_watch.qps
 * @watched: @watch_entry is in use; written with the watch's lock held
 * @deferred_entry: place in srn_watch.deferred, or empty; used with the watch's lock held
 * @late: the watch had to transmit; the transmitter clears it
 * @was_late: @late was set when the transmitter stopped last
 * @seen: value of sq_prod at the watch's last look; used with the watch's lock held
 * @idle_at: time at which the transmitter stopped last, in ns
 * @taken: value of sq.prod at @idle_at
 * @received: number of segments received until @idle_at
 * @responses: number of those segments that answered Reads, atomics or questions (placed.h)
 * @streak: number of doorbells in a row that looked like those of a burst
 * @wanted: value of @streak from which on the process may be lazy
 * @late_batches: number of recent batches that the watch transmitted, less those that it did not
 * @lazy: the process may wait with its next doorbell until there is a batch
 * @batches: number of batches since @lazy was set
 * @rest: the last batch was a small one, perhaps the rest of a larger one
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

/* Longest time between two posts of a burst. */
#define SRN_BURST_GAP_NS (500 * NSEC_PER_USEC)
/* A burst that has paid may pause for longer: its process turns to other queue pairs. */
#define SRN_BURST_PAUSE_NS (64 * NSEC_PER_MSEC)

static inline u64 srn_doorbell_gap(const struct srn_doorbell *doorbell)
{
	return READ_ONCE(doorbell->batches) ? SRN_BURST_PAUSE_NS : SRN_BURST_GAP_NS;
}

void srn_doorbell_init(struct srn_qp *qp);
void srn_doorbell_end(struct srn_qp *qp);
bool srn_doorbell_rearm(struct srn_qp *qp);
bool srn_doorbell_idle(struct srn_qp *qp);

#endif /* SRN_DOORBELL_H */
