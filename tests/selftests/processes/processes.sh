#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/forks build/tests/bin/mappings
# timeout: 150
#
# What processes do to what they have of a device: they fork, and they handle its mappings
# in every way.
#
# FORK_ROUNDS: how many children of each kind (4).
: "${SRN_SAME_HOST:=default}"
. lib/ktap.sh
. lib/pairs.sh

: "${FORK_ROUNDS:=4}"
A1=10.1.0.1

# A child's copies of the files keep what the parent has made.
orphan_keeps_objects()
{
	local status=0
	timeout $((30 * SLOW)) ./forks "$A1" 1 orphan || {
		pkill -x forks
		return 1
	}
	rdma resource show mr | grep -q mrn || {
		echo "the objects went with the parent"
		status=1
	}
	pkill -x forks || {
		echo "the child has ended"
		status=1
	}
	no_objects_stay 20 && return "$status"
}

each_mapping()
{
	local status=0
	timeout -k 2 60 ./mappings /dev/infiniband/uverbs0 > /tmp/mappings.log 2>&1 || status=$?
	verdicts_to_ktap mappings "$status" /tmp/mappings.log
}

chmod +x forks mappings
run_check "a link" dummy_link || finish
for kind in plain safe; do
	run_check "children, $kind" timeout -k 2 100 ./forks "$A1" "$FORK_ROUNDS" $kind
	note "$(cat "$CHECK_OUTPUT")"
	! grep -q 'no child wrote' "$CHECK_OUTPUT" ||
		skip "children that write, $kind" "this kernel does not know MADV_DONTFORK"
done
run_check "a child that outlives its parent" orphan_keeps_objects
each_mapping
run_check "nothing is left" no_objects_stay 20
pair "rping works on that device" 7174 rping -s -a "$A1" -C 10 -- rping -c -a "$A1" -C 10 -V
finish
