#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/raw_test
# timeout: 600
#
# Queue pairs that are brought up by hand: the table of GIDs, rdma-core's and perftest's programs
# without rdma_cm, between two namespaces and on one link, and the link's setting for it.
. lib/ktap.sh
. lib/perftest.sh
. lib/gtest.sh

B4=10.0.0.2 OWN4=10.1.0.1

gid() { cat "/sys/class/infiniband/$1/ports/1/gids/$2"; }

# gid_is DEVICE INDEX GID
gid_is()
{
	[[ $(gid "$1" "$2") == "$3" ]]
}

# index_of DEVICE GID
index_of()
{
	local i
	for ((i = 0; i < 31; i++)); do
		if gid_is "$1" "$i" "$2"; then
			echo "$i"
			return
		fi
	done
	return 1
}

V4_A=0000:0000:0000:0000:0000:ffff:0a00:0001 V6_A=fd00:0000:0000:0000:0000:0000:0000:0001
V6_B=fd00:0000:0000:0000:0000:0000:0000:0002
V4_OTHER=0000:0000:0000:0000:0000:ffff:0a00:0007
NONE=0000:0000:0000:0000:0000:0000:0000:0000

gids_are_addresses()
{
	wait_until 5 gid_is srna 0 "$V4_A" && wait_until 5 index_of srna "$V6_A" && gid_is srna 30 "$NONE"
}

gids_follow()
{
	ip -n a addr add 10.0.0.7/24 dev va && wait_until 5 gid_is srna 1 "$V4_OTHER" &&
		ip -n a addr del 10.0.0.7/24 dev va && wait_until 5 not index_of srna "$V4_OTHER"
}
not() { ! "$@"; }

# pingpong NAME TOOL [OPTION…]: of rdma-core, 64-KiB messages too.
pingpong()
{
	local name=$1 tool=$2
	shift 2
	pair "$name" 18515 in_b "$tool" -d srnb -n 200 "$@" -- in_a "$tool" -d srna -n 200 "$@" "$B4"
}

pingpongs()
{
	pingpong "ibv_rc_pingpong" ibv_rc_pingpong -g 0 -c
	pingpong "ibv_rc_pingpong, events" ibv_rc_pingpong -g 0 -e -c
	pingpong "ibv_rc_pingpong, 1 byte" ibv_rc_pingpong -g 0 -s 1
	pingpong "ibv_rc_pingpong, 64 KiB" ibv_rc_pingpong -g 0 -s 65536 -r 50 -c
	pair "ibv_rc_pingpong, IPv6" 18515 \
		in_b ibv_rc_pingpong -d srnb -g "$(index_of srnb "$V6_B")" -c -n 200 -- \
		in_a ibv_rc_pingpong -d srna -g "$(index_of srna "$V6_A")" -c -n 200 "$B4"
	pingpong "ibv_srq_pingpong" ibv_srq_pingpong -g 0 -q 8
	skip "ibv_xsrq_pingpong" "needs XRC, which iWARP does not have"
	skip "ibv_ud_pingpong" "needs a datagram queue pair, which iWARP does not have"
}

# bench NAME TOOL SIZE COUNT [OPTION…]: the result line must be there, too.
bench()
{
	local name=$1 tool=$2 size=$3 count=$4
	shift 4
	local -a options=(-x 0 -F -s "$size" -n "$count" "$@")
	if try_pair 18515 in_b "$tool" -d srnb "${options[@]}" -- \
		in_a "$tool" -d srna "${options[@]}" "$B4"; then
		ok "$name"
	elif forgot_credits; then
		expected_failure "$name" "perftest keeps the region of its credits"
	else
		not_ok "$name" "$PAIR_PROBLEM" "client: $(tail -n 12 "$CLIENT_LOG")" \
			"server: $(tail -n 12 "$SERVER_LOG")"
		return
	fi
	has_result "$name: result" "$size"
}

# Over iWARP the ends of ib_send_bw give each other credits. They give back the region for that only
# if rdma_cm has connected them, so the protection domain is in use in the end.
forgot_credits()
{
	grep -q "Failed to deallocate PD - Device or resource busy" "$CLIENT_LOG" &&
		! grep -qE "Failed status|Completion with error" "$CLIENT_LOG" "$SERVER_LOG"
}

benches()
{
	local tool
	for tool in ib_send ib_write ib_read; do
		bench "${tool}_bw" ${tool}_bw 65536 100
		bench "${tool}_lat" ${tool}_lat 64 50
		bench "${tool}_bw, 16 queue pairs, both directions" ${tool}_bw 4096 100 -q 16 -b
	done
	bench "ib_atomic_bw" ib_atomic_bw 8 100
	bench "ib_atomic_lat" ib_atomic_lat 8 50
	bench "ib_write_bw, 64 queue pairs" ib_write_bw 4096 64 -q 64
}

# For programs that take no device of type iWARP; and perftest gives no credits then.
as_infiniband()
{
	local tool
	export SOFTRNIC_NODE_TYPE=ca
	run_check "as a channel adapter of InfiniBand" is_infiniband
	for tool in ib_send_bw ib_send_lat; do
		bench "$tool, as InfiniBand" $tool 4096 100
		if forgot_credits; then not_ok "$tool, as InfiniBand, needs no credits"; fi
	done
	pingpong "ibv_rc_pingpong, as InfiniBand" ibv_rc_pingpong -g 0 -c
	unset SOFTRNIC_NODE_TYPE
	run_check "and as a device for iWARP again" is_iwarp
}
is_infiniband() { in_a ibv_devinfo -d srna | grep -q 'transport:.*InfiniBand (0)'; }
is_iwarp() { in_a ibv_devinfo -d srna | grep -q 'transport:.*iWARP (1)'; }

# Both ends on one link.
own_link()
{
	local -a options=(-d srn0 -g 0 -n 200 -c)
	pair "ibv_rc_pingpong to the own link" 18515 ibv_rc_pingpong "${options[@]}" -- \
		ibv_rc_pingpong "${options[@]}" "$OWN4"
}

off()
{
	local setting=/sys/class/infiniband/srn0/raw/port port status
	port=$(cat "$setting")
	echo 0 > "$setting" || return
	timeout -k 2 10 ibv_rc_pingpong -d srn0 -g 0 > /tmp/off.log 2>&1 &
	wait_until 10 listening 18515
	timeout -k 2 10 ibv_rc_pingpong -d srn0 -g 0 "$OWN4"
	status=$?
	wait $! 2> /dev/null
	echo "$port" > "$setting" && ((status != 0 && status != 124)) &&
		dmesg | grep -q "RTR: the link's setting raw/port is 0"
}

# in_each_state COMMAND…: while a process has queue pairs in each state; in the end it is gone.
in_each_state()
{
	local status=0
	SRN_RAW_DEVICE=srn0 ./raw_test --gtest_also_run_disabled_tests --gtest_filter='*InEachState' \
		> /tmp/states.log 2>&1 &
	HOLDER=$!
	wait_until $((20 * SLOW)) grep -q '^ready' /tmp/states.log && "$@" || status=$?
	kill -KILL "$HOLDER" 2> /dev/null
	wait "$HOLDER" 2> /dev/null
	cat /tmp/states.log
	return "$status"
}

killed()
{
	in_each_state true && no_objects_stay $((10 * SLOW)) && nothing_listens
}

no_port_elsewhere() { nothing_listens a && nothing_listens b; }
nothing_listens() { ! ss ${1:+-N $1} -Hltn "sport = :5040" | grep -q .; }

run_check "two links in two namespaces" two_namespaces
run_check "a link on a dummy interface" dummy_link
run_check "the table of GIDs has the addresses" gids_are_addresses
run_check "it follows them" gids_follow
pingpongs
benches
as_infiniband
own_link
chmod +x raw_test
SRN_RAW_DEVICE=srn0 run_gtest ./raw_test 200 '*'
run_check "turned off, it is refused" off
run_check "no port stays open" wait_until 5 nothing_listens
for _ in 1 2 3; do
	run_check "a process is killed with queue pairs in each state" killed
done
run_check "the link is deleted meanwhile" in_each_state rdma link delete srn0
run_check "no port stays open then" wait_until 5 nothing_listens
run_check "nor in the other namespaces" wait_until 5 no_port_elsewhere
finish
