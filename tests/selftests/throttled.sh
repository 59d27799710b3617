#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/cm_misuse build/tests/bin/raw_test
# timeout: 300
#
# The kernel makes the processes of a cgroup wait, for up to 2 s at a time, if it is above its
# memory.high, and wherever they are if it is above its cpu.max. softrnic's workers get memory on
# behalf of such processes, and take locks that these may hold. The workers serve other processes
# too, which must not wait for that.
. lib/cgroup.sh
. lib/ktap.sh
. lib/pairs.sh

A1=10.1.0.1 DEVICE=/dev/infiniband/uverbs0
# Two, since what a CPU has charged in advance is for one only. A few processes each, since they wait
# as well.
GROUPS_AT=(/sys/fs/cgroup/above1 /sys/fs/cgroup/above2)
PROCESSES=8

cgroups()
{
	cgroup_controller memory && cgroup_controller cpu && mkdir -p "${GROUPS_AT[@]}"
}

# Two connections in each of 40 rounds. Commands, not functions, because CHECK_TIMEOUT bounds these only.
CONNECT_OFTEN=(./cm_misuse reconnect-at-once "$DEVICE" "$A1" 40)
# One after the other, with a message for each.
BRING_UP_OFTEN=(env SRN_RAW_DEVICE=srn0 ./raw_test --gtest_filter=Raw.ManyOneAfterTheOther)

connect_in()
{
	SLOW=100 exec_in_cgroup "$1" ./cm_misuse reconnect-at-once "$DEVICE" "$A1" 1000000
}

# all_live PID…
all_live()
{
	local pid
	for pid in "$@"; do
		kill -0 "$pid" || return
	done
}

others_ask()
{
	local group
	local -a asking=()
	for group in "${GROUPS_AT[@]}"; do
		SRN_RAW_DEVICE=srn0 exec_in_cgroup "$group" ./raw_test \
			--gtest_also_run_disabled_tests --gtest_filter='*AsksAllTheTime' > /dev/null 2>&1 &
		asking+=($!)
	done
	others+=("${asking[@]}")
	sleep 2
	all_live "${asking[@]}"
}

others_connect()
{
	local group
	for ((i = 0; i < PROCESSES; i++)); do
		for group in "${GROUPS_AT[@]}"; do
			connect_in "$group" > /dev/null 2>&1 &
			others+=($!)
		done
	done
	sleep 3
	all_live "${others[@]}"
}

# above_high CGROUP: its processes were above its memory.high.
above_high() { (($(awk '$1 == "high" { print $2 }' "$1"/memory.events) > 0)); }

throttle()
{
	local group
	for group in "${GROUPS_AT[@]}"; do
		echo 65536 > "$group"/memory.high || return
	done
	for group in "${GROUPS_AT[@]}"; do
		wait_until $((10 * SLOW)) above_high "$group" || return
	done
}

throttled() { (($(awk '$1 == "nr_throttled" { print $2 }' "$1"/cpu.stat) > 0)); }

# They get 4 ms in each 200 ms, and wait for the rest.
take_the_cpu()
{
	local group
	for group in "${GROUPS_AT[@]}"; do
		echo max > "$group"/memory.high && echo "4000 200000" > "$group"/cpu.max || return
	done
	for group in "${GROUPS_AT[@]}"; do
		wait_until $((20 * SLOW)) throttled "$group" || return
	done
}

give_the_cpu()
{
	local group
	for group in "${GROUPS_AT[@]}"; do
		echo max > "$group"/cpu.max || return
	done
}

remove_cgroups()
{
	local group
	for group in "${GROUPS_AT[@]}"; do
		[[ ! -e $group ]] || rmdir "$group" || return
	done
}

stop_others()
{
	kill -9 "${others[@]}"
	wait_until $((20 * SLOW)) remove_cgroups 2> /dev/null
}

chmod +x cm_misuse raw_test
cgroups || skip_all "$NO_CGROUP"
run_check "a link" dummy_link || finish
others=()
run_check "others connect" others_connect
run_check "others have queue pairs that are brought up by hand" others_ask
run_check "connections beside them" "${CONNECT_OFTEN[@]}"
run_check "queue pairs are brought up beside them" "${BRING_UP_OFTEN[@]}"
run_check "they are above what they should have" throttle
CHECK_TIMEOUT=$((20 * SLOW)) run_check "connections do not wait for them" \
	"${CONNECT_OFTEN[@]}"
if [[ -e ${GROUPS_AT[0]}/cpu.max ]]; then
	run_check "they are above the time that they should have" take_the_cpu
	CHECK_TIMEOUT=$((60 * SLOW)) run_check "connections do not wait for them, either" \
		"${CONNECT_OFTEN[@]}"
	CHECK_TIMEOUT=$((60 * SLOW)) run_check "queue pairs that are brought up do not wait for them" \
		"${BRING_UP_OFTEN[@]}"
	run_check "they get time again" give_the_cpu
else
	skip "connections beside tenants that wait for a CPU" "this kernel does not limit their time"
fi
run_check "the others end" stop_others
run_check "nothing is left" no_objects_stay $((20 * SLOW))
finish
