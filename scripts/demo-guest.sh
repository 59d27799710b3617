#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The part of the demonstration that runs in the test machine. Prints a line of
# progress for each operation and one table at the end. Fails if any operation
# does.
#
# shellcheck source=tests/selftests/lib/topology.sh
. lib/topology.sh

LOGS=/out/operations
TABLE=/tmp/table
SERVER_TIMEOUT=45 CLIENT_TIMEOUT=40
FAILURES=0

# The two ends stay on different CPUs: sharing one, they would take turns by
# scheduler tick, and that would be all that a latency shows.
SERVER_CPU=1 CLIENT_CPU=0

# row OPERATION SIZE RESULT MESSAGES/S
row()
{
	printf '%-14s %10s   %-26s %12s\n' "$@" >> "$TABLE"
}

failed_row()
{
	FAILURES=$((FAILURES + 1))
	printf '%-14s %10s   FAILED: %s\n' "$1" "$2" "$3" >> "$TABLE"
	echo "FAILED: $3"
}

# Why an operation failed, in one line: failure_reason STATUS LOG…
failure_reason()
{
	local status=$1
	shift
	if ((status == 124 || status == 137)); then
		echo "no end within $CLIENT_TIMEOUT s"
	else
		grep -hviE '^ *$|^[-* ]+$|waiting for client' "$@" | tail -n 1 | cut -c 1-90 |
			grep . || echo "status $status"
	fi
}

client()
{
	timeout -k 2 "$CLIENT_TIMEOUT" ip netns exec a taskset -c "$CLIENT_CPU" "$@" \
		< /dev/null
}

server()
{
	local log=$1
	shift
	start_server "$log" in_b taskset -c "$SERVER_CPU" "$@"
}

human_size()
{
	if (($1 >= 1048576)); then
		echo "$(($1 / 1048576)) MiB"
	elif (($1 >= 1024)); then
		echo "$(($1 / 1024)) KiB"
	else
		echo "$1 B"
	fi
}

demo_rping()
{
	local size=4096 count=50 log=$LOGS/rping status=0 start elapsed
	printf '  rping, %d verified messages … ' "$count"
	server "$log.server" rping -s -a 10.0.0.2 -V -S "$size" -C "$count"
	wait_listening 7174
	start=$EPOCHREALTIME
	client rping -c -a 10.0.0.2 -V -S "$size" -C "$count" > "$log.client" 2>&1 ||
		status=$?
	elapsed=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
	wait_server 5 || true
	if ((status == 0)); then
		# Each round is a read, a write and four sends.
		row rping "$(human_size $size)" "$count rounds, data verified" \
			"$(awk -v n=$count -v t="$elapsed" 'BEGIN { printf "%.0f", 6 * n / t }')"
		echo "ok"
	else
		failed_row rping "$(human_size $size)" \
			"$(failure_reason $status "$log.client" "$log.server")"
	fi
}

# demo_perftest TOOL SIZE COUNT [OPTION…]
demo_perftest()
{
	local tool=$1 size=$2 count=$3 log=$LOGS/$1-$2 status=0 attempt line
	shift 3
	printf '  %s, %s … ' "$tool" "$(human_size "$size")"
	# perftest's server tells its client to connect before it listens; a client that comes
	# too early is refused.
	for attempt in first second last; do
		status=0
		server "$log.server" "$tool" -R -F -d srnb -s "$size" -n "$count" "$@"
		wait_listening 18515
		client stdbuf -oL "$tool" -R -F -d srna -s "$size" -n "$count" "$@" 10.0.0.2 \
			> "$log.client" 2>&1 || status=$?
		if ((status == 0)) || [[ $attempt == last ]] ||
			! grep -q CM_EVENT_REJECTED "$log.client"; then
			break
		fi
		stop_server
		printf 'came too early, again … '
	done
	wait_server 5 || true
	line=$(grep -E "^ *$size +$count " "$log.client" | head -n 1)
	if ((status != 0)) || [[ -z $line ]]; then
		failed_row "$tool" "$(human_size "$size")" \
			"$(failure_reason $status "$log.client" "$log.server")"
		return
	fi
	perftest_row "$tool" "$size" "$line"
	echo "ok"
}

# The columns of perftest's result lines:
#   bandwidth: bytes iterations peak average[MiB/s] rate[million/s]
#   latency:   bytes iterations min max typical average stdev 99% 99.9%
perftest_row()
{
	local tool=$1 size
	size=$(human_size "$2")
	# shellcheck disable=SC2086
	set -- $3
	case $tool in
	*_bw)
		row "$tool" "$size" "$(printf '%10.1f MiB/s' "$4")" \
			"$(awk -v r="$5" 'BEGIN { printf "%.0f", r * 1e6 }')"
		;;
	*_lat)
		row "$tool" "$size" "$(printf '%10.1f us (typical)' "$5")" \
			"$(awk -v t="$6" 'BEGIN { printf "%.0f", (t > 0 ? 1e6 / t : 0) }')"
		;;
	esac
}

demo_rcopy()
{
	local size=8388608 log=$LOGS/rcopy status=0 start elapsed
	printf '  rcopy, a file of %s … ' "$(human_size $size)"
	head -c $size /dev/urandom > /tmp/sent
	rm -f /tmp/received
	server "$log.server" rcopy
	wait_listening 7427
	start=$EPOCHREALTIME
	client rcopy /tmp/sent 10.0.0.2:/tmp/received > "$log.client" 2>&1 || status=$?
	elapsed=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
	stop_server
	if ((status != 0)); then
		failed_row rcopy "$(human_size $size)" \
			"$(failure_reason $status "$log.client" "$log.server")"
	elif ! cmp /tmp/sent /tmp/received > "$log.cmp" 2>&1; then
		failed_row rcopy "$(human_size $size)" "$(head -n 1 "$log.cmp")"
	else
		row rcopy "$(human_size $size)" "$(awk -v n=$size -v t="$elapsed" \
			'BEGIN { printf "%10.1f MiB/s, files equal", n / 1048576 / t }')" -
		echo "ok"
	fi
}

mkdir -p "$LOGS"
: > "$TABLE"
echo "two namespaces joined by a veth pair, a $SRN_LINK_TYPE link in each:"
if ! two_namespaces 1500; then
	echo "FAILED: the links could not be added"
	exit 1
fi
rdma link show | sed 's/^/  /'

demo_rping
for tool in ib_send_bw ib_write_bw ib_read_bw; do
	case $tool in
	ib_send_bw) options=(-t 64 -r 128) ;;
	ib_write_bw) options=(-t 64) ;;
	ib_read_bw) options=(-t 64 -o 16) ;;
	esac
	demo_perftest $tool 64 5000 "${options[@]}"
	demo_perftest $tool 65536 400 "${options[@]}"
done
for tool in ib_send_lat ib_write_lat ib_read_lat; do
	demo_perftest $tool 64 500
	demo_perftest $tool 4096 300
done
demo_rcopy

echo
printf '%-14s %10s   %-26s %12s\n' operation size "bandwidth or latency" messages/s
echo "--------------------------------------------------------------------"
cat "$TABLE"
echo
exit $((FAILURES != 0))
