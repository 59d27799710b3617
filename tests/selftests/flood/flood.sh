#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/flood build/tests/bin/dialer build/tests/bin/load
# timeout: 300
#
# Thousands of TCP connections reach a listener and never become RDMA connections: they send
# nothing, half a request or garbage, or are reset. Their cost is bounded, each is gone within its
# time, and a good client gets through meanwhile.
#
# Connections that make their request and are gone before it is accepted are made to a program with
# threads, rping: the core must not meet them in a state that ends the machine.
#
# FLOOD: connections of each kind (2000; a quarter of it where checks make
# everything slow). FLOOD_AT_ONCE: at a time (400). FLOOD_EARLY: that are gone early (FLOOD).
. lib/ktap.sh
. lib/pairs.sh

: "${FLOOD:=$((2000 / SLOW))}" "${FLOOD_AT_ONCE:=400}" "${FLOOD_EARLY:=$FLOOD}"
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

# start_flood WHAT: $flooder is its process.
start_flood()
{
	timeout -k 2 200 ip netns exec a ./flood "$B4" "$PORT" "$FLOOD" "$1" "$FLOOD_AT_ONCE" \
		"$LIMIT" > /tmp/flood.log 2>&1 &
	flooder=$!
}

# flooded_with WHAT: while somebody good connects again and again.
flooded_with()
{
	local flooder watcher status=0 sockets mib
	rm -f /tmp/flood-is-over
	watch_costs &
	watcher=$!
	start_flood "$1"
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

# Links that nobody floods come and go meanwhile, each within LIMIT.
link_beside_flood()
{
	local flooder start longest=0 status=0 lives=0
	ip link add dummy8 type dummy && ip link set dummy8 up || return
	start_flood reset
	while kill -0 "$flooder" 2> /dev/null; do
		start=$SECONDS
		rdma link add srn8 type softrnic netdev dummy8 && rdma link delete srn8 || status=1
		((SECONDS - start <= longest)) || longest=$((SECONDS - start))
		((++lives))
	done
	ip link delete dummy8
	wait "$flooder" || status=1
	echo "flood: $(cat /tmp/flood.log)"
	echo "$lives links came and went, the slowest in $longest s"
	((longest <= LIMIT && lives > 0)) && return "$status"
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
# The core may have dropped a request with its listener: its connection goes soon as well.
no_sockets_stay()
{
	wait_until $((15 * SLOW)) no_sockets || {
		ss -N b -Htanp state all exclude time-wait
		ip netns pids b
		return 1
	}
}
no_sockets() { (($(ss -N b -Htan state all exclude time-wait | wc -l) == 0)); }

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

# It may give up after so many failures: it is not what is tested.
rping_again_and_again()
{
	until [[ -e /tmp/rping-may-end ]]; do
		ip netns exec b rping -s -P -a "$B4" -p 7600
		sleep 0.1
	done > /dev/null 2>&1
}

# Until enough have stood: while it starts again they are refused.
early_ones()
{
	local more stood=0 end=$((SECONDS + (100 + FLOOD_EARLY / 20) * SLOW))
	while ((stood < FLOOD_EARLY)); do
		((SECONDS < end)) || {
			echo "$stood stood when the time was up"
			return 1
		}
		wait_listening 7600 || return
		ip netns exec a ./flood "$B4" 7600 500 early 32 "$LIMIT" > /tmp/early.log || continue
		more=$(grep -oE '[0-9]+ stood' /tmp/early.log)
		((stood += ${more% *}))
	done
	echo "$stood stood"
}

early_ones_to_rping()
{
	local again status=0
	rping_again_and_again &
	again=$!
	early_ones || status=1
	touch /tmp/rping-may-end
	wait_until $((15 * SLOW)) rping_has_ended "$again" || status=1
	return "$status"
}
# One may have been about to start, so this may have to end another one.
rping_has_ended()
{
	ip netns pids b | xargs -r kill
	! kill -0 "$1" 2> /dev/null
}

# rping's threads go on with connections that it has freed.
crashes_are_not_told
chmod +x flood dialer load
run_check "two links in two namespaces" two_namespaces || finish
ulimit -n 8192
ip netns exec b ./load serve "$B4" "$PORT" 600 > /tmp/server.log 2>&1 &
server_pid=$!
run_check "a listener" wait_listening "$PORT" || finish
for what in silence half garbage reset mixed; do
	with_result "$FLOOD connections, $what" flooded_with $what
done
with_result "links come and go beside a flood" link_beside_flood
run_check "none of them stays" nothing_stays
run_check "the listener goes on" listener_goes_on
run_check "and ends" listener_ends
with_result "$FLOOD_EARLY connections to rping that are gone early" early_ones_to_rping
run_check "none of them stays" no_sockets_stay
pair "rping still works" 7174 in_b rping -s -a "$B4" -C 3 -- in_a rping -c -a "$B4" -C 3 -V
finish
