#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/verbs_test build/tests/bin/raw_test build/tests/bin/transparent_relay build/tests/bin/load
# timeout: 1200
#
# The path inside this host: who takes it, by which settings, and that verbs are the same there.
# "make check-paths" runs more tests over it.
SRN_SAME_HOST=default
. lib/ktap.sh
. lib/topology.sh
. lib/gtest.sh
. lib/pairs.sh
. lib/churn.sh

PORT=7471

set_to() { echo "$2" > "/sys/class/infiniband/$1/mpa/same_host"; }
is_set_to() { [[ $(cat "/sys/class/infiniband/$1/mpa/same_host") == "$2" ]]; }

setting()
{
	local value
	is_set_to srn0 netns || return
	for value in netns host off; do
		set_to srn0 "$value" && is_set_to srn0 "$value" || return
	done
	! set_to srn0 everywhere 2> /dev/null && ! set_to srn0 '' 2> /dev/null && is_set_to srn0 off
}

# Of links that are added later.
parameter()
{
	local file=/sys/module/softrnic/parameters/same_host
	grep -qx netns "$file" && echo host > "$file" && grep -qx host "$file" &&
		! echo nonsense 2> /dev/null > "$file" && ip link add d1 type dummy &&
		rdma link add srn1 type softrnic netdev d1 && is_set_to srn1 host &&
		rdma link delete srn1 && ip link delete d1 && echo netns > "$file"
}

# taken LINK: connections of the link that have taken the path so far.
taken() { link_counter "$1" connections_same_host; }

# taken_since LINK BEFORE LEAST
taken_since()
{
	local now
	now=$(taken "$1")
	echo "$1: $2 to $now"
	((now - $2 >= $3))
}

# goes BY ADDRESS LINK OTHER-LINK IN-SERVER IN-CLIENT [LISTENER'S ADDRESS]: data is compared. BY is
# 1 if both ends take the path, and 0 if none does.
goes()
{
	local by=$1 address=$2 link=$3 other=$4 in_server=$5 in_client=$6 before other_before each=$1
	before=$(taken "$link")
	other_before=$(taken "$other")
	# Both ends of one link count.
	[[ $link != "$other" ]] || each=$((2 * by))
	# shellcheck disable=SC2086
	try_pair $PORT $in_server rping -s -V -a "${7:-$address}" -p $PORT -C 20 -S 30000 -- \
		$in_client rping -c -V -a "$address" -p $PORT -C 20 -S 30000 || {
		echo "$PAIR_PROBLEM"
		return 1
	}
	echo "$link: $before to $(taken "$link"), $other: $other_before to $(taken "$other")"
	(($(taken "$link") == before + each && $(taken "$other") == other_before + each))
}

segments() { nstat -asz TcpOutSegs | awk '$1 == "TcpOutSegs" { print $2 }'; }

# TCP sees the set-up and the end. By the wire there are 20 segments at least for each round.
silent()
{
	local before
	before=$(segments)
	goes 1 10.1.0.1 srn0 srn0 '' '' || return
	echo "$(($(segments) - before)) segments"
	(($(segments) - before < 100))
}

# between A B BY: the settings of both links, and whether the path is taken.
between()
{
	set_to srna "$1" && set_to srnb "$2" && goes "$3" 10.0.0.2 srna srnb in_b in_a &&
		goes "$3" fd00::2 srna srnb in_b in_a
}

#     srna ── va 10.2.0.1 ── ra  namespace r  rb ── 10.3.0.1 vb ── srnb
in_r() { ip netns exec r "$@"; }

routed_end()
{
	ip netns add "$1" && ip link add "v$1" netns "$1" type veth peer name "r$1" netns r || return
	ip -n "$1" link set lo up
	ip -n "$1" addr add "$2.1/24" dev "v$1"
	ip -n r addr add "$2.254/24" dev "r$1"
	ip -n "$1" link set "v$1" up
	ip -n r link set "r$1" up
	ip -n "$1" route add default via "$2.254"
	ip netns exec "$1" rdma link add "srn$1" type softrnic netdev "v$1" &&
		wait_ready "srn$1" && set_to "srn$1" host
}

two_routed_ends()
{
	ip netns add r && in_r sysctl -qw net.ipv4.ip_forward=1 &&
		routed_end a 10.2.0 && routed_end b 10.3.0
}

# The relay's ends have the addresses of the two, and it hands the nonce on: both recognise each other.
not_around_relay()
{
	local recognised status=0 relay
	ip -n r rule add iif ra lookup 100 && ip -n r rule add iif rb lookup 100 &&
		ip -n r route add local default dev lo table 100 || return
	in_r ./transparent_relay 10.3.0.1 "$PORT" > /tmp/relay &
	relay=$!
	recognised=$(link_counter srna peers_recognised)
	soon said listening /tmp/relay && goes 0 10.3.0.1 srna srnb in_b in_a || status=1
	kill "$relay"
	echo "recognised: $recognised to $(link_counter srna peers_recognised)"
	((status == 0 && $(link_counter srna peers_recognised) > recognised))
}

both_set_to() { set_to srna "$1" && set_to srnb "$1"; }

# Namespace a goes with its last process. The other end loses its peer first, then its device.
exits_with_its_process()
{
	local before status=0
	both_set_to host && before=$(taken srnb) && start_load && taken_since srnb "$before" 3 &&
		way_namespace_delete || status=1
	remove_load
	return "$status"
}

# Each has a network device that does not go with the other's namespace.
namespaces_apart()
{
	local n
	ip link add d2 type dummy && ip link set d2 up && ip netns add a && ip netns add b || return
	for n in a b; do
		ip link add link d2 name "v$n" netns "$n" type macvlan mode bridge || return
		ip -n "$n" link set lo up
		ip -n "$n" link set "v$n" up
	done
	ip -n a addr add 10.0.0.1/24 dev va
	ip -n b addr add 10.0.0.2/24 dev vb
	in_a rdma link add srna type softrnic netdev va &&
		in_b rdma link add srnb type softrnic netdev vb && wait_ready srna srnb &&
		soon has_gid srna 0a00:0001 && soon has_gid srnb 0a00:0002 && both_set_to "$1"
}
has_gid() { grep -q "$2\$" "/sys/class/infiniband/$1/ports/1/gids/0"; }

# apart SETTING: one process has both ends, and goes on when the network is cut and a namespace exits.
apart()
{
	run_check "namespaces with a network device each, $1" namespaces_apart "$1"
	SRN_RAW_DEVICE=srna SRN_RAW_PEER=srnb run_gtest ./raw_test 150 'Namespace*'
	run_check "one link went with its namespace, $1" soon gone srna
	run_check "the other did not, $1" rdma link delete srnb
	ip netns delete b
	ip link delete d2
}

on_own_link verbs_test
run_check "the setting" setting
run_check "the module's parameter" parameter
run_check "off: nobody takes it" goes 0 10.1.0.1 srn0 srn0 '' ''
set_to srn0 netns
run_check "netns: IPv4" goes 1 10.1.0.1 srn0 srn0 '' ''
run_check "netns: IPv6" goes 1 fd01::1 srn0 srn0 '' ''
run_check "netns: IPv4, to a dual-stack listener" goes 1 10.1.0.1 srn0 srn0 '' '' ::
run_check "TCP sees nothing of it" silent
echo 0 > /sys/class/infiniband/srn0/mpa/greeting
run_check "without greetings nobody takes it" goes 0 10.1.0.1 srn0 srn0 '' ''
echo 1 > /sys/class/infiniband/srn0/mpa/greeting
# What a path may get wrong: order, flushes, faults of both ends, memory that goes, rates, ends.
before=$(taken srn0)
run_gtest ./verbs_test 550 "${SRN_FILTER:-Atomics.*:Batch.*:Concurrency.*:Deregistration.*:Flush.*:*NotReady*:Ownership.*:Placed.*:Posting.*:Rate.*:*Remote*:*LocalS*:*Immediate*:Reregistration.*:Reuse.*:SharedReceives.*:Statistics.*:TooLong.*:*Violation*:*Ring*:Window*}"
run_check "their connections took that path" taken_since srn0 "$before" 100
SRN_TEST_LINK=srn0 SRN_TEST_NETDEV=dummy0 run_gtest ./verbs_test 120 'Removal.*'
# Messages that wait for receives, at one end and at both.
chmod +x raw_test load
SRN_RAW_DEVICE=srn0 run_gtest ./raw_test 60 'Raw.*Wait*:Raw.*Refuse*'
before=$(taken srn0)
SRN_RAW_DEVICE=srn0 run_gtest ./raw_test 90 'Itself.*:Raw.ConnectedToItself:-Itself.IsNotSilent*'
# One for each round of the two that make many, and one for each of the others.
run_check "a queue pair that is its own peer takes that path" taken_since srn0 "$before" 75
# So that TCP hears nothing at all.
echo N > /sys/module/softrnic/parameters/keepalive
SRN_RAW_DEVICE=srn0 run_gtest ./raw_test 60 'Itself.IsNotSilent*'
echo Y > /sys/module/softrnic/parameters/keepalive
run_check "two namespaces" two_namespaces
run_check "two namespaces: netns at both ends" between netns netns 0
run_check "two namespaces: host at both ends" between host host 1
run_check "two namespaces: host at one end" between host netns 0
run_check "two namespaces: off at one end" between host off 0
run_check "a namespace goes with its process, under load" exits_with_its_process
apart host
apart off
chmod +x transparent_relay
run_check "a router between two namespaces" two_routed_ends
run_check "through the router" goes 1 10.3.0.1 srna srnb in_b in_a
if ip rule show > /dev/null 2>&1; then
	run_check "a relay that keeps both addresses is not gone around" not_around_relay
else
	skip "a relay that keeps both addresses" "this kernel has no rules for routing"
fi
finish
