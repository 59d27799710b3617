#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/stranger
# timeout: 400
#
# rdma statistic: what one link says that it has sent is what the other says that it has
# received, and what went wrong is counted by the side that noticed. verbs-library has the
# exact numbers of each operation.
. lib/ktap.sh
. lib/pairs.sh

B4=10.0.0.2 PORT=7174

# counted LINK NAME NUMBER
counted()
{
	local is
	is=$(link_counter "$1" "$2")
	echo "$1: $2 is $is, should be $3"
	[[ $is == "$3" ]]
}

new_link_has_none()
{
	local sum
	# Newer tools have a line for each.
	sum=$(rdma statistic show link srna/1 | tr -s '\n ' ' ' |
		awk '{ for (i = 4; i <= NF; i += 2) sum += $i; print NF, sum }')
	echo "$sum"
	[[ ${sum% *} -gt 60 && ${sum#* } == 0 ]]
}

# Both ways, everything that the one has sent.
both_agree()
{
	local what tx rx status=0
	rdma statistic show
	for what in fpdus {send,write,read_request,read_response}_messages \
		{send,write,read_response}_bytes; do
		tx=$(link_counter srna "tx_$what") && rx=$(link_counter srnb "rx_$what") &&
			[[ $tx == "$rx" ]] || status=1
		echo "$what from a to b: $tx, $rx"
		tx=$(link_counter srnb "tx_$what") && rx=$(link_counter srna "rx_$what") &&
			[[ $tx == "$rx" ]] || status=1
		echo "$what from b to a: $tx, $rx"
	done
	return "$status"
}

# Each round of rping: the server reads the client's message and writes it back. Two more Writes of
# the client and one of the server are how the two recognise each other, and one more makes the
# server ready.
rping_is_counted()
{
	counted srna rx_read_request_messages 10 && counted srna tx_read_response_messages 10 &&
		counted srna rx_write_messages 11 && counted srnb rx_write_messages 3 &&
		counted srna peers_recognised 1 && counted srnb peers_recognised 1 &&
		counted srna connects 1 && counted srnb accepts 1 && counted srnb requests 1 &&
		soon counted srna connections_closed 1 &&
		soon counted srnb connections_closed 1 &&
		counted srna connections_lost 0 && counted srnb connections_lost 0
}

# A socket that is just in use is left to a worker, which is rare.
responses_need_no_thread()
{
	local responses softirq
	responses=$(link_counter srna tx_read_response_messages) softirq=$(link_counter srna tx_softirq_runs)
	echo "$softirq transmissions in softirq, $responses Read Responses"
	((responses >= 10 && softirq * 2 >= responses))
}

bad_crc()
{
	start_server /tmp/rping.log in_b rping -s -p "$PORT" && wait_listening "$PORT" &&
		timeout 30 ip netns exec a ./stranger "an FPDU with a wrong CRC" "$B4" "$PORT"
	local status=$?
	stop_server
	((status == 0)) && counted srnb rx_crc_errors 1 && counted srnb rx_violations 1 &&
		counted srnb tx_terminate_messages 1 && counted srnb rx_access_errors 0
}

# In one network the peer says so, in the other nobody answers.
nobody_there()
{
	! timeout 40 ip netns exec a rping -c -a "$B4" -p 9 -C 1 && counted srna connect_refused 1
}

silence()
{
	ip -n a neigh add 10.0.0.77 lladdr 02:00:00:00:00:77 dev va &&
		! timeout 40 ip netns exec a rping -c -a 10.0.0.77 -p 9 -C 1 &&
		counted srna connect_timeouts 1 && counted srna connect_failures 0
}

no_request()
{
	start_server /tmp/rping.log in_b rping -s -p "$PORT" && wait_listening "$PORT" &&
		echo 'GET / HTTP/1.0' | in_a nc -N -w 5 "$B4" "$PORT"
	stop_server
	soon counted srnb requests_dropped 1
}

chmod +x stranger
run_check "two links" two_namespaces || finish
run_check "a new link has counted nothing" new_link_has_none
pair "rping" 7174 in_b rping -s -C 10 -S 4000 -- in_a rping -c -a $B4 -C 10 -S 4000 -V
run_check "what rping has done" rping_is_counted
run_check "both links agree about it" both_agree
run_check "Read Responses are transmitted in softirq" responses_need_no_thread
run_check "a wrong CRC" bad_crc
run_check "not an MPA request" no_request
run_check "a refused connection" nobody_there
run_check "no answer" silence
run_check "the same in sysfs" \
	grep -qx 1 /sys/class/infiniband/srnb/ports/1/hw_counters/rx_crc_errors
finish
