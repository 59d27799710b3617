#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/robustness/fail_nth build/tests/robustness/load
# timeout: 240
#
# Allocations that fail, in every place where an operation has one: set-up, data, teardown.
# Stock kernels have no fault injection; make check-debug runs this.
. lib/ktap.sh
. lib/topology.sh

FAULTS=/sys/kernel/debug/failslab
PAGES=/sys/kernel/debug/fail_page_alloc
COPIES=/sys/kernel/debug/fail_usercopy
A1=10.1.0.1

[[ -d "$FAULTS" ]] || skip_all "this kernel has no fault injection (make check-debug)"

# Failures are also for those who may sleep, and tell nothing in the log. Whose they are is
# said for each task.
prepare_faults()
{
	local knobs
	for knobs in $FAULTS $PAGES $COPIES; do
		echo 0 > "$knobs"/verbose && echo Y > "$knobs"/task-filter || return
	done
	echo N > "$FAULTS"/ignore-gfp-wait && echo N > "$PAGES"/ignore-gfp-wait &&
		echo 0 > "$PAGES"/min-order
}

# One test for each line of fail_nth.
each_place()
{
	local verdict rest status=0
	ip link add dummy1 type dummy && ip link set dummy1 up
	timeout -k 2 180 ./fail_nth $A1 dummy1 > /tmp/faults.log 2>&1 || status=$?
	while read -r verdict rest; do
		case $verdict in
		pass) ok "a fault in each place: $rest" ;;
		fail) not_ok "a fault in each place: ${rest%%:*}" "$rest" ;;
		*) note "$verdict $rest" ;;
		esac
	done < /tmp/faults.log
	((status <= 1)) || not_ok "a fault in each place" "status $status"
}

# Workers allocate, too. Which allocation fails is then left to chance, for the programs
# and all workers that there are.
by_chance()
{
	local knobs server client pid
	./load serve $A1 7500 25 > /tmp/server.log 2>&1 &
	server=$!
	wait_listening 7500 || return
	./load run $A1 7500 20 3 "$1" > /tmp/client.log 2>&1 &
	client=$!
	sleep 3
	for pid in $server $client $(pgrep kworker); do
		for knobs in /proc/"$pid"/task/*/make-it-fail; do
			echo 1 > "$knobs"
		done
	done
	set_probability "$1"
	sleep 12
	set_probability 0
	wait $client
	kill -TERM $server
	wait $server
	cat /tmp/server.log /tmp/client.log
}

set_probability()
{
	local knobs
	for knobs in $FAULTS $PAGES; do
		echo 1 > "$knobs"/interval
		echo -1 > "$knobs"/times
		echo "$1" > "$knobs"/probability
	done
}

run_check "a link" dummy_link
run_check "faults can be made" prepare_faults
each_place
for percent in 1 5 20; do
	by_chance $percent > /tmp/by-chance.log 2>&1
	note "$percent % of the allocations failed: $(cat /tmp/by-chance.log)"
	run_check "after faults by chance, $percent %, new programs work" \
		bash -c "./load serve $A1 7501 12 > /tmp/server.log & sleep 2;
			timeout -k 2 30 ./load run $A1 7501 3 2 1 && wait"
done
finish
