/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * When a process has to tell the kernel that it has posted sends.
 */
#ifndef SRN_VERBS_DOORBELL_H
#define SRN_VERBS_DOORBELL_H

#include <linux/hrtimer.h>

struct srn_qp;

/**
 * struct srn_doorbell - of a process's send queue, kept by the active transmitter
 * @timer: looks at the queue if nobody rings
 * @timed: it will
 * @period: after so many ns; changed by who has set @timed, and by the timer
 * @idle_at: when the transmitter stopped last, in ns
 * @taken: sq.prod at that time
 * @received: segments received until then
 * @streak: how often in a row it was rung for by what looks like a stream
 * @wanted: so many are needed before the process may wait with the next one
 * @lazy: it may
 * @paid: and messages came together since
 */
struct srn_doorbell {
	struct hrtimer timer;
	atomic_t timed;
	u32 period;
	u64 idle_at;
	u32 taken;
	u32 received;
	u16 streak;
	u16 wanted;
	bool lazy;
	bool paid;
};

void srn_doorbell_init(struct srn_qp *qp);
void srn_doorbell_exit(struct srn_qp *qp);
bool srn_doorbell_rearm(struct srn_qp *qp);
bool srn_doorbell_idle(struct srn_qp *qp);

#endif /* SRN_VERBS_DOORBELL_H */
