#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/scribble.so build/tests/bin/verbs_test build/tests/bin/load
# timeout: 400
#
# Programs that write rubbish over everything that they share with the kernel, while
# others use the same links. The others are unharmed; the hostile ones may fail as they
# like, but end.
#
# SCRIBBLE_SEED: printed; by chance otherwise. SCRIBBLE_ROUNDS: 1.
. lib/ktap.sh
. lib/pairs.sh

: "${SCRIBBLE_SEED:=$RANDOM}" "${SCRIBBLE_ROUNDS:=1}"
A1=10.1.0.1 GOOD=7600
# On the slowest kernels programs need seconds to begin.
LONGER=$((SLOW > 4 ? 3 : 1))
export SRN_SERVER_ADDR=$A1

# hostile SECONDS COMMAND…: under the preload, and never for longer.
hostile()
{
	local seconds=$1
	shift
	SCRIBBLE_SEED=$SCRIBBLE_SEED timeout -k 1 "$seconds" env LD_PRELOAD="$PWD/scribble.so" "$@" \
		>> /tmp/hostile.log 2>&1 < /dev/null
	# Whatever its status, it is gone.
	return 0
}

# both_hostile PORT SERVER… -- CLIENT…
both_hostile()
{
	local port=$1
	local -a server=()
	shift
	while [[ $1 != -- ]]; do
		server+=("$1")
		shift
	done
	shift
	hostile $((8 * LONGER)) "${server[@]}" &
	# A server that has been hurt may not come that far.
	wait_until 3 listening "$port"
	hostile $((6 * LONGER)) "$@"
	wait $!
}

hostile_round()
{
	both_hostile 7700 rping -s -a "$A1" -p 7700 -V -- rping -c -a "$A1" -p 7700 -V
	both_hostile 7701 ib_write_bw -R -F -d srn0 -p 7701 -D 4 -- \
		ib_write_bw -R -F -d srn0 -p 7701 -D 4 "$A1"
	both_hostile 7702 ib_send_bw -R -F -d srn0 -p 7702 -n 1000000 -e -- \
		ib_send_bw -R -F -d srn0 -p 7702 -n 1000000 -e "$A1"
	both_hostile 7703 ib_read_bw -R -F -d srn0 -p 7703 -D 4 -- \
		ib_read_bw -R -F -d srn0 -p 7703 -D 4 "$A1"
	both_hostile 7704 ./load serve "$A1" 7704 5 -- ./load run "$A1" 7704 4 3 1
	hostile $((8 * LONGER)) ./verbs_test --gtest_filter='*SharedReceives*:*Batch*:*Posting*' --gtest_shuffle
	hostile $((6 * LONGER)) ./verbs_test --gtest_filter='Resize.*' --gtest_repeat=4
	hostile $((8 * LONGER)) ./verbs_test --gtest_filter='*Flush*:*Completion*:*Concurrency*' --gtest_shuffle
	SCRIBBLE_SEED=$((SCRIBBLE_SEED + 1))
}

all_rounds()
{
	local i
	for ((i = 0; i < SCRIBBLE_ROUNDS; i++)); do
		hostile_round
	done
	# One that was late has ended before it came to it.
	for ((i = 0; i < 3; i++)); do
		hostile_ones_scribbled > /dev/null && return
		hostile_round
	done
}

# Of each kind of program one at least, since one whose peer ends early does not come to it.
hostile_ones_scribbled()
{
	local kind status=0
	for kind in rping ib_write_bw ib_send_bw ib_read_bw load verbs_test; do
		grep -m 1 "^scribble: $kind " /tmp/hostile.log || {
			echo "none of $kind"
			status=1
		}
	done
	return "$status"
}

# The good ones: a load whose every operation must succeed, without a broken connection.
good_load()
{
	./load serve "$A1" "$GOOD" 600 > /tmp/good-server.log 2>&1 &
	good_server=$!
	wait_listening "$GOOD" || return
	./load run "$A1" "$GOOD" 600 2 1 > /tmp/good-client.log 2>&1 &
	good_client=$!
}

good_load_was_unharmed()
{
	kill -TERM "$good_client"
	wait "$good_client" || return
	kill -TERM "$good_server"
	wait "$good_server" || return
	cat /tmp/good-client.log
	grep -q ' 0 broken, 0 refused' /tmp/good-client.log
}

hostile_ones_are_gone()
{
	wait_until 20 no_queue_pairs || {
		rdma resource show qp link srn0
		return 1
	}
}

no_queue_pairs() { ! rdma resource show qp link srn0 2> /dev/null | grep -q lqpn; }

chmod +x load verbs_test
note "seed $SCRIBBLE_SEED"
run_check "a link" dummy_link
run_check "a load of good programs" good_load
run_check "hostile programs come and go" all_rounds
with_result "they have scribbled" hostile_ones_scribbled
cp /tmp/hostile.log /out/
note "hostile programs said: $(grep -cE 'error|fail|Fail|FAILED' /tmp/hostile.log) errors"
run_check "the good ones are unharmed" good_load_was_unharmed
note "$(cat /tmp/good-client.log)"
run_check "nothing is left of the hostile ones" hostile_ones_are_gone
pair "rping works on that link" 7174 rping -s -a "$A1" -C 10 -- rping -c -a "$A1" -C 10 -V
finish
