#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/vanisher build/tests/bin/load
# timeout: 300
#
# A host that vanishes and never acknowledges our FIN: half a minute later its connections cost
# nothing any more, whether they have said nothing, are established, or belong to a namespace that
# is deleted.
#
# VANISH: connections of each kind (60). VANISH_LIMIT: seconds until all of them are gone.
. lib/ktap.sh
. lib/pairs.sh

: "${VANISH:=60}" "${VANISH_LIMIT:=$((45 * SLOW))}"
B4=10.0.0.2 PORT=7500

# All sockets of TCP that have memory, in all namespaces, but for those of the vanished host.
sockets_of_b() { ss -N b -Htan state all exclude time-wait exclude listening | wc -l; }
no_sockets_of_b() { (($(sockets_of_b) == 0)); }
allocated() { awk '$1 == "TCP:" { print $9 }' /proc/net/sockstat; }
orphans() { awk '$1 == "TCP:" { print $5 }' /proc/net/sockstat; }

start_listener()
{
	ip netns exec b ./load serve "$B4" "$PORT" 600 > /tmp/server.log 2>&1 &
	server_pid=$!
	wait_listening "$PORT"
}

connect_all()
{
	: > /tmp/vanisher.log
	ip netns exec a ./vanisher "$B4" "$PORT" "$VANISH" "$1" > /tmp/vanisher.log 2>&1 &
	vanisher_pid=$!
	soon grep -q connected /tmp/vanisher.log || {
		cat /tmp/vanisher.log
		return 1
	}
}

# Not a packet from there any more; what its own kernel has of the connections is reset here.
vanish()
{
	ip netns exec a tc qdisc replace dev va root netem loss 100%
	kill -KILL "$vanisher_pid"
	wait "$vanisher_pid" 2> /dev/null
	ip netns exec a ss -K -tan > /dev/null
}

come_back() { ip netns exec a tc qdisc delete dev va root; }

all_gone()
{
	wait_until "$VANISH_LIMIT" no_sockets_of_b || {
		echo "$(sockets_of_b) sockets stay:"
		ss -N b -Htano state all exclude time-wait exclude listening | head -n 5
		return 1
	}
	echo "all gone $((SECONDS - start)) s after the end"
}

silent_ones_go()
{
	start=$SECONDS
	all_gone
}

established_ones_go()
{
	start=$SECONDS
	kill -KILL "$server_pid"
	wait "$server_pid" 2> /dev/null
	all_gone
}

# Nobody can look into a namespace that has no name any more: the whole machine's sockets tell.
namespace_goes()
{
	start=$SECONDS
	kill -KILL "$server_pid"
	wait "$server_pid" 2> /dev/null
	ip netns delete b
	((SECONDS - start < 10)) || echo "ip netns delete took $((SECONDS - start)) s"
	wait_until "$VANISH_LIMIT" as_few_as_before || {
		echo "$(allocated) sockets, $before before; $(orphans) orphans"
		return 1
	}
}
as_few_as_before() { (($(allocated) <= before && $(orphans) == 0)); }

chmod +x vanisher load
ulimit -n 8192
before=$(allocated)
run_check "two links in two namespaces" two_namespaces || finish
run_check "a listener" start_listener || finish
run_check "$VANISH connections that say nothing" connect_all silence
vanish
run_check "they go, without a word from their host" silent_ones_go
note "$(cat "$CHECK_OUTPUT")"
come_back
run_check "$VANISH connections that are established" connect_all request
vanish
run_check "they go when their program is killed" established_ones_go
note "$(cat "$CHECK_OUTPUT")"
come_back
run_check "a listener again" start_listener
run_check "$VANISH connections that are established, again" connect_all request
vanish
run_check "they go when their namespace is deleted as well" namespace_goes
note "$(cat "$CHECK_OUTPUT")"
finish
