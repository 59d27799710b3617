#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The benchmark's part in the test machine: measures the cells of ./cells (see
# tests/bench/cells), driver after driver, $BENCH_ROUNDS times, and writes each
# figure to /out/raw.csv when it is taken. One that cannot be taken is empty there.
#
# Environment: BENCH_RIG, BENCH_BOOT, BENCH_ROUNDS, BENCH_DRIVERS (only these), BENCH_CRC
# ("on": in every cell), BENCH_LARGE_FPDUS and BENCH_PLACED (of softrnic's links), BENCH_LONGER
# (perftest's messages times this).
# shellcheck source=tests/selftests/lib/topology.sh
. lib/topology.sh
# shellcheck source=tests/bench/drivers.sh
. ./drivers.sh
# shellcheck source=tests/bench/measure.sh
. ./measure.sh
# shellcheck source=tests/bench/memory.sh
. ./memory.sh
# shellcheck source=tests/bench/connections.sh
. ./connections.sh
# shellcheck source=tests/bench/fio.sh
. ./fio.sh
# shellcheck source=tests/bench/nvme.sh
. ./nvme.sh
# shellcheck source=tests/bench/nfs.sh
. ./nfs.sh

RAW=/out/raw.csv
TRACE=/proc/sys/debug/exception-trace
LOGS=/out/failed

cells()
{
	grep -v '^#' ./cells
}

# How many figures a round has.
figures()
{
	cells | awk '{ n += split($8, drivers, ",") } END { print n }'
}

# measure_with DRIVER: one figure of the cell.
measure_with()
{
	MIB_S='' MSG_S='' USEC='' BYTES='' RETRIES=0
	local problem=''
	let_sleepers_wake
	if ! path_up "$path" || ! driver_up "$1" "$crc"; then
		problem="$DRIVER_PROBLEM"
	elif ! "measure_${operation%_*}" "$1"; then
		problem="$MEASURE_PROBLEM"
	fi
	driver_down "$1"
	echo "$BENCH_RIG,$BENCH_BOOT,$round,$1,$path,$crc,$operation,$size,$qps,$list,$MIB_S,$MSG_S,$USEC,$BYTES,$RETRIES" >> "$RAW"
	done_figures=$((done_figures + 1))
	printf '%4d/%d  %-8s %-8s crc %-7s %-9s %7d B  %2d QP  list %2d  %s\n' "$done_figures" \
		"$all_figures" "$1" "$path" "$crc" "$operation" "$size" "$qps" "$list" \
		"${problem:-${MIB_S:+$MIB_S MiB/s }${MSG_S:+$MSG_S/s }${USEC:+$USEC us}${BYTES:+$BYTES bytes}}$( ((RETRIES)) && echo ", $RETRIES retries")"
}

measure_round()
{
	local path crc operation size qps list drivers driver line
	local -a lines
	mapfile -t lines <<< "$(cells)"
	for line in "${lines[@]}"; do
		read -r _ path crc operation size qps list drivers <<< "$line"
		[[ $BENCH_CRC != on || $crc != off || $drivers == tcp ]] || crc=on
		for driver in ${drivers//,/ }; do
			[[ ,$BENCH_DRIVERS, != *,$driver,* ]] || measure_with "$driver"
		done
	done
}

: "${BENCH_ROUNDS:=1}" "${BENCH_DRIVERS:=softrnic,siw,rxe,tcp,copy}" "${BENCH_CRC:=off}" \
	"${BENCH_LARGE_FPDUS:=on}" "${BENCH_PLACED:=off}" "${BENCH_LONGER:=1}"
mkdir -p "$LOGS"
# The crashes of perftest are no complaints of the kernel.
[[ ! -e $TRACE ]] || echo 0 > $TRACE
: > "$RAW"
done_figures=0 all_figures=$(($(figures) * BENCH_ROUNDS))
namespaces_up || exit
# Before anybody asks for CRC32C, since the best that is there is kept.
[[ ! -e crc32c_instruction.ko ]] || insmod ./crc32c_instruction.ko || exit
for ((round = 1; round <= BENCH_ROUNDS; round++)); do
	measure_round
done
nfs_server_down
exit 0
