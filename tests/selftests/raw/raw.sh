#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/raw_test
# timeout: 600
#
# Queue pairs that are brought up by hand: the table of GIDs, all orders of steps, strangers, ends
# that go, and the link's setting for it. Programs that do so are in programs.sh.
. lib/ktap.sh
. lib/pairs.sh
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
V4_OTHER=0000:0000:0000:0000:0000:ffff:0a00:0007 V4_LAST=0000:0000:0000:0000:0000:ffff:0a00:0008
V6_LAST=fd00:0000:0000:0000:0000:0000:0000:0009
NONE=0000:0000:0000:0000:0000:0000:0000:0000

gids_are_addresses()
{
	soon gid_is srna 0 "$V4_A" && soon index_of srna "$V6_A" && gid_is srna 30 "$NONE"
}

# Each address keeps its index while others come and go.
gids_follow()
{
	local v6 last
	v6=$(index_of srna "$V6_A")
	ip -n a addr add 10.0.0.7/24 dev va && soon index_of srna "$V4_OTHER" > /dev/null &&
		ip -n a addr add 10.0.0.8/24 dev va && soon index_of srna "$V4_LAST" > /dev/null || return
	last=$(index_of srna "$V4_LAST")
	ip -n a addr del 10.0.0.7/24 dev va && soon not index_of srna "$V4_OTHER" &&
		gid_is srna "$last" "$V4_LAST" && gid_is srna "$v6" "$V6_A" && gid_is srna 0 "$V4_A" &&
		ip -n a addr del 10.0.0.8/24 dev va && soon not index_of srna "$V4_LAST" &&
		gid_is srna "$v6" "$V6_A"
}

# The table does not wait until addresses have ceased to change.
gids_follow_while_addresses_change()
{
	local changer status=0
	mkfifo /tmp/changes
	ip -n a -force -batch /tmp/changes &
	changer=$!
	# Without a pause: ip reads the lines in blocks.
	yes $'addr add 10.9.0.1/32 dev va\naddr del 10.9.0.1/32 dev va' > /tmp/changes 2> /dev/null &
	ip -n a addr add 10.0.0.8/24 dev va && soon index_of srna "$V4_LAST" > /dev/null || status=1
	kill "$changer"
	wait "$changer" 2> /dev/null
	wait $!
	rm /tmp/changes
	ip -n a addr del 10.9.0.1/32 dev va 2> /dev/null
	ip -n a addr del 10.0.0.8/24 dev va && soon not index_of srna "$V4_LAST" &&
		((status == 0))
}

# The first of those that are left takes GID 0, and gives its own place back.
gid_0_is_the_primary_address()
{
	ip -n a addr add 10.0.0.7/24 dev va && soon index_of srna "$V4_OTHER" > /dev/null &&
		sysctl_a net.ipv4.conf.va.promote_secondaries=1 && ip -n a addr del 10.0.0.1/24 dev va &&
		soon gid_is srna 0 "$V4_OTHER" && [[ $(count_gids srna "$V4_OTHER") == 1 ]] &&
		ip -n a addr add 10.0.0.1/24 dev va && soon index_of srna "$V4_A" > /dev/null &&
		ip -n a addr del 10.0.0.7/24 dev va && soon gid_is srna 0 "$V4_A" &&
		[[ $(count_gids srna "$V4_A") == 1 ]]
}

# Newer addresses of IPv6 come first in the kernel's list.
gid_0_stays_without_ipv4()
{
	local first
	ip -n a addr del 10.0.0.1/24 dev va && soon not gid_is srna 0 "$V4_A" || return
	first=$(gid srna 0)
	ip -n a addr add fd00::9/64 dev va nodad && soon index_of srna "$V6_LAST" > /dev/null &&
		gid_is srna 0 "$first" && ip -n a addr del fd00::9/64 dev va &&
		ip -n a addr add 10.0.0.1/24 dev va && soon gid_is srna 0 "$V4_A"
}

sysctl_a() { ip netns exec a sysctl -q -w "$1"; }
count_gids() { cat "/sys/class/infiniband/$1/ports/1/gids/"* | grep -cx "$2"; }

# An address that another host may have is none yet.
gid_is_not_tentative()
{
	local looks=0
	sysctl_a net.ipv6.conf.va.dad_transmits=3 && ip -n a addr add fd00::9/64 dev va || return
	while is_tentative; do
		! { index_of srna "$V6_LAST" && is_tentative; } || return
		looks=$((looks + 1))
		sleep 0.1
	done
	echo "looked $looks times"
	((looks > 0)) && soon index_of srna "$V6_LAST" > /dev/null &&
		ip -n a addr del fd00::9/64 dev va && soon not index_of srna "$V6_LAST"
}
is_tentative() { ip -n a addr show dev va tentative | grep -q fd00::9; }
not() { ! "$@"; }

# The others are in programs.sh, which takes GID 0.
pingpong_over_ipv6()
{
	pair "ibv_rc_pingpong, IPv6${1:+, $1}" 18515 \
		in_b ibv_rc_pingpong -d srnb -g "$(index_of srnb "$V6_B")" -c -n 200 -- \
		in_a ibv_rc_pingpong -d srna -g "$(index_of srna "$V6_A")" -c -n 200 "$B4"
}

off()
{
	local setting=/sys/class/infiniband/srn0/raw/port port status=0
	port=$(cat "$setting")
	echo 0 > "$setting" || return
	timeout -k 2 $((60 * SLOW)) ibv_rc_pingpong -d srn0 -g 0 > /tmp/off.log 2>&1 &
	wait_listening 18515 || return
	fails_by_itself timeout -k 2 $((30 * SLOW)) ibv_rc_pingpong -d srn0 -g 0 "$OWN4" || status=1
	wait $! 2> /dev/null
	echo "$port" > "$setting" && ((status == 0)) &&
		log_has "RTR: the link's setting raw/port is 0"
}

# secrets OF_A OF_B: empty ones are none.
secrets()
{
	echo "$1" > /sys/class/infiniband/srna/raw/secret && echo "$2" > /sys/class/infiniband/srnb/raw/secret
}

# Of two GIDs the lower one connects: srna.
pingpong_with_secrets()
{
	secrets "$1" "$2" && try_pair 18515 in_b ibv_rc_pingpong -d srnb -g 0 -c -n 50 -- \
		in_a ibv_rc_pingpong -d srna -g 0 -c -n 50 "$B4"
}

# no_pingpong_with_secrets OF_A OF_B REASON: nobody connects, and the log has the reason.
no_pingpong_with_secrets()
{
	local status=0 before
	before=$(dmesg | grep -c "$3")
	secrets "$1" "$2" || return
	in_b timeout -k 2 $((60 * SLOW)) ibv_rc_pingpong -d srnb -g 0 > /tmp/secret.log 2>&1 &
	wait_listening 18515 &&
		fails_by_itself in_a timeout -k 2 $((50 * SLOW)) ibv_rc_pingpong -d srna -g 0 "$B4" || status=1
	kill "$(pidof ibv_rc_pingpong)" 2> /dev/null
	wait $! 2> /dev/null
	((status == 0)) && (($(dmesg | grep -c "$3") > before))
}

# perftest PROGRAM SECONDS [-R]: by hand, or by rdma_cm, in the background; sets SERVER and CLIENT.
perftest()
{
	local how=${3:--x 0}
	# shellcheck disable=SC2086
	in_b timeout -k 2 $((90 * SLOW)) "$1" -d srnb $how -D "$2" > "$SERVER_LOG" 2>&1 &
	SERVER=$!
	wait_listening 18515 || return
	# shellcheck disable=SC2086
	in_a timeout -k 2 $((60 * SLOW)) "$1" -d srna $how -D "$2" "$B4" > "$CLIENT_LOG" 2>&1 &
	CLIENT=$!
}

# host_vanishes PROGRAM: its client is told soon that nothing comes back from the server's host. What
# perftest sets (timeout 14, 7 retries) means the shortest time that there is, which is 5 s.
host_vanishes()
{
	local status=0 start
	perftest "$1" 60 || return
	sleep $((4 * SLOW))
	ip -n b route add blackhole 10.0.0.1/32 || status=1
	start=$SECONDS
	wait_until $((20 * SLOW)) process_gone "$CLIENT" || status=1
	echo "it ended after $((SECONDS - start)) s"
	grep -E 'Failed status|syndrom' "$CLIENT_LOG"
	grep -q 'Failed status 12' "$CLIENT_LOG" && ((SECONDS - start >= 4)) || status=1
	ip -n b route delete blackhole 10.0.0.1/32
	kill -KILL "$SERVER" "$CLIENT" 2> /dev/null
	wait "$SERVER" "$CLIENT" 2> /dev/null
	return "$status"
}

# What the driver tells of objects beside the core, while they are used.
resource_details()
{
	local status=0
	# Longer than it takes to look three times, on a busy machine as well.
	perftest ib_write_bw 50 || return
	wait_until $((20 * SLOW)) details_of qp 'drv_connected_by by_hand drv_path (tcp|same_host) drv_completions placed .*drv_segments [1-9]' &&
		details_of cq 'drv_depth [1-9].*drv_overflow 0' &&
		details_of mr 'drv_memory process .*drv_valid 1 drv_blocks [1-9]' || status=1
	killall -q ib_write_bw
	wait
	return "$status"
}

details_by_rdma_cm()
{
	local status=0
	perftest ib_write_bw 50 -R || return
	wait_until $((20 * SLOW)) details_of qp \
		'drv_connected_by rdma_cm drv_path (tcp|same_host) drv_completions sent .*drv_segments [1-9]' ||
		status=1
	killall -q ib_write_bw
	wait
	return "$status"
}

# Whoever has set that completions wait is told if they have not. rping measures nothing: perftest
# fails where a busy host makes the processor's clock and the time of day differ.
strangers_completions()
{
	local settings=/sys/class/infiniband/srna/mpa status=0
	echo 1 > "$settings/placed_completions"
	ping_with_sends && ! log_has "$NOT_PLACED" || status=1
	echo 0 > "$settings/greeting"
	ping_with_sends && soon log_has "$NOT_PLACED" || status=1
	echo 1 > "$settings/greeting"
	echo 0 > "$settings/placed_completions"
	return "$status"
}

ping_with_sends()
{
	try_pair 7174 in_b rping -s -a "$B4" -C 10 -- in_a rping -c -a "$B4" -C 10 -V && return
	echo "$PAIR_PROBLEM"
	tail -n 12 "$CLIENT_LOG" "$SERVER_LOG"
	return 1
}
NOT_PLACED='srna: QP[0-9]*: completions have not waited until data was placed'

# The tool begins another line, which is indented, where one becomes long.
details_of() { rdma resource show "$1" -dd | sed -z 's/\n    / /g' | grep -E "$2"; }

ONE_SECRET='known by these two hosts' OTHER_SECRET='known by somebody else'

give_secret_to() { echo "$ONE_SECRET" > "/sys/class/infiniband/$1/raw/secret"; }

# in_each_state COMMAND…: while a process has queue pairs in each state; in the end it is gone.
in_each_state()
{
	local status=0
	: > /tmp/states.log
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

# Programs for InfiniBand look for the default P_Key; to others iWARP has none.
pkeys_are() { ibv_devinfo -v -d srn0 | grep -qE "pkey_tbl_len:[[:space:]]+$1\$"; }
pkeys_as_it_poses()
{
	pkeys_are 0 && SOFTRNIC_NODE_TYPE=ca pkeys_are 1 &&
		[[ $(cat /sys/class/infiniband/srn0/ports/1/pkeys/0) == 0xffff ]]
}

no_port_elsewhere() { nothing_listens a && nothing_listens b; }
nothing_listens() { ! ss ${1:+-N $1} -Hltn "sport = :5040" | grep -q .; }

run_check "two links in two namespaces" two_namespaces
run_check "a link on a dummy interface" dummy_link
run_check "the table of GIDs has the addresses" gids_are_addresses
run_check "it follows them, each keeps its index" gids_follow
run_check "also while addresses change all the time" gids_follow_while_addresses_change
run_check "GID 0 is the primary address" gid_0_is_the_primary_address
run_check "GID 0 stays without an IPv4 address" gid_0_stays_without_ipv4
run_check "it has no tentative address" gid_is_not_tentative
run_check "a P_Key where it poses as InfiniBand" pkeys_as_it_poses
pingpong_over_ipv6
run_check "both links have a secret" pingpong_with_secrets "$ONE_SECRET" "$ONE_SECRET"
pingpong_over_ipv6 "with a secret"
run_check "they have different ones" no_pingpong_with_secrets "$ONE_SECRET" "$OTHER_SECRET" \
	"its peer does not know the link's secret"
run_check "the end that connects has none" no_pingpong_with_secrets '' "$ONE_SECRET" \
	"it does not know of the link's secret"
run_check "the end that waits has none" no_pingpong_with_secrets "$ONE_SECRET" '' \
	"it has a secret, and the link has none"
run_check "none has a secret any more" pingpong_with_secrets '' ''
run_check "rdma resource shows details" resource_details
run_check "rdma resource shows that of a connection by rdma_cm" details_by_rdma_cm
run_check "completions do not wait for a stranger, and the log says so" strangers_completions
if [[ $SRN_SAME_HOST == off ]]; then
	run_check "the peer's host vanishes while it is written to" host_vanishes ib_write_bw
	run_check "the peer's host vanishes while it is read" host_vanishes ib_read_bw
else
	skip "the peer's host vanishes" "it is this one, and what it is sent goes from memory to memory"
fi
chmod +x raw_test
NOT_HERE='Namespace*'
if [[ ! -e /dev/udmabuf && ! -e /dev/dma_heap/system ]]; then
	NOT_HERE+=':*DmaBuf*'
	skip "memory of DMA-BUFs" "this kernel has neither udmabuf nor heaps"
fi
SRN_RAW_DEVICE=srn0 run_gtest ./raw_test $((250 + ${SRN_RAW_ROUNDS:-0} / 5)) "*:-$NOT_HERE"
run_check "turned off, it is refused" off
run_check "no port stays open" soon nothing_listens
for _ in 1 2 3; do
	run_check "a process is killed with queue pairs in each state" killed
done
run_check "the link gets a secret" give_secret_to srn0
run_check "the link is deleted meanwhile" in_each_state rdma link delete srn0
run_check "no port stays open then" soon nothing_listens
run_check "nor in the other namespaces" soon no_port_elsewhere
finish
