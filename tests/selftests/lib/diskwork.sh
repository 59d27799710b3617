# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Work on a disk that is reached by RDMA, whose data is compared. The script has:
#
#	the_disk         print the disk's device file
#	disk_statistics  print the disk's file with counts of requests in flight (for load_through)
#	DATA             a file with 8 MiB of random bytes
#
# FULL=1 does more of it.

# MiB for each of fio's two processes, how often they are written and verified, and the seconds that
# fio may take.
FIO_MIB=8 FIO_LOOPS=1 FIO_LIMIT=200
[[ -z ${FULL:-} ]] || FIO_MIB=32 FIO_LOOPS=6 FIO_LIMIT=1200
# Between two emulated machines each packet takes its time.
[[ -z ${ROLE:-} ]] || FIO_LOOPS=1
BACK=/tmp/back

round_trip()
{
	dd if="$DATA" of="$(the_disk)" bs=256k oflag=direct &&
		dd if="$(the_disk)" of="$BACK" bs=1M count=8 iflag=direct && cmp "$DATA" "$BACK"
}

# verified_load [LOOPS]: behind what round_trip writes.
verified_load()
{
	timeout -k 5 "$FIO_LIMIT" fio --name=verify --filename="$(the_disk)" --rw=randrw \
		--bsrange=512-128k --direct=1 --ioengine=libaio --iodepth=16 --numjobs=2 \
		--size="${FIO_MIB}m" --offset=16m --offset_increment=32m --verify=crc32c \
		--verify_fatal=1 --verify_backlog=64 --loops="${1:-$FIO_LOOPS}" --group_reporting
}

# load_through COMMAND…: it runs while the disk has requests in flight.
load_through()
{
	local load status=0
	verified_load 2 > /tmp/fio.log 2>&1 &
	load=$!
	wait_until 30 io_in_flight || status="no requests in flight"
	"$@" || status="failed: $*"
	wait "$load" || status="fio: $(cat /tmp/fio.log)"
	echo "$status"
	[[ $status == 0 ]]
}

io_in_flight()
{
	local counts
	read -ra counts < "$(disk_statistics)"
	((counts[8] > 0))
}
