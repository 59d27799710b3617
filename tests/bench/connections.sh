# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck disable=SC2034,SC2154  # the cell comes from guest.sh, which takes the result
#
# Many connections of one program. The cell's "qps" is their number, and "list" how many are made
# at a time.

# Sets USEC to what it takes to make one.
measure_connect() { run_connections "$1" connect "$qps" "$list" && USEC=${CONNECTIONS_RESULT% *}; }

# Sets USEC to what it takes to end one, where all are ended.
measure_disconnect() { run_connections "$1" connect "$qps" "$list" && USEC=${CONNECTIONS_RESULT#* }; }

# Sets MSG_S to the messages in a second that go over each connection in turn.
measure_rounds()
{
	local messages=20000
	[[ $BENCH_RIG == counted ]] || messages=200000
	run_connections "$1" rounds "$qps" "$size" $((messages * BENCH_LONGER / qps)) && MSG_S=$CONNECTIONS_RESULT
}

# Sets CONNECTIONS_RESULT to what the program prints.
run_connections()
{
	local transport=rdma
	[[ $1 != tcp ]] || transport=tcp
	ulimit -n 65536
	if CONNECTIONS_RESULT=$(timeout -k 2 "$CLIENT_LIMIT" env "LD_PRELOAD=$LIBRARIES" ./connections \
		"$transport" "$SERVER_ADDRESS" "${@:2}" 2> "$CLIENT_LOG"); then
		return
	fi
	MEASURE_PROBLEM="failed: $(tail -n 1 "$CLIENT_LOG")"
	: > "$SERVER_LOG"
	keep_logs "$1"
	return 1
}
