#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/network/flood build/tests/network/dialer build/tests/robustness/load
# timeout: 300
#
# Thousands of connections to a listener that never become any: they say nothing, half a
# request, garbage, or are reset. What they cost is bounded, each is gone within its time,
# and who means it gets through meanwhile.
#
# FLOOD: connections of each kind (2000; a quarter of it where checks make
# everything slow). FLOOD_AT_ONCE: at a time (400).
. lib/ktap.sh
. lib/pairs.sh

: "${FLOOD:=$((2000 / SLOW))}" "${FLOOD_AT_ONCE:=400}"
B4=10.0.0.2 PORT=7500
# The listener's backlog is 64, so it has 64 + 2 * 64 connections without a request.
HALF_OPEN=192
# What else there may be: connections that wait to be accepted, those that are being closed,
# and the few that are good.
SOCKETS=$((HALF_OPEN + 65 + 1024 + 20))
# Seconds that one without a request may stand: 5, and the rest for a slow machine. For all
# sockets and endpoints of both sides, in MiB.
LIMIT=$((15 * SLOW)) MEMORY=48

kib_of() { awk -v key="$1:" '$1 == key { print $2 }' /proc/meminfo; }
sockets_of_listener()
{
	in_b cat /proc/net/sockstat | awk '$1 == "TCP:" { print $3 + $5 }'
}

# Watch what the kernel holds until told to stop: "SOCKETS MIB", the most of each.
watch_costs()
{
	local sockets=0 kib=0 now before
	before=$(kib_of SUnreclaim)
	while [[ ! -e /tmp/flood-is-over ]]; do
		now=$(sockets_of_listener)
		((now <= sockets)) || sockets=$now
		now=$(($(kib_of SUnreclaim) - before))
		((now <= kib)) || kib=$now
		sleep 0.1
	done
	echo "$sockets $((kib / 1024))" > /tmp/costs
}

# flooded_with WHAT: while somebody good connects again and again.
flooded_with()
{
	local flooder watcher status=0 sockets mib
	rm -f /tmp/flood-is-over
	watch_costs &
	watcher=$!
	timeout -k 2 200 ip netns exec a ./flood "$B4" "$PORT" "$FLOOD" "$1" "$FLOOD_AT_ONCE" \
		"$LIMIT" > /tmp/flood.log 2>&1 &
	flooder=$!
	timeout -k 2 200 ip netns exec a ./dialer "$B4" "$PORT" 5 > /tmp/dialer.log 2>&1 || status=1
	wait "$flooder" || status=1
	touch /tmp/flood-is-over
	wait "$watcher"
	read -r sockets mib < /tmp/costs
	echo "flood: $(cat /tmp/flood.log)"
	echo "good:  $(cat /tmp/dialer.log)"
	echo "at most $sockets sockets at the listener, $mib MiB more in the kernel"
	((sockets <= SOCKETS && mib <= MEMORY)) && return "$status"
}

nothing_stays()
{
	wait_until 30 only_the_listener || {
		ss -N b -Htan state all exclude time-wait
		return 1
	}
}
only_the_listener()
{
	! ss -N b -Htan state all exclude time-wait | grep -qv '^LISTEN'
}

with_result()
{
	local status=0
	run_check "$@" || status=$?
	((status)) || note "$(cat "$CHECK_OUTPUT")"
}

listener_goes_on()
{
	kill -0 "$server_pid" && in_a timeout 30 ./dialer "$B4" "$PORT" 1
}

# Status 3: it ended in good order and nobody had asked for anything but a connection.
listener_ends()
{
	kill -TERM "$server_pid" && wait "$server_pid"
	(($? == 3))
}

chmod +x flood dialer load
run_check "two links in two namespaces" two_namespaces || finish
ulimit -n 8192
ip netns exec b ./load serve "$B4" "$PORT" 600 > /tmp/server.log 2>&1 &
server_pid=$!
run_check "a listener" wait_listening "$PORT" || finish
for what in silence half garbage reset mixed; do
	with_result "$FLOOD connections, $what" flooded_with $what
done
run_check "none of them stays" nothing_stays
run_check "the listener goes on" listener_goes_on
run_check "and ends" listener_ends
finish
