#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/races
# timeout: 300
#
# Threads that do everything at once to the same objects: make, use, change, destroy, close.
#
# RACES_SEED: printed; by chance otherwise. RACES_TIME: seconds for each kind of race (12, more if the
# kernel is slow: what never succeeds has not been tested).
. lib/ktap.sh
. lib/pairs.sh

: "${RACES_SEED:=$RANDOM}" "${RACES_TIME:=$((9 + 3 * SLOW))}"
A1=10.1.0.1 DEVICE=/dev/infiniband/uverbs0

# Its end is bounded, too: nobody may wait for what another thread has taken away.
race()
{
	timeout -k 5 $((RACES_TIME * 3 + 60 * SLOW)) ./races "$1" "$2" "$RACES_TIME" "$RACES_SEED"
}
at_once() { race commands "$DEVICE" & race connections "$A1" && wait $!; }

raced()
{
	with_result "$@"
	run_check "$1: nothing is left" no_objects_stay $((20 * SLOW))
}

chmod +x races
note "seed $RACES_SEED"
run_check "a link" dummy_link || finish
raced "commands on the objects of one file" race commands "$DEVICE"
raced "both ends of connections" race connections "$A1"
raced "listeners that come and go" race listeners "$A1"
raced "commands and connections on one device" at_once
pair "rping works on that device" 7174 rping -s -a "$A1" -C 10 -- rping -c -a "$A1" -C 10 -V
finish
