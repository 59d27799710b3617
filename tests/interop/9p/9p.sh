#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 900
# mem: 2G
# files: build/tests/bin/ninep_server
# pair: yes
#
# 9P over RDMA: the kernel's client. Debian has no server that speaks RDMA, so there is one of
# our own (server.cpp). The client never connects again by itself: after the end of its
# connection a mount gives errors until it is made anew. FULL=1 does more of it.
. lib/ktap.sh
. lib/ends.sh
. lib/memory.sh
. lib/filework.sh
. lib/workers.sh

EXPORT=/tmp/export PORT=5640
# Nothing is cached, and each file costs many requests.
DATA=/tmp/data TREE=/etc/systemd
# shellcheck disable=SC2034  # lib/filework.sh uses them
MIB=8 WORK_SECONDS=4
if [[ -n ${FULL:-} ]]; then
	MIB=64 WORK_SECONDS=60 TREE=/etc
fi
# Between two emulated machines each packet takes its time.
[[ -z $ROLE ]] || MIB=16
# What the client keeps of files: nothing, or what it knows as long as it is mounted.
CACHE=none

server_runs()
{
	chmod +x ninep_server
	mkdir -p "$EXPORT" && mount -t tmpfs -o size=500m tmpfs "$EXPORT" || return
	./ninep_server "$SERVER" "$PORT" "$EXPORT" > /run/ninep.log 2>&1 &
	echo "$!" > /run/ninep.pid
	wait_listening "$PORT"
}

listens()
{
	rdma resource show cm_id | grep -q ninep_server
}

server_ends()
{
	kill "$(cat /run/ninep.pid)" && wait_until 30 eval "! listens" && umount "$EXPORT"
}

mounted()
{
	modprobe -a 9p 9pnet_rdma &&
		mount -t 9p -o "trans=rdma,port=$PORT,version=9p2000.L,msize=65536,cache=$CACHE" \
			"$SERVER" /mnt && grep '^[^ ]* /mnt 9p .*trans=rdma' /proc/mounts
}

remount()
{
	umount /mnt && mounted
}

several_at_once()
{
	local i status=0
	for i in 1 2 3 4; do
		{ cp "$DATA" "/mnt/file$i" && cmp "$DATA" "/mnt/file$i"; } &
	done
	for i in 1 2 3 4; do
		wait -n || status=1
	done
	rm /mnt/file[1-4]
	return "$status"
}

with_cache()
{
	local CACHE=loose
	remount && "$@" || return
	CACHE=none
	remount
}

no_connection() { ! rdma resource show qp | grep -q RTS; }

reset_and_mounted_anew()
{
	ss -Kn "dport = :$PORT" | grep "$PORT" || return
	# No answer: the file system is told, and gives errors from now on.
	wait_until 30 no_connection && fails_by_itself timeout -k 5 60 ls /mnt && umount /mnt &&
		mounted && plain
}

modprobe -a 9p 9pnet_rdma || skip_all "no 9P over RDMA in this kernel"
run_check "a link" both_ends
run_check "a server of 9P" on_server server_runs
head -c "${MIB}M" /dev/urandom > "$DATA"
run_check "mount" mounted
run_check "written, read back, equal" plain
run_check "O_DIRECT" direct
run_check "four processes at once" several_at_once
run_check "mapped files" with_cache mapped
run_check "small files" small_files
run_check "random work, compared with a local folder" random_work
run_check "users killed in mid-request" killed_users
run_check "with little memory" with_little_memory plain
run_check "connection reset: errors, until it is mounted anew" reset_and_mounted_anew
run_check "unmount" umount /mnt
run_check "the server ends" on_server server_ends
check_who_transmits
run_check "links deleted" links_deleted
dismiss_server
finish
