#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 200
#
# A link on the loopback device: 127.0.0.1 and ::1, which rdma_cm takes for "any address". A client
# gets the first device of the host that is active, and a listener listens on all of them.
: "${SRN_SAME_HOST:=default}"
. lib/ktap.sh
. lib/perftest.sh

add() { rdma link add "$1" type "$SRN_LINK_TYPE" netdev "$2" && wait_ready "$1"; }

# rping_to NAME ADDRESS [LISTENER'S ADDRESS]
rping_to()
{
	pair "$1" 7174 rping -s -a "${3:-$2}" -V -S 3000 -C 10 -- rping -c -a "$2" -V -S 3000 -C 10
}

test_rping()
{
	rping_to "$1, 127.0.0.1" 127.0.0.1
	rping_to "$1, ::1" ::1
	rping_to "$1, 127.0.0.1 of a wildcard listener" 127.0.0.1 0.0.0.0
	rping_to "$1, another 127.x.x.x" 127.1.2.3 0.0.0.0
	rping_to "$1, 127.0.0.1 of a dual-stack listener" 127.0.0.1 ::
	rping_to "$1, ::1 of a dual-stack listener" ::1 ::
}

test_programs()
{
	local tool
	for tool in ib_write_bw ib_read_lat ib_send_bw; do
		SERVER_STATUS_COUNTS='' pair_again "$tool -R 127.0.0.1" 18515 \
			"$tool" -R -F -n 200 -- "$tool" -R -F -n 200 127.0.0.1
	done
	run_check "perftest's connections are seldom refused" refused_seldom 3
	pair "ibv_rc_pingpong 127.0.0.1" 18515 \
		ibv_rc_pingpong -d srnlo -g 0 -n 100 -- ibv_rc_pingpong -d srnlo -g 0 -n 100 127.0.0.1
	pair "rstream 127.0.0.1" 7471 rstream -b 127.0.0.1 -S 4096 -I 20 -C 5 -T v -- \
		rstream -s 127.0.0.1 -S 4096 -I 20 -C 5 -T v
}

again() { rdma link delete srnlo && add srnlo lo; }
flap() { ip link set lo down && ip link set lo up; }

# No link has that address, and the client does not wait for anything.
without_its_link()
{
	local status=0
	start_server "$SERVER_LOG" rping -s -a 127.0.0.1 -C 1
	wait_listening 7174 && fails_by_itself timeout 30 rping -c -a 127.0.0.1 -C 1 || status=1
	stop_server
	return "$status"
}

# rdma_cm gives a client in a namespace of its own the host's first device.
stays_in_namespace()
{
	local listener status=0
	timeout $((60 * SLOW)) nc -l 127.0.0.1 7174 > /tmp/received &
	listener=$!
	wait_listening 7174 || return
	# Once rdma_connect() has failed, rping waits for a completion that nobody owes it, with siw, too.
	start_server "$CLIENT_LOG" in_b rping -c -a 127.0.0.1 -C 1
	wait_until $((20 * SLOW)) grep -q 'rdma_connect: Network is unreachable' "$CLIENT_LOG" ||
		status=1
	stop_server
	cat "$CLIENT_LOG"
	kill "$listener" || return
	wait "$listener" 2> /dev/null
	[[ ! -s /tmp/received ]] && ((status == 0)) &&
		log_has 'no connection from another network namespace'
}

# Nor is the port of a listener there opened in the host.
listens_in_namespace()
{
	local status=0
	start_server "$SERVER_LOG" in_b rping -s -d -a 127.0.0.1 -C 1
	# The word is there before it listens, and nothing else shows a listener without a link.
	wait_until $((20 * SLOW)) grep -q rdma_listen "$SERVER_LOG" && sleep "$SLOW" || status=1
	[[ -z $(ss -Hltn 'sport = :7174') ]] || status=1
	stop_server
	return "$status"
}

namespace_goes()
{
	in_b rdma link add srnb type "$SRN_LINK_TYPE" netdev lo && wait_ready srnb &&
		ip netns delete b && wait_until $((20 * SLOW)) gone srnb
}

run_check "a link on lo" add srnlo lo || finish
test_rping "lo alone"
test_programs
run_check "a link on a dummy device" dummy_link
test_rping "lo first"
run_check "the link on lo comes after it" again
test_rping "lo second"
rping_to "another link, its own address" 10.1.0.1
run_check "lo goes down and comes up" flap
rping_to "lo, after that" 127.0.0.1
run_check "the link on lo is deleted" rdma link delete srnlo
run_check "without it nobody is reached, at once" without_its_link
ip netns add b
ip -n b link set lo up
run_check "a client in another namespace does not reach the host's 127.0.0.1" stays_in_namespace
run_check "a listener in another namespace has no port in the host" listens_in_namespace
run_check "a namespace goes with the link on its lo" namespace_goes
finish
