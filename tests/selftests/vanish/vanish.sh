#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/witness build/tests/bin/bad_peer
# timeout: 450
#
# Peers and networks that go away without a word, with the wrong word, or in the middle of
# one, while the connection is idle and while it is busy, for both roles. Each time the end
# is complete in bounded time, and nothing is left.
#
#     ┌── namespace a ─────────┐              ┌── namespace b ─────────┐
#     │ srna ── va 10.0.0.1/24 │── pa br0 pb ─│ vb 10.0.0.2/24 ── srnb │
#     └────────────────────────┘              └────────────────────────┘
#
# A bridge between them, so that one end can lose its link without the other's noticing.
. lib/ktap.sh
. lib/topology.sh

A4=10.0.0.1 B4=10.0.0.2
PARAMETERS=/sys/module/softrnic/parameters
# What the tests set for most of their connections, in seconds; the time that the end of
# one may then take in a slow machine; and what closing in good order may take.
IDLE=2 INTERVAL=1 TIMEOUT=3
LIMIT=25

bridged_namespaces()
{
	ip link add br0 type bridge && ip link set br0 up && ip netns add a && ip netns add b &&
		end_with_link a "$A4" 101 && end_with_link b "$B4" 102
}

# end_with_link NAMESPACE ADDRESS INDEX
end_with_link()
{
	local n=$1
	ip link add "v$n" index "$3" netns "$n" type veth peer name "p$n" &&
		ip link set "p$n" master br0 up && ip -n "$n" link set lo up &&
		ip -n "$n" link set "v$n" up && ip -n "$n" addr add "$2/24" dev "v$n" &&
		add_link "$n"
}

add_link()
{
	ip netns exec "$1" rdma link add "srn$1" type "$SRN_LINK_TYPE" netdev "v$1" &&
		wait_ready "srn$1"
}

# parameters NAME VALUE…
parameters()
{
	while (($#)); do
		echo "$2" > "$PARAMETERS/$1" || return
		shift 2
	done
}

short_times()
{
	parameters keepalive_idle $IDLE keepalive_interval $INTERVAL user_timeout $TIMEOUT
}

default_times()
{
	parameters keepalive_idle 60 keepalive_interval 10 user_timeout 120
}

# witness NAMESPACE LOG ARGUMENT…: in the background; sets WITNESS.
witness()
{
	local n=$1 log=$2
	shift 2
	# Never before the one that it connects to.
	[[ $1 != connect ]] || wait_listening "$3"
	: > "$log"
	ip netns exec "$n" ./witness "$@" > "$log" 2>&1 < /dev/null &
	WITNESS=$!
}

is_ready() { grep -q '^ready' "$1"; }

# ends LOG PROCESS: as it should; shows what it says.
ends()
{
	local status=0
	wait_until 75 process_gone "$2" || {
		echo "it does not end:"
		cat "/proc/$2/stack"
		kill -KILL "$2"
	}
	wait "$2" || status=$?
	grep -v '^ready' "$1" | sed "s|^|$(basename "$1" .log): |"
	return "$status"
}

told_of_failure()
{
	grep -q 'event: local work queue catastrophic error' "$1" || {
		echo "no asynchronous event: $1"
		return 1
	}
}

cut_silently()
{
	tc qdisc add dev pa root netem loss 100% && tc qdisc add dev pb root netem loss 100%
}
mend_silently()
{
	tc qdisc delete dev pa root && tc qdisc delete dev pb root
}
cut_link() { ip link set pb down; }
mend_link() { ip link set pb up; }
cut_blackhole() { ip -n b route add blackhole "$A4/32"; }
mend_blackhole() { ip -n b route delete blackhole "$A4/32"; }

# Two connections, an idle one and a busy one, and then the network is cut. All four ends
# end.
both_ends_notice()
{
	local load i status=0
	local -a pids=() logs=()
	local port=7700
	for load in idle busy; do
		witness b "/tmp/$load-listens.log" listen "$B4" "$port" "$load" "$LIMIT"
		pids+=("$WITNESS") logs+=("/tmp/$load-listens.log")
		witness a "/tmp/$load-connects.log" connect "$B4" "$port" "$load" "$LIMIT"
		pids+=("$WITNESS") logs+=("/tmp/$load-connects.log")
		port=$((port + 1))
	done
	for i in "${!logs[@]}"; do
		soon is_ready "${logs[i]}" || status=1
	done
	"cut_$1" || status=1
	for i in "${!logs[@]}"; do
		ends "${logs[i]}" "${pids[i]}" && told_of_failure "${logs[i]}" || status=1
	done
	"mend_$1" || status=1
	return "$status"
}

# The peer's network device goes, and all that it has with it.
device_of_peer_goes()
{
	local peer
	witness b /tmp/goes.log listen "$B4" 7700 idle "$LIMIT"
	peer=$WITNESS
	witness a /tmp/stays.log connect "$B4" 7700 idle "$LIMIT"
	soon is_ready /tmp/stays.log && ip link delete pb || return
	ends /tmp/stays.log "$WITNESS" && told_of_failure /tmp/stays.log || return
	# This one is told that its device goes.
	wait_until 20 process_gone "$peer" && wait_until $((20 * SLOW)) gone srnb || return
	# The new device has another hardware address.
	end_with_link b "$B4" 102 && ip -n a neigh flush dev va
}

# bad_peer ROLE PORT BEHAVIOUR: in namespace b, in the background; sets PEER.
bad_peer()
{
	local address=$B4
	[[ $1 == listen ]] || {
		address=$A4
		wait_listening "$2"
	}
	timeout 100 ip netns exec b ./bad_peer "$1" "$address" "$2" "$3" \
		> "/tmp/peer-$2.log" 2>&1 < /dev/null &
	PEER=$!
}

# against BEHAVIOUR WITNESS-ARGUMENT…: what a witness does with such a peer, once as the
# one that connects and once as the one that listens.
against()
{
	local behaviour=$1 status=0 connects
	local -a peers=()
	shift
	bad_peer listen 7710 "$behaviour"
	peers+=("$PEER")
	witness a /tmp/connects.log connect "$B4" 7710 "$@"
	connects=$WITNESS
	witness a /tmp/listens.log listen "$A4" 7711 "$@"
	bad_peer connect 7711 "$behaviour"
	peers+=("$PEER")
	ends /tmp/connects.log "$connects" || status=1
	ends /tmp/listens.log "$WITNESS" || status=1
	kill "${peers[@]}" 2> /dev/null
	wait "${peers[@]}"
	return "$status"
}

# As that; the end is also one that an event tells of.
broken_by()
{
	against "$@" && told_of_failure /tmp/connects.log && told_of_failure /tmp/listens.log
}

# A live peer that never answers is left to the time limits of the set-up. They are long,
# so the rest goes on meanwhile.
SILENCES=(accepts "reads the request" "replies by half")
silent=() silent_peers=()
start_silent_set_up()
{
	local i port
	for i in "${!SILENCES[@]}"; do
		port=$((7720 + i))
		bad_peer listen "$port" "${SILENCES[i]}"
		silent_peers+=("$PEER")
		witness a "/tmp/silent-$port.log" connect "$B4" "$port" refused 60
		silent+=("$WITNESS")
	done
}

silent_set_up_ends()
{
	local i status=0
	for i in "${!silent[@]}"; do
		ends "/tmp/silent-$((7720 + i)).log" "${silent[i]}" || status=1
	done
	kill "${silent_peers[@]}"
	wait "${silent_peers[@]}"
	return "$status"
}

# stuck_and killed|deleted|unloaded: while data waits for a peer with a closed window.
stuck_and()
{
	local status=0
	bad_peer listen 7712 "never reads"
	witness a /tmp/stuck.log connect "$B4" 7712 busy 60
	soon is_ready /tmp/stuck.log && sleep 2 || return
	case $1 in
	killed) kill -KILL "$WITNESS" ;;
	deleted) timeout 20 rdma link delete srna ;;
	unloaded) timeout $((20 * SLOW)) rmmod softrnic ;;
	esac || status=1
	wait_until 20 process_gone "$WITNESS" || {
		cat "/proc/$WITNESS/stack"
		status=1
	}
	wait "$WITNESS"
	kill "$PEER"
	wait "$PEER"
	case $1 in
	deleted) add_link a ;;
	unloaded) modprobe softrnic ;;
	esac
	return "$status"
}

# watched NAMESPACE FILTER: the socket's timer is that of keepalive.
watched() { ss -N "$1" -Htno "$2" | grep -q 'timer:(keepalive,'; }

keepalive_shows()
{
	local status=0
	witness b /tmp/shows-b.log listen "$B4" 7730 idle $((40 * SLOW))
	witness a /tmp/shows-a.log connect "$B4" 7730 idle $((40 * SLOW)) $((6 * SLOW))
	wait_until $((15 * SLOW)) is_ready /tmp/shows-a.log || status=1
	# While a segment is not yet acknowledged it is another timer that is shown.
	wait_until $((3 * SLOW)) watched a "dport = :7730" || status=1
	wait_until $((3 * SLOW)) watched b "sport = :7730" || status=1
	ss -N a -Htno "dport = :7730"
	ends /tmp/shows-a.log "$WITNESS" || status=1
	wait
	return "$status"
}

no_sockets_left()
{
	! ss -N a -Htan state all exclude time-wait | grep -qv LISTEN
}

chmod +x witness bad_peer
run_check "two links with a bridge between them" bridged_namespaces || finish
run_check "the defaults" test "$(cd $PARAMETERS && cat keepalive keepalive_* user_timeout |
	tr '\n' ' ')" = "Y 6 60 10 120 "
check_fails "a senseless time is refused" "Invalid argument|Numerical" \
	bash -c "echo 40000 > $PARAMETERS/user_timeout"
with_result "idle connections are watched" keepalive_shows
short_times
if modprobe sch_netem; then
	with_result "packets are dropped silently" both_ends_notice silently
else
	skip "packets are dropped silently" "no netem here"
fi
with_result "one end's link goes down" both_ends_notice link
with_result "one end has no route any more" both_ends_notice blackhole
with_result "the peer's network device is deleted" device_of_peer_goes
run_check "peers that say nothing" start_silent_set_up
for load in idle busy; do
	with_result "reset, $load" broken_by "reset" $load "$LIMIT"
	with_result "half an FPDU and a reset, $load" broken_by "half an FPDU, reset" $load "$LIMIT"
done
with_result "half a close and then nothing" against "close" idle "$LIMIT"
with_result "half an FPDU and half a close" broken_by "half an FPDU, close" idle "$LIMIT"
run_check "the kernel log says so" log_has 'closed by the peer in the middle of a message'
with_result "half an FPDU and then nothing: who leaves can" \
	against "half an FPDU" idle "$LIMIT" 2
with_result "a closed window" broken_by "never reads" busy "$LIMIT"
default_times
with_result "a closed window does not end a connection soon, and who leaves can" \
	against "never reads" busy 40 6
for how in killed deleted; do
	run_check "a closed window, and the user's program or link is $how" stuck_and $how
done
with_result "silence during the set-up" silent_set_up_ends
run_check "no socket is left" wait_until 20 no_sockets_left
run_check "a closed window, and the module is removed" stuck_and unloaded
finish
