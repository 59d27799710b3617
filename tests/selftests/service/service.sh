#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/tos_listener
# timeout: 240
#
# The class of service that a program asks of rdma_cm is in its packets, for both roles and
# both versions of IP. The rate of a queue pair is in verbs-library.
. lib/ktap.sh
. lib/pairs.sh

A4=10.0.0.1 B4=10.0.0.2 B6=fd00::2
PORT=7471
# 0x60: DSCP CS3; the two bits of ECN are TCP's.
TOS=96
CAPTURE=/tmp/capture

capture()
{
	start_recording "$CAPTURE" ip netns exec b timeout $((60 * SLOW)) tcpdump -nvi vb -l "$@"
}

enough_like() { (($(grep -cE "$1" "$CAPTURE") > 5)); }

# What each packet says of itself is on the line of its IP header.
captured()
{
	local status=0
	wait_until $((20 * SLOW)) enough_like "$1" || status=1
	sleep 1
	kill "$RECORDER"
	wait "$RECORDER" 2> /dev/null
	cat "$CAPTURE"
	((status == 0)) && ! grep -E '(tos|class) 0x' "$CAPTURE" | grep -qvE "$1"
}

# from_client ADDRESS PATTERN FILTER OPTION…: of every packet, the first included.
from_client()
{
	local address=$1 pattern=$2 filter=$3
	shift 3
	capture "$filter" || return
	try_pair "$PORT" in_b ucmatose "$@" -b "$address" -- \
		in_a ucmatose "$@" -s "$address" -t "$TOS" || {
		echo "$PAIR_PROBLEM"
		cat "$CLIENT_LOG" "$SERVER_LOG"
		return 1
	}
	captured "$pattern"
}

has_class() { ss -N b -Htn --tos "sport = :$PORT" | grep "tos:$1"; }

# Of the responder: what it sends from the request on.
from_listener()
{
	local client='' status=1
	start_server /tmp/listener.log in_b ./tos_listener "$B4" "$PORT" "$TOS"
	if wait_until 40 listening "$PORT"; then
		timeout 40 ip netns exec a rping -c -a "$B4" -p "$PORT" -C 1 > /tmp/rping.log 2>&1 &
		client=$!
		wait_until 30 has_class 0x60 && status=0
		ss -N b -tn --tos
		kill "$client"
		wait "$client" 2> /dev/null
	fi
	stop_server
	cat /tmp/listener.log
	return "$status"
}

without()
{
	capture "src host $A4 and tcp port $PORT" || return
	try_pair "$PORT" in_b ucmatose -b "$B4" -- in_a ucmatose -s "$B4" || return
	captured 'tos 0x0,'
}

chmod +x tos_listener
run_check "two links" two_namespaces || finish
run_check "IPv4, who connects" from_client "$B4" 'tos 0x6[0-3],' \
	"src host $A4 and tcp port $PORT"
run_check "IPv6, who connects" from_client $B6 'class 0x6[0-3],' \
	"src host fd00::1 and tcp port $PORT" -f ip6
run_check "IPv4, who listens" from_listener
run_check "none, if none was asked for" without
finish
