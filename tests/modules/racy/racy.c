// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A module whose threads count together without a lock. KCSAN must tell: see selftest.sh.
 */
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/module.h>

static struct task_struct *threads[2];
static unsigned long counted;

static int count_on(void *unused)
{
	while (!kthread_should_stop()) {
		counted++;
		cond_resched();
	}
	return 0;
}

static void stop_threads(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(threads); i++)
		if (threads[i])
			kthread_stop(threads[i]);
}

static int __init racy_init(void)
{
	struct task_struct *thread;
	int i;

	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		thread = kthread_run_on_cpu(count_on, NULL, i % num_online_cpus(), "racy/%u");
		if (IS_ERR(thread)) {
			stop_threads();
			return PTR_ERR(thread);
		}
		threads[i] = thread;
	}
	return 0;
}

static void __exit racy_exit(void)
{
	stop_threads();
}

module_init(racy_init);
module_exit(racy_exit);
MODULE_DESCRIPTION("counts without a lock, to be found out");
MODULE_LICENSE("Dual BSD/GPL");
