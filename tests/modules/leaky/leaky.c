// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A module that forgets what it allocates. The test machine must tell: see selftest.sh.
 */
#include <linux/module.h>
#include <linux/slab.h>

/* One may be found by accident, in a register or on a stack; hardly all of them. */
#define FORGOTTEN	16

/* Not in init code, which is gone, with its place, before anybody asks whose memory it is. */
static noinline int forget(void)
{
	int i;

	for (i = 0; i < FORGOTTEN; i++)
		if (!kmalloc(512, GFP_KERNEL))
			return -ENOMEM;
	return 0;
}

static int __init leaky_init(void)
{
	return forget();
}

static void __exit leaky_exit(void)
{
}

module_init(leaky_init);
module_exit(leaky_exit);
MODULE_DESCRIPTION("forgets memory, to be found out");
MODULE_LICENSE("Dual BSD/GPL");
