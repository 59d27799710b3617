#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/fail_nth build/tests/bin/limits build/tests/bin/load build/tests/bin/flood build/tests/bin/wirepeer build/tests/bin/verbs_test
# timeout: 400
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
	echo "testmachine: memory will be short" > /dev/kmsg
	for knobs in $FAULTS $PAGES $COPIES; do
		echo 0 > "$knobs"/verbose && echo Y > "$knobs"/task-filter || return
	done
	echo N > "$FAULTS"/ignore-gfp-wait && echo N > "$PAGES"/ignore-gfp-wait &&
		echo 0 > "$PAGES"/min-order
}

# One test for each line of fail_nth.
each_place()
{
	local status=0
	ip link add dummy1 type dummy && ip link set dummy1 up
	timeout -k 2 $((400 * SLOW)) ./fail_nth $A1 dummy1 > /tmp/faults.log 2>&1 || status=$?
	verdicts_to_ktap "a fault in each place" "$status" /tmp/faults.log
}

# fail_for PID…: from now on.
fail_for()
{
	local pid knobs
	for pid in "$@"; do
		for knobs in /proc/"$pid"/task/*/make-it-fail; do
			echo 1 > "$knobs"
		done
	done
}

# Workers allocate, too. Which allocation fails is then left to chance, for the programs and the
# workers that are named. by_chance PERCENT WORKERS
by_chance()
{
	local server client
	./load serve $A1 7500 25 > /tmp/server.log 2>&1 &
	server=$!
	wait_listening 7500 || return
	./load run $A1 7500 20 3 "$1" > /tmp/client.log 2>&1 &
	client=$!
	sleep 3
	# shellcheck disable=SC2046 # one word for each
	fail_for $server $client $(pgrep "$2")
	set_probability "$1" "${@:3}"
	sleep 12
	set_probability 0
	# What these two come to is left to chance, too.
	wait $client
	kill -TERM $server
	wait $server
	cat /tmp/server.log /tmp/client.log
	return 0
}

new_programs_work()
{
	local server status=0
	./load serve "$A1" 7501 $((20 * SLOW)) > /tmp/server.log 2>&1 &
	server=$!
	wait_listening 7501 && timeout -k 2 $((40 * SLOW)) ./load run "$A1" 7501 10 2 1 || status=1
	kill -TERM "$server"
	wait "$server" && return "$status"
}

# after_faults PERCENT WHAT ARGUMENTS-OF-BY-CHANCE…
after_faults()
{
	local percent=$1 what=$2
	shift 2
	by_chance "$percent" "$@" > /tmp/by-chance.log 2>&1 ||
		not_ok "faults by chance, $percent %, $what" "$(cat /tmp/by-chance.log)"
	note "$percent % of the allocations failed, $what: $(cat /tmp/by-chance.log)"
	run_check "after faults by chance, $percent %, $what, new programs work" \
		new_programs_work
}

# The unbound ones connect, accept and report connections to programs. Where Linux 6.1 has no memory
# for the event of a request it waits for itself, whatever the device (ucma_connect_event_handler()
# destroys an id whose handler it is). So no fault is in the caches from which it gets those.
# The machine has marked the others.
unbound_workers()
{
	local percent
	if [[ $(cat /sys/kernel/slab/kmalloc-1k/failslab 2> /dev/null) != 1 ]]; then
		skip "faults of unbound workers" "the kernel was not told which caches may fail"
		return
	fi
	echo Y > "$FAULTS"/cache-filter
	for percent in 1 5 20; do
		after_faults "$percent" "unbound workers" kworker/u "$FAULTS"
	done
	echo N > "$FAULTS"/cache-filter
}

# set_probability PERCENT [KNOBS…]: of all knobs but those of copies, where none are named. No more
# than TIMES.
set_probability()
{
	local percent=$1 knobs
	shift
	(($#)) || set -- "$FAULTS" "$PAGES"
	for knobs in "$@"; do
		echo 1 > "$knobs"/interval
		echo "${TIMES:--1}" > "$knobs"/times
		echo "$percent" > "$knobs"/probability
	done
}

# The unbound ones accept. Nobody here comes as far as to be reported to a program.
accepting_by_chance()
{
	local server status=0
	./load serve "$A1" 7502 150 > /tmp/server.log 2>&1 &
	server=$!
	wait_listening 7502 || return
	# shellcheck disable=SC2046 # one word for each
	fail_for $(pgrep kworker/u)
	set_probability 20
	timeout -k 2 100 ./flood "$A1" 7502 80 mixed 80 60 || status=$?
	set_probability 0
	kill -TERM "$server"
	wait "$server"
	return "$status"
}

no_memory_counted() { link_counter srn0 rx_no_memory; }

# What softirq asks for it cannot wait for. What needs it stays in the socket then, and is received
# later. scripted_peer KNOBS PERCENT LEAST TESTS: so many of such allocations fail, and some of ours.
scripted_peer()
{
	local knobs=$1 before status short
	before=$(no_memory_counted)
	echo N > "$knobs"/task-filter && echo Y > "$knobs"/ignore-gfp-wait || return
	set_probability "$2" "$knobs"
	SRN_SERVER_ADDR="$A1" timeout -k 2 100 ./wirepeer --gtest_filter="$4" > /tmp/peer.log 2>&1
	status=$?
	set_probability 0 "$knobs"
	tail -n 30 /tmp/peer.log
	short=$(($(no_memory_counted) - before))
	note "memory was short $short times"
	((status == 0 && short >= $3))
}

# TCP has to bear it as well.
pages_for_pieces()
{
	scripted_peer "$PAGES" 20 1 'Cut*'
}

# The test itself says when one fails: twenty times.
places_for_reads()
{
	TIMES=0 scripted_peer "$FAULTS" 100 15 Read.without_memory_at_first
}

# TCP has the pages of a batch for as long as the network takes, and there are no others of that size.
no_pages_for_batches()
{
	local status=0
	tc qdisc add dev lo root netem delay 10ms limit 10000 || return
	SRN_SERVER_ADDR="$A1" timeout -k 2 $((30 * SLOW)) ./verbs_test --gtest_filter='Shortage.*' ||
		status=$?
	tc qdisc del dev lo root && return "$status"
}

# A table of the link has nodes for each number. Where one of them cannot be had, those above it stay,
# and are the link's to give back. That takes two faults in a row.
tables_are_given_back()
{
	local pid status=0
	ip link add dummy2 type dummy && ip link set dummy2 up &&
		rdma link add srntable type softrnic netdev dummy2 || return
	soon test -e /dev/infiniband/uverbs1 || return
	./limits again /dev/infiniband/uverbs1 20000 > /tmp/again.log 2>&1 &
	pid=$!
	wait_until $((10 * SLOW)) grep -q ready /tmp/again.log || return
	fail_for "$pid"
	set_probability 20 "$FAULTS"
	wait "$pid" || status=$?
	set_probability 0
	cat /tmp/again.log
	rdma link delete srntable && return "$status"
}

run_check "a link" dummy_link
run_check "faults can be made" prepare_faults
each_place
for percent in 1 5 20; do
	after_faults "$percent" "workers that transmit" 'kworker/[0-9]'
done
unbound_workers
run_check "faults by chance while strangers are let in" accepting_by_chance
run_check "no memory for nodes of tables" tables_are_given_back
run_check "no memory for FPDUs in pieces" pages_for_pieces
run_check "no memory for Reads of the peer" places_for_reads
run_check "no large pages for batches" no_pages_for_batches
finish
