#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 350
# modules: late_consumer
#
# Links, network devices and processes go while they are in use. Whoever removes
# does not wait for whoever uses, and whoever uses is told.
. lib/ktap.sh
. lib/perftest.sh

B4=10.0.0.2 RPING=7174 BENCH=18515

# traffic rping|bench: runs without end; sets SERVER_PID and CLIENT_PID.
traffic()
{
	local attempt
	for attempt in 1 2 3; do
		start_traffic "$1"
		wait_until $((20 * SLOW)) flow_or_end && bytes_flow && return
		# perftest's client is refused if it comes before the server listens again.
		was_refused || return
		echo "refused in attempt $attempt"
		stop_server
		wait "$CLIENT_PID"
	done
	return 1
}

start_traffic()
{
	if [[ $1 == rping ]]; then
		start_server "$SERVER_LOG" in_b rping -s -a "$B4" -V
		wait_listening "$RPING" || return
		timeout -k 2 60 ip netns exec a rping -c -a "$B4" -V \
			> "$CLIENT_LOG" 2>&1 < /dev/null &
	else
		start_server "$SERVER_LOG" in_b ib_write_bw -R -F -d srnb -D 40
		wait_listening "$BENCH" || return
		timeout -k 2 60 ip netns exec a ib_write_bw -R -F -d srna -D 40 "$B4" \
			> "$CLIENT_LOG" 2>&1 < /dev/null &
	fi
	CLIENT_PID=$!
}

# The network does not see what bypasses TCP, so the link's own counters are added. Other drivers
# have none of that name.
sent_bytes()
{
	{
		in_a cat /sys/class/net/va/statistics/tx_bytes
		cat /sys/class/infiniband/srna/ports/1/hw_counters/tx_*_bytes 2> /dev/null
	} | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

bytes_flow()
{
	local now
	now=$(sent_bytes)
	sleep 0.2
	(($(sent_bytes) - now > 5000))
}

flow_or_end() { process_gone "$CLIENT_PID" || bytes_flow; }

# Both ends end, with an error or not; nobody hangs.
both_end()
{
	wait_until 20 process_gone "$CLIENT_PID" || {
		echo "the client goes on"
		tail "$CLIENT_LOG"
		kill "$CLIENT_PID"
		return 1
	}
	wait_until 20 server_gone || {
		echo "the server goes on"
		tail "$SERVER_LOG"
		stop_server
		return 1
	}
	wait "$CLIENT_PID" "$SERVER_PID"
	return 0
}

works_again()
{
	try_pair "$RPING" in_b rping -s -a "$B4" -V -C 5 -- in_a rping -c -a "$B4" -V -C 5 && return
	echo "$PAIR_PROBLEM"
	return 1
}

again_a()
{
	in_a rdma link add srna type "$SRN_LINK_TYPE" netdev va && wait_ready srna
}

again_b()
{
	in_b rdma link add srnb type "$SRN_LINK_TYPE" netdev vb && wait_ready srnb
}

link_deleted()
{
	traffic "$1" && timeout $((20 * SLOW)) rdma link delete srna && gone srna && both_end &&
		again_a && works_again
}

# While one link goes, rdma(8) may not find another one, of rxe either.
delete_beside()
{
	local said try
	for try in 1 2 3; do
		said=$(timeout $((20 * SLOW)) rdma link delete "$1" 2>&1) && return
		echo "try $try: $said"
		[[ $said == *"Wrong device name"* ]] || return
	done
	return 1
}

# Both links at a time: neither end is left to tell the other.
both_deleted()
{
	local first
	traffic "$1" || return
	delete_beside srna &
	first=$!
	delete_beside srnb && wait "$first" && both_end && again_a && again_b &&
		works_again
}

client_killed()
{
	traffic "$1" || return
	pkill -KILL -P "$CLIENT_PID"
	both_end && works_again
}

server_killed()
{
	traffic "$1" || return
	pkill -KILL -P "$SERVER_PID"
	both_end && works_again
}

# TCP bridges a short loss of the link.
link_down_and_up()
{
	traffic "$1" && ip -n a link set va down && sleep 1 && ip -n a link set va up &&
		wait_until 20 bytes_flow
	local status=$?
	kill "$CLIENT_PID"
	both_end && works_again || return
	return "$status"
}

# Programs do not keep the module: it takes its devices with it. modprobe -r wants to
# remove rdma_ucm as well, which they do keep.
module_in_use()
{
	traffic "$1" && timeout $((20 * SLOW)) rmmod softrnic && module_gone && both_end && again_a && again_b && works_again
}

# A program that does nothing but hold the device open.
held_open()
{
	local holder
	timeout 60 ibv_asyncwatch -d srna > /tmp/holder.log 2>&1 < /dev/null &
	holder=$!
	soon sh -c 'ls -l /proc/[0-9]*/fd 2> /dev/null | grep -q infiniband/uverbs' &&
		timeout $((20 * SLOW)) rdma link delete srna && gone srna && again_a && works_again
	local status=$?
	kill "$holder" 2> /dev/null
	wait "$holder"
	return "$status"
}

listener_held()
{
	start_server "$SERVER_LOG" in_b rping -s -P -a "$B4"
	wait_listening "$RPING" && timeout $((20 * SLOW)) rdma link delete srnb && gone srnb || return
	soon server_gone || stop_server
	again_b && works_again
}

# LIO's iSER target keeps its queue pair for a moment after the id that holds the device.
kernel_consumer_late()
{
	local waited=$SECONDS
	in_a insmod ./late_consumer.ko netdev=va keep_ms=3000 && timeout 20 rdma link delete srna && gone srna ||
		return
	waited=$((SECONDS - waited))
	rmmod late_consumer && ((waited >= 2)) && again_a && works_again
}

netdev_deleted()
{
	traffic "$1" && timeout $((20 * SLOW)) ip -n a link delete va && soon gone srna &&
		soon gone srnb && both_end
}

module_removed()
{
	timeout $((20 * SLOW)) modprobe -r softrnic && module_gone
}

run_check "two links in two namespaces" two_namespaces
for load in rping bench; do
	run_check "$load: link deleted" link_deleted $load
	run_check "$load: both links deleted at a time" both_deleted $load
	run_check "$load: client killed" client_killed $load
	run_check "$load: server killed" server_killed $load
done
run_check "rping: network device down for a second" link_down_and_up rping
run_check "rping: module removed" module_in_use rping
run_check "bench: module removed" module_in_use bench
run_check "link deleted while a program holds the device open" held_open
run_check "link deleted while a program listens" listener_held
run_check "link deleted while the kernel has a queue pair" kernel_consumer_late
run_check "bench: network device deleted" netdev_deleted bench
run_check "module removed afterwards" module_removed
finish
