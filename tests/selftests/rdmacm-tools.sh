#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 200
#
# The tools of rdmacm-utils between two namespaces and over the host's own address.
: "${SRN_SAME_HOST:=default}"
. lib/ktap.sh
. lib/pairs.sh

A4=10.0.0.1 B4=10.0.0.2 B6=fd00::2 OWN4=10.1.0.1 OWN6=fd01::1
SENT=/tmp/sent RECEIVED=/tmp/received

test_rping()
{
	local size
	for size in 64 4096 65535; do
		pair "rping, IPv4, $size bytes" 7174 \
			in_b rping -s -a $B4 -V -S $size -C 20 -- \
			in_a rping -c -a $B4 -V -S $size -C 20
	done
	pair "rping, IPv6" 7174 \
		in_b rping -s -a $B6 -V -C 20 -- in_a rping -c -a $B6 -V -C 20
	pair "rping, a source address given" 7174 \
		in_b rping -s -a $B4 -V -C 5 -- in_a rping -c -I $A4 -a $B4 -V -C 5
	pair "rping to a wildcard listener" 7174 \
		in_b rping -s -V -C 5 -- in_a rping -c -a $B4 -V -C 5
	pair "rping to an IPv6 wildcard listener" 7174 \
		in_b rping -s -a ::0 -V -C 5 -- in_a rping -c -a $B6 -V -C 5
	pair "rping by IPv4 to an IPv6 wildcard listener" 7174 \
		in_b rping -s -a ::0 -V -C 5 -- in_a rping -c -a $B4 -V -C 5
	skip "rping -q" "moves its queue pair by hand at CONNECT_RESPONSE, an event \
that iWARP does not have"
	pair "rping to the own address, IPv4" 7174 \
		rping -s -a $OWN4 -V -C 20 -- rping -c -a $OWN4 -V -C 20
	pair "rping to the own address, IPv6" 7174 \
		rping -s -a $OWN6 -V -C 20 -- rping -c -a $OWN6 -V -C 20
}

persistent_server()
{
	local n
	start_server /tmp/rping.log in_b rping -s -P -V
	wait_listening 7174 || return
	for n in 1 2 3 4; do
		client in_a rping -c -a "$B4" -V -C 3 || return
	done
	! server_gone
	local status=$?
	stop_server
	return "$status"
}

# A wildcard listener belongs to its namespace.
wildcard_in_both()
{
	local first
	start_server /tmp/rping-a.log in_a rping -s -V -C 5
	first=$SERVER_PID
	start_server /tmp/rping-b.log in_b rping -s -V -C 5
	soon listening_in a 7174 && soon listening_in b 7174 || return
	client in_a rping -c -a "$B4" -V -C 5 &&
		client in_b rping -c -a "$A4" -V -C 5 || return
	wait_server "$SERVER_PATIENCE" || return
	SERVER_PID=$first
	wait_server "$SERVER_PATIENCE"
}

nobody_listens()
{
	client in_a rping -c -a "$B4" -p 7999 -C 1
}

# A copy of a file, over the server that goes on for more.
test_rcopy()
{
	local size
	SERVER_TIMEOUT=$((60 * SLOW)) start_server /tmp/rcopy.log in_b rcopy
	wait_listening 7427
	for size in 1 65537 5000000; do
		head -c $size /dev/urandom > $SENT
		rm -f $RECEIVED
		run_check "rcopy, $size bytes" copy_is_equal
	done
	stop_server
}

copy_is_equal()
{
	client in_a rcopy "$SENT" "$B4":"$RECEIVED" && cmp "$SENT" "$RECEIVED"
}

# A client with -T a polls before it takes what has come. If the server's farewell comes
# along with its last data, as happens where both share a CPU, it is told so by POLLHUP
# (16), takes that for an error and ends. The server has by then said what it measured.
stream_pair()
{
	local name=$1 _
	for _ in {1..5}; do
		try_pair "${@:2}" && ok "$name" && return
		left_by_hangup || break
	done
	if left_by_hangup; then
		skip "$name" "five times the farewell came along with the last data, \
which the client takes for an error"
	else
		not_ok "$name" "$PAIR_PROBLEM" "client: $(tail -n 12 "$CLIENT_LOG")" \
			"server: $(tail -n 12 "$SERVER_LOG")"
	fi
}

left_by_hangup()
{
	[[ $PAIR_PROBLEM == "client: status 16:"* ]] && grep -q '^custom' "$SERVER_LOG"
}

test_rsockets()
{
	local tool option
	for tool in rstream riostream; do
		for option in '-T b' '-T n' '-T a'; do
			# shellcheck disable=SC2086
			stream_pair "$tool $option, verified" 7471 \
				in_b $tool -b $B4 -S 4096 -I 20 -C 5 -T v $option -- \
				in_a $tool -s $B4 -S 4096 -I 20 -C 5 -T v $option
		done
		pair "$tool, 1 MiB messages" 7471 \
			in_b $tool -b $B4 -S 1048576 -I 2 -C 3 -T v -- \
			in_a $tool -s $B4 -S 1048576 -I 2 -C 3 -T v
		pair "$tool, no inline data, small buffers" 7471 \
			in_b $tool -b $B4 -i 0 -B 8192 -S 16384 -I 10 -C 5 -T v -- \
			in_a $tool -s $B4 -i 0 -B 8192 -S 16384 -I 10 -C 5 -T v
		pair "$tool, IPv6" 7471 \
			in_b $tool -f ipv6 -b $B6 -S 64 -I 50 -C 5 -T v -- \
			in_a $tool -f ipv6 -s $B6 -S 64 -I 50 -C 5 -T v
	done
	pair "rstream to the own address" 7471 \
		rstream -b $OWN4 -S 4096 -I 20 -C 5 -T v -- \
		rstream -s $OWN4 -S 4096 -I 20 -C 5 -T v
}

# From rdma-core 52 on it binds a TCP socket to the address and port of its RDMA listener, and ends
# without a word if it cannot. Over TCP of the host that is one and the same port.
test_cmtime()
{
	if cmtime -h 2>&1 | grep -q "socket baseline"; then
		skip "cmtime, 50 connections" \
			"wants the TCP port of its RDMA listener for itself as well"
		return
	fi
	SERVER_STATUS_COUNTS='' pair "cmtime, 50 connections" 7471 \
		in_b cmtime -b $B4 -c 50 -- in_a cmtime -s $B4 -c 50
}

test_rest()
{
	pair "ucmatose" 7471 in_b ucmatose -b $B4 -- in_a ucmatose -s $B4
	pair "ucmatose, 20 connections" 7471 in_b ucmatose -b $B4 -c 20 -C 20 -- \
		in_a ucmatose -s $B4 -c 20 -C 20
	pair "ucmatose, IPv6, messages of 5000 bytes" 7471 \
		in_b ucmatose -f ipv6 -b $B6 -c 4 -S 5000 -- \
		in_a ucmatose -f ipv6 -s $B6 -c 4 -S 5000
	test_cmtime
	pair "rdma_server and rdma_client" 7471 in_b rdma_server -s $B4 -- \
		in_a rdma_client -s $B4
	pair "rdma_server and rdma_client, IPv6" 7471 in_b rdma_server -s $B6 -- \
		in_a rdma_client -s $B6
	pair "rdma_xserver and rdma_xclient, RC" 7471 in_b rdma_xserver -c r -- \
		in_a rdma_xclient -c r -s $B4
	skip "udaddy" "needs a datagram queue pair, which iWARP does not have"
	skip "mckey" "needs multicast, which iWARP does not have"
}

run_check "two links in two namespaces" two_namespaces
run_check "a link on a dummy interface" dummy_link
test_rping
run_check "one persistent rping server, four clients" persistent_server
run_check "wildcard listeners on one port in two namespaces" wildcard_in_both
check_fails "rping where nobody listens" "RDMA_CM_EVENT_REJECTED|REJECT|error" \
	nobody_listens
test_rest
test_rcopy
test_rsockets
finish
