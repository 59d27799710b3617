# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck disable=SC2034,SC2154  # the cell comes from guest.sh, which takes the result
#
# Reads and writes of a file or a disk. The cell's operation ends in _read or _write for those that
# follow each other, and else means random reads; "size" is that of one, "list" how many are under
# way at a time.

# Its program comes from the host; while the counted rig waits for that, its clock runs.
load_fio() { fio_once "$1" randread --number_ios=64; }

# run_fio FILE: sets MSG_S, or MIB_S where they follow each other.
run_fio()
{
	local direction
	case $operation in
	*_read | *_write)
		direction=${operation#*_}
		fio_once "$1" "$direction" --time_based --runtime=$((2 * BENCH_LONGER)) --ramp_time=0.5
		MIB_S=$(fio_figure "$direction" bw_bytes)
		[[ -z $MIB_S ]] || MIB_S=$(awk -v b="$MIB_S" 'BEGIN { printf "%.2f", b / 1048576 }')
		;;
	*)
		fio_once "$1" randread --time_based --runtime=$((2 * BENCH_LONGER)) --ramp_time=0.5
		MSG_S=$(fio_figure read iops)
		;;
	esac
}

fio_once()
{
	timeout -k 2 "$CLIENT_LIMIT" fio --name=once --filename="$1" --rw="$2" --bs="$size" \
		--iodepth="$list" --ioengine=libaio --direct=1 --output-format=json "${@:3}" \
		> "$CLIENT_LOG" 2>&1
}

fio_figure()
{
	sed -n "/\"$1\"/,/}/s/^ *\"$2\" : \([0-9.]*\).*/\1/p" "$CLIENT_LOG" | head -n 1
}

# has_fio_result DRIVER
has_fio_result()
{
	is_positive "${MSG_S:-${MIB_S:-0}}" && return
	MEASURE_PROBLEM="failed: $(tail -n 1 "$CLIENT_LOG")"
	keep_logs "$1"
	return 1
}
