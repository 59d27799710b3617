# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# shellcheck disable=SC2034,SC2154  # the cell comes from guest.sh, which takes the result
#
# One figure of one driver. Each measure_…() reads the cell's variables (operation, size,
# qps, list), sets MIB_S, MSG_S, USEC or BYTES, and RETRIES or, if it fails, MEASURE_PROBLEM.

SERVER_LOG=/tmp/server.log CLIENT_LOG=/tmp/client.log
CLIENT_LIMIT=90 SERVER_TIMEOUT=120
PORT=18515

# With one CPU a poller must not keep it from its peer, nor from the kernel's own threads, with
# whom it would share it fairly however often it yields.
LIBRARIES=$PWD/libsteady_clock.so
POLL_ALONE=(env "LD_PRELOAD=$LIBRARIES")
POLL_TOGETHER=(nice -n 19 env "LD_PRELOAD=$LIBRARIES:$PWD/libyield_poll.so")

# A process that yields keeps the CPU all the same if that is fairer by more than the
# granularity. User Mode Linux counts run time in ticks, which somebody who yields at once never
# sees: it would get half of the CPU for nothing, as one side of most tests waits idly. So no
# poller is ever that far behind; programs that sleep are measured as usual.
GRANULARITY=/sys/kernel/debug/sched/wakeup_granularity_ns
USUAL_GRANULARITY=$(cat $GRANULARITY 2> /dev/null)
let_pollers_yield() { granularity 4000000000; }
let_sleepers_wake() { granularity "$USUAL_GRANULARITY"; }
granularity()
{
	[[ ! -w $GRANULARITY ]] || echo "$1" > $GRANULARITY
}

measure_write() { measure_perftest "$@"; }
measure_send() { measure_perftest "$@"; }
measure_read() { measure_perftest "$@"; }

# perftest now and then connects before its server listens, is refused and crashes. Such runs
# are done again, and counted.
measure_perftest()
{
	for RETRIES in 0 1 2 3; do
		run_perftest "$1" && read_perftest && return
	done
	MEASURE_PROBLEM="failed: $(grep -hviE '^ *$|^[-* ]+$' "$CLIENT_LOG" | tail -n 1 | cut -c 1-80)"
	keep_logs "$1"
	return 1
}

run_perftest()
{
	local status=0
	local -a preload=("${POLL_ALONE[@]}")
	((CPUS > 1)) || preload=("${POLL_TOGETHER[@]}")
	local -a options=(-R -F -p "$PORT" -s "$size" -n "$(count_for "$1")")
	# With up to 20000 messages for each queue pair perftest looks for a peak, and notes the time
	# of each in memory that it touches then: a quarter of all time on the native rig.
	[[ $operation != *_bw ]] || options+=(-q "$qps" -t 128 --noPeak)
	((list == 1)) || options+=(-l "$list")
	let_pollers_yield
	start_server "$SERVER_LOG" "${SERVER_PLACE[@]}" "${preload[@]}" "ib_$operation" \
		-d "$SERVER_DEVICE" "${options[@]}"
	if wait_listening "$PORT"; then
		timeout -k 2 "$CLIENT_LIMIT" "${CLIENT_PLACE[@]}" "${preload[@]}" "ib_$operation" \
			-d "$CLIENT_DEVICE" "${options[@]}" "$SERVER_ADDRESS" \
			> "$CLIENT_LOG" 2>&1 < /dev/null || status=$?
	else
		echo "nobody listens" > "$CLIENT_LOG"
		status=1
	fi
	if ((status != 0)); then
		stop_server
	else
		wait_server 10
	fi
	return "$status"
}

# Enough messages that the fastest driver has left TCP's slow start behind; the slowest but rxe,
# which is given fewer, then takes some seconds.
count_for()
{
	local count speed=$BENCH_RIG
	[[ $speed != smp ]] || speed=native
	case $speed-$operation-$size in
	native-*_lat-65536) count=300 ;;
	native-*_lat-*) count=2000 ;;
	native-*-64) count=192000 ;;
	native-*-4096) count=76800 ;;
	native-*-65536) count=12800 ;;
	native-*-67108864) count=50 ;;
	native-*) count=1600 ;;
	qemu-*_lat-*) count=1000 ;;
	qemu-*-64) count=24000 ;;
	qemu-*-4096) count=9600 ;;
	qemu-*-65536) count=3200 ;;
	qemu-*) count=320 ;;
	*_lat-*) count=200 ;;
	*-64) count=4800 ;;
	*-4096) count=3200 ;;
	*-65536) count=320 ;;
	*) count=48 ;;
	esac
	# Each of many queue pairs begins slowly.
	case $speed-$qps in
	native-64) count=1228800 ;;
	*-64) count=64000 ;;
	esac
	[[ $1 != rxe ]] || count=$((count / 4))
	count=$((count * BENCH_LONGER))
	echo $((count / qps))
}

# The columns of perftest's result lines:
#   bandwidth: bytes iterations peak average[MiB/s] rate[million/s]
#   latency:   bytes iterations min max typical average stdev 99% 99.9%
read_perftest()
{
	local line
	line=$(grep -E "^ *$size +[0-9]+ +[0-9.]+" "$CLIENT_LOG" | head -n 1)
	# shellcheck disable=SC2086
	set -- $line
	(($# >= 5)) || return
	if [[ $operation == *_lat ]]; then
		USEC=$5
		is_positive "$USEC"
	else
		MIB_S=$4 MSG_S=$(awk -v r="$5" 'BEGIN { printf "%.0f", r * 1e6 }')
		is_positive "$MSG_S"
	fi
}

is_positive()
{
	awk -v v="$1" 'BEGIN { exit !(v + 0 > 0 && v + 0 < 1e12) }' && return
	MIB_S='' MSG_S='' USEC=''
	return 1
}

measure_mappings() { measure_copy mappings; }
measure_process() { measure_copy process; }
measure_copy()
{
	timeout -k 2 "$CLIENT_LIMIT" ./memory_copy "$1" "$size" "$(count_for copy)" \
		> "$CLIENT_LOG" 2>&1
	MIB_S=$(grep -xE '[0-9.]+' "$CLIENT_LOG")
	is_positive "${MIB_S:-0}" && return
	MEASURE_PROBLEM="failed: $(tail -n 1 "$CLIENT_LOG")"
	keep_logs copy
	return 1
}

measure_stream()
{
	local bits seconds=1
	[[ $BENCH_RIG != qemu ]] || seconds=4
	start_server "$SERVER_LOG" "${SERVER_PLACE[@]}" iperf3 -s -1 -p "$PORT"
	wait_listening "$PORT" &&
		timeout -k 2 "$CLIENT_LIMIT" "${CLIENT_PLACE[@]}" iperf3 -c "$SERVER_ADDRESS" \
			-p "$PORT" -t "$seconds" -P "$qps" -l "$size" -J > "$CLIENT_LOG" 2>&1 < /dev/null
	stop_server
	bits=$(sed -n '/"sum_received"/,/}/s/.*"bits_per_second":[^0-9]*\([0-9.e+]*\).*/\1/p' \
		"$CLIENT_LOG" | head -n 1)
	if ! is_positive "${bits:-0}"; then
		MEASURE_PROBLEM="failed: $(grep -i error "$CLIENT_LOG" | tail -n 1)"
		keep_logs tcp
		return 1
	fi
	MIB_S=$(awk -v b="$bits" 'BEGIN { printf "%.2f", b / 8 / 1048576 }')
}

measure_pingpong()
{
	start_server "$SERVER_LOG" "${SERVER_PLACE[@]}" ./tcp_pingpong serve "$PORT" "$size"
	wait_listening "$PORT" &&
		timeout -k 2 "$CLIENT_LIMIT" "${CLIENT_PLACE[@]}" ./tcp_pingpong run \
			"$SERVER_ADDRESS" "$PORT" "$size" "$(count_for tcp)" \
			> "$CLIENT_LOG" 2>&1 < /dev/null
	stop_server
	USEC=$(awk 'NF == 2 { print $1 }' "$CLIENT_LOG")
	is_positive "${USEC:-0}" && return
	MEASURE_PROBLEM="failed: $(tail -n 1 "$CLIENT_LOG")"
	keep_logs tcp
	return 1
}

keep_logs()
{
	cp "$CLIENT_LOG" "$LOGS/$1-$path-$operation-$size.client"
	cp "$SERVER_LOG" "$LOGS/$1-$path-$operation-$size.server"
}
