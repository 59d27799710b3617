/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A mutex that processes and one worker share. The worker must not wait for it: a process that
 * holds the mutex may have no CPU for a while, and the worker has other things to do.
 *
 * So the worker only tries to take it, and does nothing if that fails. Whoever releases the mutex
 * then queues the work once more. Processes take @mutex as any other.
 */
#ifndef SRN_WORKER_LOCK_H
#define SRN_WORKER_LOCK_H

#include <linux/mutex.h>

struct srn_worker_lock {
	struct mutex mutex;	/* released by srn_worker_lock_release() only */
	bool missed;		/* the worker has found @mutex held, and has done nothing since */
};

/* A macro, so that each kind of lock has a lockdep class of its own. */
#define srn_worker_lock_init(lock)	mutex_init(&(lock)->mutex)

bool srn_worker_lock_try(struct srn_worker_lock *lock);
bool srn_worker_lock_release(struct srn_worker_lock *lock);

#endif /* SRN_WORKER_LOCK_H */
