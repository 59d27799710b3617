# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck disable=SC2034,SC2154  # the cell comes from guest.sh, which takes the result
#
# What an idle connected queue pair costs the kernel, without its rings and without a TCP
# socket: with all that rdma_cm and uverbs have for it. The cell's "qps" is the number of
# connections.

# measure_memory DRIVER: sets BYTES.
measure_memory()
{
	local with_socket socket
	ulimit -n 65536
	: > "$SERVER_LOG"
	with_socket=$(idle_end rdma) && socket=$(idle_end tcp) &&
		BYTES=$((with_socket - socket)) && return
	MEASURE_PROBLEM="failed: $(tail -n 1 "$CLIENT_LOG")"
	keep_logs "$1"
	return 1
}

idle_end()
{
	local cache
	# What earlier ones left empty would not be missing afterwards.
	for cache in /sys/kernel/slab/*/shrink; do
		echo 1 > "$cache"
	done
	timeout -k 2 "$CLIENT_LIMIT" ./idle_connections "$1" "$SERVER_ADDRESS" "$qps" 2> "$CLIENT_LOG"
}
