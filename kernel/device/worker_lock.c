// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A mutex that a worker never waits for, see worker_lock.h.
 */
#include "worker_lock.h"

/**
 * srn_worker_lock_try - take the lock, if no process has it
 * @lock: lock that was zeroed before srn_worker_lock_init()
 *
 * Context: the worker; does not sleep.
 *
 * Return: true if the caller has the lock; false if the work will be queued once more.
 */
bool srn_worker_lock_try(struct srn_worker_lock *lock)
{
	if (!mutex_trylock(&lock->mutex)) {
		WRITE_ONCE(lock->missed, true);
		/* The mutex is free by now, or its holder sees the flag. Pairs with the release. */
		smp_mb();
		if (!mutex_trylock(&lock->mutex))
			return false;
	}
	WRITE_ONCE(lock->missed, false);
	return true;
}

/**
 * srn_worker_lock_release - give back the lock
 * @lock: lock; what it is in stays, as the caller has a reference to that
 *
 * Context: process or the worker; @lock->mutex held.
 *
 * Return: true if the work has to be queued.
 */
bool srn_worker_lock_release(struct srn_worker_lock *lock)
{
	mutex_unlock(&lock->mutex);
	/* Pairs with srn_worker_lock_try(). */
	smp_mb();
	return READ_ONCE(lock->missed);
}
