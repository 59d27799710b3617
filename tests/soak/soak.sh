#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/load build/tests/bin/scribble.so build/tests/bin/uverbs_fuzz build/tests/bin/verbs_test build/tests/bin/flood build/tests/bin/vanisher
# mem: 3G
#
# Everything that can happen to links, mixed at random, for a long time; run by "make soak".
# All the while a reference load on a link of its own must lose nothing.
#
# MINUTES: how long (30). SEED: of what happens; printed, by chance otherwise. THINGS: what can
# happen, instead of all the functions in ACTIONS.
. lib/ktap.sh
. lib/churn.sh
. lib/perftest.sh

: "${MINUTES:=30}" "${SEED:=$RANDOM}"
A1=10.1.0.1 REFERENCE=7400
RANDOM=$SEED

# What can happen, and how often in relation to each other.
ACTIONS=(
	way_link_delete way_netdev_delete way_namespace_delete way_netdev_down way_address_removed
	way_mtu_changed way_names_changed way_link_deleted_at_both way_users_stopped
	server_killed server_killed client_killed client_killed
	bad_network bad_network bad_network bad_network
	strangers early_strangers vanishing_peers perftest perftest rpings verbs_tests verbs_tests
	scribblers scribblers uverbs_fuzzer
)
[[ -z ${THINGS:-} ]] || read -ra ACTIONS <<< "$THINGS"
declare -A TIMES=() FAILED=()

# To $CHOSEN: a subshell would have random numbers of its own, which no seed decides.
between() { CHOSEN=$(($1 + RANDOM % ($2 - $1 + 1))); }
one_of() { shift $((RANDOM % $#)) && CHOSEN=$1; }

server_killed()
{
	between 0 9
	sleep "0.$CHOSEN"
	kill -KILL "$server"
	wait "$server" 2> /dev/null
	ip netns exec b ./load serve "$B4" "$PORT" "$LOAD_TIME" > "$server_log" 2>&1 &
	server=$!
	wait_until "$PATIENCE" both_devices_busy && end_load
}

client_killed()
{
	between 0 9
	sleep "0.$CHOSEN"
	kill -KILL "$client"
	wait "$client" 2> /dev/null
	ip netns exec a ./load run "$B4" "$PORT" "$LOAD_TIME" 3 "$round" > "$client_log" 2>&1 &
	client=$!
	wait_until "$PATIENCE" both_devices_busy && end_load
}

# Where TCP's checksum is left to the card, corruption reaches the CRC.
bad_network()
{
	local kind
	one_of on off
	in_a ethtool -K va tx "$CHOSEN" > /dev/null
	one_of "loss 3%" "delay 5ms 3ms" "delay 10ms reorder 30% 50%" "duplicate 5%" \
		"corrupt 1%" "loss 2% corrupt 0.5% duplicate 2% delay 2ms 1ms"
	kind=$CHOSEN
	# shellcheck disable=SC2086
	tc -n a qdisc add dev va root netem $kind && tc -n b qdisc add dev vb root netem $kind ||
		return
	between 2 6
	sleep "$CHOSEN"
	tc -n a qdisc del dev va root
	tc -n b qdisc del dev vb root
	goes_on && end_load
}

strangers()
{
	local i size
	for ((i = 0; i < 20; i++)); do
		size=$((RANDOM % 4000))
		between 0 1
		head -c "$size" /dev/urandom |
			ip netns exec a timeout 2 nc -q "$CHOSEN" "$B4" "$PORT" > /dev/null &
	done
	sleep 3
	goes_on && end_load
}

# Their request is there when they are gone.
early_strangers()
{
	ip netns exec a timeout 20 ./flood "$B4" "$PORT" 200 early 16 15 && goes_on && end_load
}

# A host with an address of its own, which takes the address along. Then the load ends as well, while
# what that host has left behind is still there.
vanishing_peers()
{
	local host=10.0.0.77 kind vanisher status=0
	one_of silence request
	kind=$CHOSEN
	in_a ip address add "$host/32" dev va && in_a ip route add "$B4/32" dev va src "$host" || return
	ip netns exec a ./vanisher "$B4" "$PORT" 20 "$kind" > /tmp/vanisher.log 2>&1 &
	vanisher=$!
	wait_until 15 grep -q connected /tmp/vanisher.log || status=1
	in_a ip route delete "$B4/32" dev va
	in_a ip address delete "$host/32" dev va
	kill -KILL "$vanisher"
	wait "$vanisher" 2> /dev/null
	in_a ss -K -tan "src $host" > /dev/null
	goes_on && end_load && return "$status"
}

perftest()
{
	local tool options
	one_of ib_write_bw ib_read_bw ib_send_bw ib_send_lat ib_write_lat ib_read_lat
	tool=$CHOSEN
	one_of 1 64 4096 65536
	options=(-R -F -s "$CHOSEN" -n 200 -p 7800)
	end_load || return
	CLIENT_TIMEOUT=$PATIENCE SERVER_TIMEOUT=$((PATIENCE * 2)) try_pair_again 7800 \
		in_b "$tool" "${options[@]}" -d srnb -- \
		in_a "$tool" "${options[@]}" -d srna "$B4" && return
	echo "$tool ${options[*]}: $PAIR_PROBLEM: $(tail -n 3 "$CLIENT_LOG")"
	echo "perftest's server: $(tail -n 3 "$SERVER_LOG")"
	return 1
}

rpings()
{
	timeout -k 2 $((PATIENCE * 2)) ip netns exec b rping -s -a "$B4" -C 50 -V > /dev/null 2>&1 &
	wait_listening 7174 || return
	between 100 60000
	timeout -k 2 "$PATIENCE" ip netns exec a rping -c -a "$B4" -C 50 -S "$CHOSEN" -V && end_load
}

verbs_tests()
{
	local suites
	one_of 'Batch.*:Posting.*' 'SharedReceives.*:Completion*.*' 'Flush.*:*Access*.*' \
		'Small/*:Inline/*' 'Limits.*:Connection.*' 'Concurrency.*:Deregistration.*'
	suites=$CHOSEN
	SRN_SERVER_ADDR=$A1 timeout -k 2 $((PATIENCE * 4)) ./verbs_test --gtest_filter="$suites:-Limits.AsMany*" \
		--gtest_shuffle --gtest_random_seed=$((RANDOM % 99999)) > /tmp/verbs.log 2>&1 || {
		echo "verbs_test $suites: status $?"
		grep -B20 FAILED /tmp/verbs.log | head -n 60
		return 1
	}
	end_load
}

# On the links of the load, which goes on.
scribblers()
{
	local seed=$RANDOM
	timeout -k 1 8 env SCRIBBLE_SEED="$seed" LD_PRELOAD="$PWD/scribble.so" \
		ip netns exec b ./load serve "$B4" 7900 6 > /dev/null 2>&1 &
	sleep 1
	timeout -k 1 6 env SCRIBBLE_SEED="$seed" LD_PRELOAD="$PWD/scribble.so" \
		ip netns exec a ./load run "$B4" 7900 4 3 1 > /dev/null 2>&1
	wait $!
	goes_on && end_load
}

uverbs_fuzzer()
{
	local device
	device=$(basename "$(echo /sys/class/infiniband/srna/device/infiniband_verbs/uverbs* \
		/sys/class/infiniband_verbs/uverbs* | tr ' ' '\n' | while read -r path; do
			[[ $(cat "$path/ibdev" 2> /dev/null) == srna ]] && echo "$path"
		done | head -n 1)")
	timeout -k 2 $((PATIENCE * 2)) ./uverbs_fuzz "/dev/infiniband/$device" 5 "$RANDOM" || return
	goes_on && end_load
}

kib_of() { awk -v key="$1:" '$1 == key { print $2 }' /proc/meminfo; }
# What the kernel cannot take back: leaks show here.
held_mib() { echo $((($(kib_of SUnreclaim) + $(kib_of VmallocUsed) + $(kib_of KernelStack)) / 1024)); }
# Neither those that wait for the time after their end nor those of the reference, which
# come and go.
tcp_sockets() { ss -Htan state all exclude time-wait | wc -l; }

# Its users hold as many at any time, but for connections that end just now.
reference_objects()
{
	rdma resource show srn0 | grep -oE '(qp|cm_id|mr|pd|cq|ctx|srq) [0-9]+' |
		awk '{ all += $2 } END { print all + 0 }'
}

# How the links of the next thing send. Where the network spoils bytes only a CRC finds out.
choose_settings()
{
	local parameters=/sys/module/softrnic/parameters
	one_of 0 1
	[[ $1 != bad_network ]] || CHOSEN=1
	echo "$CHOSEN" > $parameters/crc
	one_of 0 1
	echo "$CHOSEN" > $parameters/large_fpdus
	settings="crc $(< $parameters/crc), large_fpdus $(< $parameters/large_fpdus)"
}

act()
{
	local action=$1
	round=$((round + 1))
	choose_settings "$action"
	two_namespaces 1500 > /dev/null && start_load && "$action"
}

progress()
{
	local passed=$((SECONDS - START))
	note "$(printf '%02d:%02d of %d:00, %d things happened, %d went wrong; kernel holds %d MiB, %s; %s' \
		$((passed / 60)) $((passed % 60)) "$MINUTES" "$round" "${#FAILED[@]}" "$(held_mib)" \
		"$(reference_objects) objects of the reference" \
		"reference: $(tail -n 1 /tmp/reference.log)")"
}

one_thing()
{
	local action
	one_of "${ACTIONS[@]}"
	action=$CHOSEN
	if ! act "$action" > /tmp/action.log 2>&1; then
		FAILED[$action]="thing $round, $settings: $(tail -n 20 /tmp/action.log)
$(tail -n 2 "$client_log" "$server_log")"
		note "thing $round, $action, went wrong: ${FAILED[$action]}"
	fi
	remove_load > /tmp/removal.log 2>&1 || {
		FAILED[$action]+="left something behind: $(cat /tmp/removal.log)"
		note "thing $round, $action, left something behind"
	}
	TIMES[$action]=$((${TIMES[$action]:-0} + 1))
}

start_reference()
{
	cp load reference
	./reference serve "$A1" "$REFERENCE" $((MINUTES * 60 + 600)) > /tmp/reference-server.log 2>&1 &
	reference_server=$!
	wait_listening "$REFERENCE" || return
	LOAD_REPORT=10 ./reference run "$A1" "$REFERENCE" $((MINUTES * 60 + 600)) 2 "$SEED" \
		> /tmp/reference.log 2>&1 &
	reference=$!
}

reference_lost_nothing()
{
	kill -TERM "$reference" && wait "$reference" || return
	kill -TERM "$reference_server" && wait "$reference_server" || return
	tail -n 1 /tmp/reference.log
	tail -n 1 /tmp/reference.log | grep -q ' 0 broken, 0 refused'
}

# The first things let caches grow. KASAN keeps what was freed, so there it says nothing.
memory_is_steady()
{
	echo "the kernel held $early_mib MiB after the first tenth and $(held_mib) MiB at the end"
	[[ -e /sys/kernel/debug/kmemleak ]] || (($(held_mib) - early_mib < 24))
}

# What a vanished peer has left is TCP's for up to half a minute.
no_sockets_stay() { wait_until 60 few_sockets; }
few_sockets() { (($(tcp_sockets) <= early_sockets)); }

chmod +x load verbs_test uverbs_fuzz flood vanisher
note "seed $SEED, $MINUTES minutes"
early_sockets=$(tcp_sockets)
run_check "a link for the reference load" dummy_link || finish
run_check "the reference load" start_reference || finish
START=$SECONDS early_mib='' shown=$SECONDS
while ((SECONDS - START < MINUTES * 60)); do
	one_thing
	if [[ -z $early_mib ]] && ((SECONDS - START > MINUTES * 6)); then
		early_mib=$(held_mib)
	fi
	if ((SECONDS - shown > 20)); then
		progress
		shown=$SECONDS
	fi
done
for action in "${!TIMES[@]}"; do
	if [[ -z ${FAILED[$action]:-} ]]; then
		ok "${action//_/ }, ${TIMES[$action]} times"
	else
		not_ok "${action//_/ }, ${TIMES[$action]} times" "${FAILED[$action]}"
	fi
done
run_check "the reference load lost nothing" reference_lost_nothing
note "$(cat "$CHECK_OUTPUT")"
run_check "memory is steady" memory_is_steady
note "$(cat "$CHECK_OUTPUT")"
run_check "no objects stay" no_objects_stay 20
run_check "no sockets stay" no_sockets_stay
finish
