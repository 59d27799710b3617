# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
#	check_who_transmits   a test: most messages of this machine's links were transmitted by
#	                      who posted them, or in softirq; workers are for what takes long

# counter NAME: of all links of this machine.
counter()
{
	awk '{ sum += $1 } END { print sum + 0 }' \
		/sys/class/infiniband/*/ports/1/hw_counters/"$1"
}

few_worker_runs()
{
	local runs sends
	runs=$(counter tx_worker_runs) sends=$(counter tx_send_messages)
	echo "$runs runs of workers for $sends messages"
	((sends > 100 && runs * 4 < sends))
}

check_who_transmits()
{
	local name="requests are transmitted by who posts them"
	if grep -q "User Mode Linux" /proc/cpuinfo; then
		skip "$name" "this kernel does not know where it may sleep: posts are collected for a worker"
	else
		run_check "$name" few_worker_runs
	fi
}
